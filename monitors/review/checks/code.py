"""Code given to an interpreter: each thing that it does, judged as the same thing done by a command."""

import re
from collections.abc import Iterator

from monitors.review.checks.secrets import INSTEAD, named_variable, project_secret, secret_at, sent_environment
from monitors.review.checks.shells import DECODERS, DOWNLOADS
from monitors.review.languages.code.uses import FED, Uses
from monitors.review.programs.deleting import deletes, ignored_go
from monitors.review.programs.writing import writes_path
from monitors.review.rules import levels
from monitors.review.rules.findings import SPLIT, Finding, effect, not_read_to_its_end, sent_secret
from monitors.review.scene.places import Place
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Invocation, arg


def check(scene: Scene, invocation: Invocation, uses: Uses) -> Iterator[Finding | None]:
    """Judge what the code does."""
    for path in uses.deletes:
        recursive = path.endswith("/")
        word = arg(path.rstrip("/") or "/", known="$" not in path, glob="*" in path)
        yield deletes(scene, invocation, word, recursive=recursive, forced=recursive)
    if any("$" in path or "{}" in path for path in uses.deletes) and any(map(_LISTS_IGNORED.search, uses.scripts)):
        yield ignored_go("what git lists as ignored", invocation)
    for path in uses.moves:
        taken = deletes(scene, invocation, arg(path, known="$" not in path), recursive=False, forced=False)
        yield taken if taken and (taken.risk >= levels.CARE or taken.stop) else None
    if uses.bomb:
        yield Finding(
            "shell.fork-bomb",
            levels.DOOM,
            "starts itself or takes memory over and over",
            "Do not run it.",
            effect=effect("process", "fills the machine"),
        )
    for path in uses.writes:
        if path and "$" not in path:
            yield writes_path(
                scene,
                scene.places.absolute(path, invocation.cwd),
                elevated=invocation.elevated,
                inside=invocation.inside,
            )
    for path in uses.reads[:200]:
        if uses.sends:
            yield project_secret(scene, invocation, path, levels.HARM)
        yield secret_at(scene, invocation, path)
        if not uses.writes and scene.places.place(scene.places.absolute(path, invocation.cwd)) is Place.PROTECTED:
            yield Finding(
                "chaperon.self-protection",
                1.0,
                f"reaches for the guard that watches this agent: {path[:200]}",
                "Leave chaperon's files alone; ask a person.",
                effect=effect("guard", f"touches {path[:200]}"),
                stop=True,
            )
    if uses.hidden:
        yield Finding(
            "code.hidden",
            _hidden_risk(uses.hidden, invocation),
            f"has code that {uses.hidden}",
            "Write it out plainly.",
            effect=effect("code_execution", uses.hidden),
            elevated=invocation.elevated,
        )
    if uses.cut:
        yield not_read_to_its_end(
            f"is more than a review goes through: {uses.cut}",
            SPLIT,
            "code",
        )
    yield from _network(uses, invocation)


_LISTS_IGNORED = re.compile(
    r"\bgit\b.{0,40}\b(?:ls-files\b.{0,80}(?:-[a-z]*i\b|--ignored)|status\b.{0,80}--ignored|clean\b.{0,80}-[a-z]*[xX])",
    re.DOTALL,
)
"""A command that prints what git ignores."""


def _hidden_risk(hidden: str, invocation: Invocation) -> float:
    if hidden == FED:
        unread = any(source.name in DOWNLOADS or source.name in DECODERS for source in invocation.input.source)
        return levels.HARM if unread or not invocation.input.source else levels.CARE
    if "runs it" in hidden or "runs code" in hidden:
        return levels.HARM
    return levels.MODERATE


def _network(uses: Uses, invocation: Invocation) -> Iterator[Finding | None]:
    if uses.leaks:
        yield sent_environment(details="sends the environment")
    if uses.writes_to_many:
        yield Finding(
            "message.many",
            levels.HARM,
            "writes to many people at once",
            "Prepare it, and let a person send it.",
            effect=effect("message", "sends mail or messages in a loop"),
        )
    if uses.secret:
        yield sent_secret(f"sends {named_variable(uses.secret)}", INSTEAD)
    if uses.runs and (uses.connects or uses.listens):
        yield Finding(
            "code.remote-shell",
            levels.HARM,
            "joins a connection to programs that it runs: a door for others",
            "Do one thing at a time, plainly.",
            effect=effect("network_listen", "connects programs to the network"),
        )
    elif uses.listens:
        yield Finding(
            "code.listens",
            levels.HARM if invocation.depth == 0 else levels.CARE,
            "opens a port to others",
            "Let a person start servers that others reach.",
            effect=effect("network_listen", "listens on a port"),
        )
    elif uses.connects:
        yield Finding(
            "code.connects",
            levels.NOTED if not uses.sends else levels.MINOR,
            "",
            effect=effect("network", "talks to another machine"),
        )
