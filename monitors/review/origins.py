"""Origins of files over the calls of a run: what an earlier call has downloaded or decoded is known when it is run.

A review says what its call leaves behind; the fold over a run's reviews keeps it, and gives it to later reviews. What
the agent has read since, or written itself, is no longer of another's making.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache, partial

from monitors.contract.actions import Origin
from monitors.contract.origins import below
from monitors.review.checks.carried import confides
from monitors.review.checks.shells import DECODERS, PIPES, downloads, from_strangers, pipes
from monitors.review.languages.code.uses import MAX_CODE
from monitors.review.languages.project.builds import BUILDERS, BUILDS, SCRIPT_OPTIONS, SHOWS
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.scene.scene import Scene
from monitors.review.script_files import as_program
from monitors.review.shell.invocation import Arg, Invocation, arg
from monitors.review.shell.state.copying import CLONE_VALUES
from monitors.review.shell.walk import Walk

SHOWN = "/shown:/"
"""Name under which a run remembers that a command has shown it a secret."""
MAX_LEFT = 30
"""Most origins that one review names; further files are named by their directory."""
MAX_BY = 200
"""Longest text of a command that brought a file, in characters."""
_READERS = frozenset({"cat", "less", "more", "head", "tail", "bat", "nl", "sed", "awk", "view", "xxd", "od", "strings"})
_BROUGHT = ("downloaded", "decoded", "cloned")


def brought(known: Mapping[str, Origin], path: str) -> Origin | None:
    """Return the origin of a file that an earlier call downloaded, decoded or cloned; None if there is none."""
    found = _known(known, path)
    return found if found is not None and found.how in _BROUGHT else None


def lengthened(known: Mapping[str, Origin], path: str) -> Origin | None:
    """Return the origin of a script that an earlier call wrote and that is longer than a review reads; else None."""
    found = _known(known, path)
    return found if found is not None and found.how == "written" else None


def _known(known: Mapping[str, Origin], path: str) -> Origin | None:
    found, folder = known.get(path), path
    while known and found is None and folder not in ("", "/"):
        folder = posixpath.dirname(folder)
        found = known.get(folder.rstrip("/") + "/")
    return found


_SHELL_NAME = re.compile(r"\.(?:ba|da|z|k)?sh\Z|\.(?:bats|command|guess|sub|status)\Z")
_NO_SUFFIX = re.compile(r"(?:\A|/)\.?[^./]+\Z")


def named_as_script(path: str) -> bool:
    """Whether a path is named as scripts for a shell are: by their suffix, or without any."""
    return _SHELL_NAME.search(path) is not None or _NO_SUFFIX.search(path) is not None


def writes_long(scene: Scene, path: str, text: str | None, by: str) -> Origin | None:
    """Return the origin of a script that a call writes or changes if reviews will not read it to its end; else None.

    Args:
        scene: The action around it.
        path: Absolute.
        text: The whole text that it gets; None if it is not known, or only a piece of it.
        by: The command or tool that writes it.
    """
    if not named_as_script(path):
        return None
    if text is None:
        before = len(scene.facts.text(path, MAX_CODE) or "")
        long = before >= MAX_CODE or (not before and _SHELL_NAME.search(path) is not None)
    else:
        long = len(text) >= MAX_CODE
    return Origin(scene.facts.real(path), "written", by[:MAX_BY]) if long else None


def maker(origin: Origin) -> Invocation:
    """Return a command that stands for the one of an earlier call."""
    if origin.how == "cloned":
        return Invocation(arg("git"), [arg("clone"), arg(f"in an earlier call: {origin.by}")])
    name = "curl" if origin.how == "downloaded" else "base64"
    return Invocation(arg(name), [arg(f"in an earlier call: {origin.by}")])


# ── what a call leaves ────────────────────────────────────────────────────────────────────────────────────────────────


def left(scene: Scene, walk: Walk) -> Iterator[Origin]:
    """Yield the origins of what a script leaves behind, and those that do not count any more."""
    if walk.overlay or scene.past:
        yield from _files(scene, walk)
    for one in walk.invocations:
        if one.name == "git":
            yield from _remotes(scene, one)
            yield from _cloned(scene, one)
        elif one.name in PIPES:
            yield from (Origin(path, "pipe", one.text()[:MAX_BY]) for path in pipes(scene, one))
        elif scene.past and one.name in _READERS:
            yield from (_own(path) for word in one.args if (path := _read(scene, one, word)))


def _files(scene: Scene, walk: Walk) -> Iterator[Origin]:
    made: list[Origin] = []
    come_of = cache(partial(_come_of, scene))  # one command may write a thousand files
    for path, sources in walk.overlay.written():
        come = None if path.startswith("/dev/") else come_of(sources)
        origin = (
            replace(come, path=path)
            if come is not None
            else _copy_of_secret(scene, walk, path) or _long(scene, walk, path, sources)
        )
        if origin is not None:
            made.append(origin)
        elif any(below(known, path) for known in scene.past):
            yield _own(path)
    if len(made) > MAX_LEFT:
        folders = {posixpath.dirname(one.path.rstrip("/")).rstrip("/") + "/": one for one in made}
        made = [Origin(folder, one.how, one.by) for folder, one in folders.items()][:MAX_LEFT]
    yield from made


def _come_of(scene: Scene, sources: tuple[Invocation, ...]) -> Origin | None:
    """Return the origin of whatever these commands write, without its path; None if nothing is to be known of it."""
    found = next(filter(downloads, sources), None)
    if found is not None:
        return Origin("", "downloaded", found.text()[:MAX_BY])
    found = next((one for one in sources if confides(scene, one) or _names_secret(scene, one)), None)
    if found is not None:
        return Origin("", "secret", found.text()[:MAX_BY])
    found = next((one for one in sources if one.name in DECODERS), None)
    return None if found is None else Origin("", "decoded", found.text()[:MAX_BY])


def _names_secret(scene: Scene, one: Invocation) -> bool:
    """Whether a command is given a file into which an earlier call has written a secret."""
    paths = (scene.path(word, one) for word in one.args[:50]) if scene.past else ()
    return any(path in scene.past and scene.past[path].how == "secret" for path in paths)


def _copy_of_secret(scene: Scene, walk: Walk, path: str) -> Origin | None:
    """Return the origin of a copy of what holds secrets; None if it is a copy of something else, or none."""
    original = walk.overlay.standing(path)
    if original in ("", path):
        return None
    past = scene.past.get(original)
    held = scene.places.project_secret(original) or scene.places.secret(original)
    return Origin(path, "secret", f"a copy of {original}"[:MAX_BY]) if held or (past and past.how == "secret") else None


def _long(scene: Scene, walk: Walk, path: str, sources: tuple[Invocation, ...]) -> Origin | None:
    made, standing = walk.overlay.made(path), walk.overlay.standing(path)
    if standing not in ("", path):
        before = lengthened(scene.past, scene.facts.real(standing))
        return None if before is None else Origin(scene.facts.real(path), "written", before.by)
    if made is None:
        return None
    appended = made[0] if len(scene.facts.text(path, MAX_CODE) or "") < MAX_CODE else None
    return writes_long(scene, path, appended, sources[0].text() if sources else "the shell")


def _own(path: str) -> Origin:
    return Origin(path, "own", "")


def _read(scene: Scene, invocation: Invocation, word: Arg) -> str:
    """The path of a brought file whose text the command shows to the agent; empty if it is none."""
    if word[:1] == "-" or not word.known:
        return ""
    return shown(scene, scene.path(word, invocation))


def shown(scene: Scene, path: str) -> str:
    """The path, if it is a text that an earlier call brought; empty for programs, which have no text to show."""
    if brought(scene.past, path) is None:
        return ""
    text = scene.facts.text(path, 1000)
    return path if text is not None and "\0" not in text else ""


def clones_into(scene: Scene, invocation: Invocation) -> str:
    """Return the directory that a `git clone` makes; empty for any other command."""
    if "clone" not in invocation.args[:4]:
        return ""
    named = invocation.operands(CLONE_VALUES)[1:]
    if len(named) > 1:
        return scene.places.absolute(named[1], invocation.cwd)
    own = named[0].rstrip("/").rpartition("/")[2].rpartition(":")[2].removesuffix(".git") if named else ""
    return scene.places.absolute(own, invocation.cwd) if own else ""


def _cloned(scene: Scene, invocation: Invocation) -> Iterator[Origin]:
    folder = clones_into(scene, invocation)
    if folder and any("://" in word or _SCP_LIKE.match(word) for word in invocation.args):
        yield Origin(folder.rstrip("/") + "/", "cloned", invocation.text()[:MAX_BY])


_SCP_LIKE = re.compile(r"[\w.-]+@[\w.-]+:")


def _remotes(scene: Scene, invocation: Invocation) -> Iterator[Origin]:
    words = [str(word) for word in invocation.args if word[:1] != "-"]
    if words[:2] in (["remote", "add"], ["remote", "set-url"]) and len(words) > 2:
        yield Origin(
            f"{invocation.cwd or scene.places.cwd}#{words[2]}", "remote", f"{words[1]} {invocation.text()}"[:MAX_BY]
        )


def remotes(scene: Scene, folder: str) -> Iterator[str]:
    """Yield the names of remotes that earlier calls added in this directory; an empty one for one that they turned."""
    for path, origin in scene.past.items():
        if origin.how == "remote" and path.startswith(f"{folder}#"):
            yield path.partition("#")[2] if origin.by[:3] == "add" else ""


# ── what a call runs ──────────────────────────────────────────────────────────────────────────────────────────────────


def findings(scene: Scene, walk: Walk) -> Iterator[Finding]:
    """Yield a finding for each file that the script runs, if an earlier call brought it and it is unread."""
    if not scene.past and not any(one.how in _BROUGHT for one in scene.origins):
        return
    built = any(origin.how == "downloaded" for origin in scene.past.values())
    harmful = [origin for origin in scene.past.values() if origin.how == "harmful"]
    for one in walk.invocations:
        yield from _harm_of(scene, walk, one, harmful) if harmful else ()
        yield from _of_project(scene, one)
        yield from _of_source(scene, walk, one) if built else ()
        program = as_program(one) or one
        if "/" not in program.program and program is one:
            continue
        path = walk.overlay.resolved(scene.path(program.program, one))
        origin = brought(scene.past, path) or (_globbed(scene, path) if "*" in path else None)
        if origin is None or walk.overlay.made(path) is not None:
            continue
        yield Finding(
            "shell.run-brought",
            levels.CARE
            if shown(scene, path) or (origin.how == "cloned" and not from_strangers(origin.by) and not one.elevated)
            else levels.HARM,
            f"runs {scene.places.shown(path)}, which `{origin.by}` has {origin.how} in an earlier call, unread",
            "Read it first, then run it.",
            effect=effect("code_execution", f"runs what an earlier call has {origin.how}", target=path),
            elevated=one.elevated,
        )


def _globbed(scene: Scene, pattern: str) -> Origin | None:
    """Return the origin of a brought file that a glob fits, be it of an earlier call or of this one."""
    each = (*scene.past.values(), *scene.origins)
    return next((one for one in each if one.how in _BROUGHT and fnmatchcase(one.path, pattern)), None)


_PROJECTS = ("cloned", "downloaded")
_TARGETS = re.compile(
    r"(?:build|install|test|run|check|compile|start|ci|i|all|up|bootstrap|configure|package|verify|dist)\b"
)


def _of_project(scene: Scene, one: Invocation) -> Iterator[Finding]:
    """Yield a finding for the build of a folder that an earlier call brought, and in which nothing was read."""
    if one.inside or (one.name not in BUILDERS and one.name not in _INSTALLERS):
        return
    for folder in _installed(scene, one):
        origin = _known(scene.past, f"{folder}/setup.py")
        if origin is not None and origin.how in _PROJECTS:
            yield _built(scene, one, folder, origin, "installs")
            return
    if one.name not in BUILDERS:
        return
    at = next(
        (
            str(one.args[at + 1])
            for at, word in enumerate(one.args[:-1])
            if word in ("-C", "--prefix", "--directory", "-p")
        ),
        "",
    )
    folder = scene.places.absolute(at, one.cwd) if at else one.cwd or scene.places.cwd
    origin = _known(scene.past, f"{folder.rstrip('/')}/Makefile")
    if origin is not None and origin.how in _PROJECTS and (not one.args or any(map(_TARGETS.match, one.operands()))):
        yield _built(scene, one, folder, origin, "builds")


_INSTALLERS = frozenset({"pip", "pip3", "pipx", "uv", "npm", "pnpm", "yarn", "bun", "cargo", "gem", "composer", "go"})
"""Programs that install a folder which they are given, and run what it has for that."""


def _installed(scene: Scene, one: Invocation) -> Iterator[str]:
    """Yield the folders that a program is told to install."""
    if one.name in _INSTALLERS and not {"install", "add", "i", "link", "require"}.isdisjoint(one.args[:3]):
        for word in one.args[:100]:
            if word.known and word[:1] != "-" and "://" not in word and ("/" in word or word[:1] == "."):
                yield scene.path(word, one).rstrip("/")


def _built(scene: Scene, one: Invocation, folder: str, origin: Origin, how: str) -> Finding:
    return Finding(
        "shell.run-brought",
        levels.HARM if one.elevated or from_strangers(origin.by) else levels.CARE,
        f"{how} {scene.places.shown(folder)}, which `{origin.by}` has {origin.how} in an earlier call, unread",
        "Read its build files first.",
        effect=effect("code_execution", f"{how} what an earlier call has {origin.how}", target=folder),
    )


def _of_source(scene: Scene, walk: Walk, one: Invocation) -> Iterator[Finding]:
    """Yield a finding for a source that an earlier call downloaded, unread, that is built or run by name."""
    for word in one.args[:100]:
        suffix = posixpath.splitext(word)[1].lower()
        if not word.known or one.name not in BUILDS.get(suffix, ()):
            continue
        path = walk.overlay.resolved(scene.path(word, one))
        origin = brought(scene.past, path)
        if origin is not None and origin.how == "downloaded" and walk.overlay.made(path) is None:
            yield Finding(
                "shell.run-brought",
                levels.HARM,
                f"builds or runs {scene.places.shown(path)}, which `{origin.by}` has downloaded, unread",
                "Read it first.",
                effect=effect("code_execution", "runs what an earlier call has downloaded", target=path),
                elevated=one.elevated,
            )
            return


def _harm_of(scene: Scene, walk: Walk, one: Invocation, harmful: list[Origin]) -> Iterator[Finding]:
    """Yield a finding for a command that builds or runs a source of the agent's own that does harm."""
    if not one.name or one.name in ("cd", "export", "set", "echo", "test", "["):
        return
    named = {
        walk.overlay.resolved(scene.places.absolute(word.partition("::")[0], one.cwd))
        for word in one.args[:100]
        if word.known and word[:1] != "-"
    }
    for origin in harmful:
        if walk.overlay.made(origin.path) is not None:
            continue  # the call itself writes it, and is judged by what it then has
        if _runs_named(scene, one, origin.path, named) or _takes_up(scene, one, origin.path, named):
            yield _harm(scene, one, origin)
            return


def taken_up(scene: Scene, commands: Sequence[Invocation]) -> Iterator[Finding]:
    """Yield a finding for each command that builds a source which the same action writes and which does harm."""
    harmful = [origin for origin in scene.origins if origin.how == "harmful"]
    for one in commands if harmful else ():
        named = {scene.places.absolute(word, one.cwd) for word in one.args[:100] if word.known and word[:1] != "-"}
        for origin in harmful:
            if origin.path not in named and _takes_up(scene, one, origin.path, named):
                yield _harm(scene, one, origin)
                return


def _harm(scene: Scene, one: Invocation, origin: Origin) -> Finding:
    return Finding(
        "code.harmful-source",
        levels.HARM,
        f"builds or runs {scene.places.shown(origin.path)}, which this run has written, and {origin.by}",
        "Take that out of the file first.",
        effect=effect("code_execution", f"runs {origin.path}, {origin.by}"[:300], target=origin.path),
        elevated=one.elevated,
    )


def _runs_named(scene: Scene, one: Invocation, path: str, named: set[str]) -> bool:
    if path not in named:
        return False
    options = SCRIPT_OPTIONS.get(one.name)
    if options is not None:
        return any(word in options for word in one.args)
    return one.name not in SHOWS and not scene.reads_only(one)


def _takes_up(scene: Scene, one: Invocation, path: str, named: set[str]) -> bool:
    suffix = posixpath.splitext(path)[1].lower()
    if one.name not in BUILDS.get(suffix, ()) or one.inside or not _DRY.isdisjoint(one.args):
        return False
    folder = one.cwd or scene.places.cwd
    if not below(path, folder) and not below(folder, scene.places.workspace or "/\0"):
        return False
    others = [each for each in named if posixpath.splitext(each)[1].lower() == suffix]
    if others:
        return path in others
    folders = [each for each in named if scene.facts.kind(each) == "directory"]
    return not folders or any(below(path, each) for each in folders)


_DRY = frozenset({"--version", "-V", "--help", "-h", "-n", "--dry-run", "--list", "-l"})
