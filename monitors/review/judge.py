"""What one command would do: the models, the rules and the general checks, one after the other."""

from collections.abc import Iterator

from monitors.review import levels
from monitors.review.findings import Finding, effect
from monitors.review.programs.core import MODELS
from monitors.review.programs.writing import writes
from monitors.review.scene import Scene
from monitors.review.shell.invocation import Invocation
from monitors.review.shell.shells import shell_use

_DOWNLOADS = frozenset(
    {
        "curl",
        "wget",
        "aria2c",
        "fetch",
        "http",
        "https",
        "xh",
        "lwp-request",
        "lynx",
        "nc",
        "ncat",
        "socat",
        "ftp",
        "scp",
        "gh",
    }
)
_METADATA = frozenset(
    {
        "ls",
        "stat",
        "test",
        "[",
        "find",
        "file",
        "echo",
        "printf",
        "chmod",
        "chown",
        "dirname",
        "basename",
        "realpath",
        "readlink",
        "which",
        "du",
        "git",
        "rm",
        "mkdir",
    }
)


def judge(scene: Scene, invocation: Invocation) -> Iterator[Finding]:
    """Everything there is to say of the invocation."""
    for found in _checks(scene, invocation):
        if found is not None:
            yield found


def _checks(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    for redirect in invocation.redirects:
        if redirect.writes:
            yield writes(scene, invocation, redirect.target)
        elif redirect.reads:
            yield _secret(scene, invocation, redirect.target)
    if not invocation.program:
        return
    yield from _shell(invocation)
    model = MODELS.get(invocation.name)
    if model is not None:
        yield from model(scene, invocation)
    operands = scene.book.operands(invocation)
    for rule in scene.book.matching(invocation, operands):
        yield rule.finding(invocation)
    yield from _paths(scene, invocation)


def _shell(invocation: Invocation) -> Iterator[Finding | None]:
    use = shell_use(invocation)
    if use is None:
        return
    loud = [source for source in use.source if source.name in _DOWNLOADS]
    if loud:
        yield Finding(
            "shell.run-download", levels.HARM, f"runs what `{loud[0].text()}` brings, unread", "Download it to a file, read it, then run it.",
            effect=effect("code_execution", f"a shell runs what `{loud[0].name}` downloads"), elevated=invocation.elevated,
        )  # fmt: skip


def _paths(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    for word in invocation.args:
        if "/" in word or word[:1] in "~.":
            if scene.places.is_protected(scene.path(word, invocation)) and invocation.name not in ("ls", "stat"):
                yield Finding(
                    "chaperon.self-protection",
                    1.0,
                    f"reaches for the guard that watches this agent: {word}",
                    "Leave chaperon's files alone; ask a person.",
                    effect=effect("guard", f"touches {word}"),
                    stop=True,
                )
            yield _secret(scene, invocation, word)


def _secret(scene: Scene, invocation: Invocation, word: str) -> Finding | None:
    if invocation.name in _METADATA or invocation.inside:
        return None
    path = scene.places.absolute(word, invocation.cwd)
    what = scene.places.secret(path)
    if not what:
        return None
    return Finding(
        "secrets.read",
        levels.HARM,
        f"reads {what}: {word}",
        "Ask the person for what is needed; secrets do not belong in a conversation.",
        effect=effect("secret_read", f"reads {what} in {word}", target=path),
    )
