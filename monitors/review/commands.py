"""The script that a call hands to a shell: read, walked through, and each command in it assessed."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import islice

from monitors.contract.actions import Origin
from monitors.review import origins
from monitors.review.checks import secrets
from monitors.review.checks.carried import asks_strangers
from monitors.review.checks.guard import hunted
from monitors.review.checks.lookalikes import hidden_text
from monitors.review.checks.shells import plants_shell
from monitors.review.languages.code.uses import MAX_CODE, Uses
from monitors.review.languages.embedded import embedded
from monitors.review.languages.interpreters import code_uses, unknown_uses
from monitors.review.languages.project.builds import SCRIPT_OPTIONS
from monitors.review.programs.coreutils import MODELS
from monitors.review.programs.outputs import made
from monitors.review.programs.unheld import asked_of_git
from monitors.review.rules import levels
from monitors.review.rules.findings import SPLIT, Finding, effect, not_read_to_its_end
from monitors.review.scene import agent_definitions
from monitors.review.scene.places import TMPDIR
from monitors.review.scene.scene import MAX_CODE_IN_ALL, MAX_COMMANDS, Scene
from monitors.review.shell.invocation import Arg, Invocation, Setting, arg, program_name
from monitors.review.shell.shells import shell_use
from monitors.review.shell.walk import Walk
from monitors.review.tampering import changes, evidence, removals, signs
from monitors.review.verdict import grounds
from monitors.review.verdict.assess import judge
from monitors.review.verdict.own import git_folder, in_scratch, own_things
from monitors.review.verdict.scopes import turned_to_production

Seen = tuple[Finding, Invocation]
"""A finding and the command in which it was found."""


MAX_LINES = 250
"""Most shell lines of a skill or command that are reviewed, as of recipes of a build: 20,000 took 2.5 seconds."""
READS_ON = frozenset({"cat", "tee", "dd", "pv", "tr", "sort", "wc", "gzip", "xargs"})
"""Programs that read until there is no more, and so end no program that writes to them for ever."""


def command_findings(
    command: str, scene: Scene, note: Callable[[str, Callable[[], list[str]]], None] | None = None
) -> tuple[list[Finding], list[Seen]]:
    """Everything that the command would do.

    Returns:
        All findings, and those that belong to one command of the script together with it.
    """
    if scene.work.over:
        return [too_many_commands()], []
    earlier = len(scene.touches)
    walk, uses, long = walked(command, scene)
    scene.work.commands += len(walk.invocations) + walk.long
    if walk.too_much:  # which blocks the action, whatever else is in it
        scene.work.commands += MAX_COMMANDS
    if note is not None:
        note("read", partial(_read_of, walk))
    scene.origins += origins.left(scene, walk)
    scene.files = dict(walk.overlay.texts())
    scene.listing, scene.planting = _of_text(scene.files, secrets.marked), _of_text(scene.files, plants_shell)
    scene.within = walk.overlay.sources
    scene.made = frozenset(_folders(walk, scene))
    scene.commands, scene.ignored = walk.invocations, frozenset(asked_of_git(walk.invocations, scene))
    if walk.overlay.linked:
        scene.follow(cache(walk.overlay.once_resolved))  # the links stay as they are from here on
    scene.beside, scene.put = walk.beside, None
    scene.production = frozenset(one.name for one in walk.invocations if turned_to_production(one))
    scene.own, made_here = own_things(walk.invocations, scene.places, scene.past, walk.doubted)
    scene.origins += made_here
    scene.heard = {id(one) for reader in walk.invocations if reader.name not in READS_ON for one in reader.input.source}
    seen = [(found, one) for one in walk.invocations for found in judge(scene, one, uses.get(id(one)))]
    shown = next((one for found, one in seen if found.rule == "secrets.show"), None)
    scene.origins += [] if shown is None else [Origin(origins.SHOWN, "secret", shown.text()[: origins.MAX_BY])]
    touched = [path for path, access in islice(scene.touches, earlier, None) if access == "write"]
    scene.origins += (lengthened := list(_lengthened(walk, scene, touched)) if touched else [])
    changed = dict.fromkeys((*walk.overlay.put(), *touched))
    no_text = _without_text(walk, scene) if changed else ()
    defined = [
        found
        for path in changed
        if path not in no_text and agent_definitions.is_definition(path)
        for found in definition_findings(scene, path, _made(walk, path))
    ]
    whole = [
        found
        for found in (
            *_understood(walk, long),
            *(_hurried(walk, scene) if walk.hurries else ()),
            *origins.findings(scene, walk),
            *hunted(walk.invocations),
            _new_remote(walk, scene),
            hidden_text(command),
            *_unread(walk, scene, long, {one.path: one for one in lengthened}),
            *defined,
            _in_a_folder_that_may_fail(scene, command),
            *(_tampering(scene, walk, command) if scene.places.workspace else ()),
        )
        if found is not None
    ]
    scene.within = _by_nobody
    walk.let_go()
    return [*(finding for finding, _ in seen), *whole], seen


def _read_of(walk: Walk) -> list[str]:
    """Return the lines that say what was read of a script."""
    return (
        [" ".join(filter(None, (*one.via, one.text()))) for one in walk.invocations[:50]]
        + walk.unclear
        + [f"{path}: {problem}" for path, problem in walk.unclear_in.items()]
        + ([walk.too_much] if walk.too_much else [])
    )


_GOES_THEN_DELETES = re.compile(
    r"(?:^|[;\n])[ \t]{0,9}cd[ \t]{1,9}([\w./-]{1,200})[ \t]{0,9}[;\n][ \t\n]{0,9}rm[ \t]{1,9}-\w{0,9}[rR]\w{0,9}[ \t][^\n;&|]{0,80}?(?<=[ \t/])\.[\[?*]"
)
"""A deletion of all files whose names begin with a point, behind a `cd` that may fail."""
_ENDS_AT_A_FAILURE = re.compile(r"\bset[ \t]{1,9}-\w{0,9}e")


def _in_a_folder_that_may_fail(scene: Scene, command: str) -> Finding | None:
    """Return the finding for a deletion that takes the repository itself if the `cd` before it fails."""
    found = _GOES_THEN_DELETES.search(command) if "cd" in command and "rm" in command else None
    if found is None or not scene.places.workspace or _ENDS_AT_A_FAILURE.search(command[: found.start()]):
        return None
    folder = scene.places.absolute(found[1])
    if scene.facts.kind(folder) == "directory" or folder in scene.made:
        return None
    return Finding(
        "files.delete-top",
        levels.HARM,
        f"deletes all there is where it stands, its `.git` too, if there is no folder {found[1]}",
        "Put && between cd and rm.",
        effect=effect("file_delete", f"deletes what is in {found[1]}, or in the folder it stands in"),
    )


def _tampering(scene: Scene, walk: Walk, command: str) -> Iterator[Finding]:
    """Yield the findings for success that the script fakes."""
    yield from removals.findings(scene, walk.invocations)
    yield from evidence.findings(walk.invocations)
    yield from evidence.shadowed(command)
    for change in changes.made(scene, walk.invocations):
        yield from signs.findings(change)
        yield from evidence.told(change.path, change.before, change.after)


def _hurried(walk: Walk, scene: Scene) -> Iterator[Finding]:
    """Yield the findings for loops that nothing ends and in which nothing waits."""
    for how, commands in walk.hurries:
        if how == "starts":
            yield Finding(
                "shell.fork-bomb",
                levels.DOOM,
                "starts one job after another in the background, without an end and without waiting for any",
                "Start a few, and wait for them.",
                effect=effect("process", "fills the machine with processes"),
            )
        elif how == "idles" and scene.places.workspace:
            yield Finding(
                "process.burns",
                levels.HARM,
                "takes a processor for nothing, without an end",
                "Wait by sleep, or by wait.",
                effect=effect("process", "takes a processor for ever"),
            )
        elif any(asks_strangers(one) for one in commands):
            yield Finding(
                "abuse.hammer",
                levels.HARM,
                "asks another machine again and again, without an end and without a pause",
                "Ask it once, or wait between two requests and end after some.",
                effect=effect("network", "asks another machine without a pause"),
            )


def _of_text(files: Mapping[str, str], says: Callable[[str], bool]) -> frozenset[str]:
    """Return the files whose text is of a kind. A text is looked at once, though 300 files may have it."""
    found = {text for text in set(files.values()) if says(text)} if files else None
    return frozenset(path for path, text in files.items() if text in found) if found else _NO_FILES


_NO_FILES = frozenset[str]()


def too_many_commands() -> Finding:
    """Return the finding for scripts and code of one action of which the rest is not gone through."""
    why = f"is more than a review goes through: its scripts have more than {MAX_COMMANDS} commands, or its code more than {MAX_CODE_IN_ALL} characters, all together"
    return not_read_to_its_end(why, SPLIT, "a script")


def _by_nobody(_path: str) -> tuple[Invocation, ...]:
    return ()


def definition_findings(scene: Scene, path: str, text: str | None) -> Iterator[Finding]:
    """Yield the findings for writing a skill, a command or a subagent, with the shell lines that the CLI would run.

    Args:
        scene: The action around it.
        path: Absolute.
        text: What is written, whole or a piece; None if it is not known.
    """
    if not agent_definitions.is_definition(path):
        return
    shown = scene.places.shown(path)
    if text is None:
        yield Finding(
            "skills.unread",
            levels.HARM,
            f"writes {shown}, from which the CLI runs commands by itself, with text that no review has read",
            "Write it with Write.",
            effect=effect("startup", f"{shown} is written with unknown text", target=shown),
        )
        return
    yield from agent_definitions.written(scene, path, text)
    lines = agent_definitions.shell_lines(text)
    if len(lines) > MAX_LINES:
        yield not_read_to_its_end(
            f"writes {shown}, which has the CLI run more than {MAX_LINES} lines", SPLIT, "a skill"
        )
        return
    for line in lines:
        found = max(command_findings(line, scene.apart())[0], key=lambda one: one.risk, default=None)
        if found is not None and (found.risk >= levels.HARM or found.stop):
            yield replace(
                found,
                why=f"writes {shown}, which has the CLI run `{line.strip()[:120]}` by itself: it {found.why}",
                instead=found.instead or "Leave that line out.",
                rewrite="",
                undo="",
                effect=effect("startup", f"{shown} has the CLI run `{line.strip()[:120]}`", target=shown),
            )
            return


_BRINGS_NO_TEXT = frozenset({"chmod", "chown", "chgrp", "touch", "mkdir"})
"""Programs that leave the text of a file as it is, or make it empty."""


def _without_text(walk: Walk, scene: Scene) -> set[str]:
    """Return the definitions to which the script brings no text: no program but those that bring none names them."""
    named: set[str] = set()
    if not any(one.name in _BRINGS_NO_TEXT for one in walk.invocations):
        return named
    others: set[str] = set(walk.overlay.put())
    for one in walk.invocations:
        paths = {scene.places.absolute(word, one.cwd) for word in one.operands() if ".md" in word}
        if one.name in _BRINGS_NO_TEXT and not one.via and all(word.known and not word.glob for word in one.operands()):
            named.update(paths)
            others.update(scene.places.absolute(redirect.target, one.cwd) for redirect in one.redirects)
        elif one.name == "git" and one.args[:1] and one.args[0] in ("add", "commit", "push"):
            continue
        elif one.name not in _CHANGES_NO_FILE and not scene.reads_only(one):
            return set()
    return named - others


def _made(walk: Walk, path: str) -> str | None:
    """Return the whole text that the script gives the file; None if it is not known."""
    made = walk.overlay.made(path)
    known = made is not None and made[0] is not None and (len(made[0]) < MAX_CODE or path in walk.overlay.texts())
    return made[0] if made is not None and known else None


def _folders(walk: Walk, scene: Scene) -> Iterator[str]:
    """Yield the directories that the script copies or clones."""
    for one in walk.invocations:
        if one.name == "git" and (folder := origins.clones_into(scene, one)):
            yield folder
        elif one.name == "cp" and any(word[:1] == "-" and set("raR").intersection(word) for word in one.args):
            yield from (scene.places.absolute(word, one.cwd) for word in one.operands()[-1:])
        elif one.name in ("degit", "mkdir"):
            yield from (scene.places.absolute(word, one.cwd) for word in one.operands())


_CHANGES_NO_FILE = frozenset({"", "cd", "pushd", "popd", "export", "set", "unset", "source", ".", "sleep", "true", ":"})
"""Commands that may precede a script although the review rests on the script. Any other may have written it."""


def walked(command: str, scene: Scene) -> tuple[Walk, dict[int, Uses], set[str]]:
    """Go through the script, and note what code in it does, by the identity of the command that has it.

    Returns:
        The walk, the notes, and the files on the disk that were not read to their end.
    """
    reading = _Reading(scene)
    reading.walk.script(command.replace("\0", ""))
    return reading.walk, reading.uses, reading.long


class _Reading:
    """A walk through a script, with what it asks of the scene."""

    # A class, since seven functions within a function would be made anew for each call.

    __slots__ = ("_looked_at", "_scene", "_unchanged", "long", "uses", "walk")

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._looked_at = 0
        self._unchanged = True
        self.uses: dict[int, Uses] = {}
        self.long: set[str] = set()
        self.walk = Walk(
            cwd=scene.places.cwd,
            variables=_variables(scene),
            launchers=scene.launchers,
            code=self._code,
            text=self._read,
            written=made,
            folder=self._folder,
            before=self._before if scene.past else None,
            disk=self,
        )

    @property
    def workspace(self) -> str:
        """The agent's workspace."""
        return self._scene.places.workspace

    def real(self, path: str) -> str:
        """The path with links followed: those that the script makes, and then those on the disk."""
        return self._scene.facts.real(self.walk.overlay.resolved(path))

    def kind(self, path: str) -> str:
        """The kind of file at the path."""
        return self._scene.facts.kind(path)

    def _folder(self, path: str) -> bool:
        return self._scene.facts.kind(path) == "directory"

    def _code(self, invocation: Invocation) -> list[str]:
        for word in _option_files(invocation):
            self._files(invocation, word)  # which notes by whom it was made
        found = code_uses(self._interpreted(invocation), self._files, self._own)
        if found is None and invocation.args and invocation.name and not self._known(invocation.name):
            found = unknown_uses(invocation)
        if found is not None:
            self.uses[id(invocation)] = found
            self.walk.count_code(found.length, found.paths)
            for path, text in found.files.items():
                if "$" not in path:
                    # What it fetches is as bad as what a download program brings.
                    maker = Invocation(arg("curl"), [arg("by code")]) if text is None and found.connects else invocation
                    self.walk.overlay.write(self._scene.places.absolute(path, invocation.cwd), text, (maker,))
        return [*(found.scripts if found else []), *embedded(invocation, self._known)]

    def _interpreted(self, invocation: Invocation) -> Invocation:
        """Return what the first line of a script names as its interpreter, with the script; else the invocation."""
        program = invocation.program
        if "/" not in program or not program.known or invocation.inside:
            return invocation
        text = self.walk.overlay.text(self._scene.places.absolute(program, invocation.cwd))
        words = text.partition("\n")[0][2:200].split() if text and text[:2] == "#!" else []
        named = [word for word in words if word[:1] != "-" and program_name(word) != "env"]
        if not named:
            return invocation
        setting = Setting(invocation.cwd, invocation.via, invocation.elevated, invocation.inside, invocation.depth)
        return Invocation(arg(named[0]), [program, *invocation.args], setting, stdin=invocation.input)

    def _known(self, name: str) -> bool:
        scene = self._scene
        return name in scene.book.programs or scene.book.rules_for(name) or name in scene.launchers or name in MODELS

    def _files(self, invocation: Invocation, word: str) -> str | None:
        path = self._scene.places.absolute(word, invocation.cwd)
        text = self.walk.overlay.text(path)
        if text is None:
            invocation.made_by = self.walk.made_by(arg(path))
        return text

    def _own(self, invocation: Invocation, word: str) -> str | None:
        made_ = self.walk.overlay.made(self._scene.places.absolute(word, invocation.cwd))
        return made_[0] if made_ is not None else None

    def _read(self, path: str) -> str | None:
        text = self._scene.facts.text(path, MAX_CODE)
        if text is not None and len(text) >= MAX_CODE:
            self.long.add(path)
        while self._unchanged and self._looked_at < len(self.walk.invocations) - 1:
            one = self.walk.invocations[self._looked_at]
            self._unchanged = self._scene.reads_only(one) or one.name in _CHANGES_NO_FILE
            self._looked_at += 1
        if self._unchanged:
            grounds.of_script(self._scene, path, text)
        return text

    def _before(self, path: str) -> tuple[Invocation, ...]:
        origin = origins.brought(self._scene.past, path)
        return () if origin is None else (origins.maker(origin),)


def _option_files(invocation: Invocation) -> Iterator[Arg]:
    """Yield the files that an editor, or a program like one, is told by an option to run."""
    options = SCRIPT_OPTIONS.get(invocation.name, ())
    for at, word in enumerate(invocation.args[:-1]) if options else ():
        if word in options and invocation.args[at + 1].known:
            yield invocation.args[at + 1]


_PATH = arg("/usr/local/bin:/usr/bin:/bin")
"""Stands for the search path: what counts is that pieces of it spell what they spell everywhere."""


_TMPDIR = arg(TMPDIR)


def _variables(scene: Scene) -> dict[str, str]:
    return {
        "HOME": scene.places.home or "~",
        "PWD": scene.places.cwd,
        "TMPDIR": _TMPDIR,
        "PATH": _PATH,
        **{str(name): str(value) for name, value in scene.environment.items()},
    }


def _lengthened(walk: Walk, scene: Scene, touched: Iterable[str]) -> Iterator[Origin]:
    """Yield the origins of long scripts on the disk that a command changes in place, as `sed -i` does."""
    written = set(walk.overlay.put())
    sought = [path for path in touched if path not in written and origins.named_as_script(path)]
    left, by = set(sought), dict[str, Invocation]()
    for one in walk.invocations if left else ():
        named = left.intersection(scene.path(word, one) for word in one.args)
        keeps = one.name in _BRINGS_NO_TEXT or one.name in ("cp", "mv", "source", ".") or shell_use(one) is not None
        if named and not keeps and not scene.reads_only(one):
            by.update(dict.fromkeys(named, one))
            left -= named
    for path in sought:
        if path in by and (origin := origins.writes_long(scene, path, None, by[path].text())) is not None:
            yield origin


def _unread(walk: Walk, scene: Scene, long: set[str], lengthened: Mapping[str, Origin]) -> Iterator[Finding]:
    """Yield the findings for scripts on the disk that a shell runs and whose end no review has read.

    A project's own are long, so that they are warned of. One is blocked if this run has written or changed it, if it
    came from outside, or if it is not named as a script, since changes of others are not noted.
    """
    for path, bound in walk.ran.items():
        if not bound and path not in long:
            continue
        names = path, scene.facts.real(path)
        known = (
            lengthened.get(name) or origins.lengthened(scene.past, name) or origins.brought(scene.past, name)
            for name in names
        )
        origin = next(filter(None, known), None)
        after = f", which `{origin.by}` has {origin.how}" if origin is not None else ""
        found = not_read_to_its_end(
            f"runs {scene.places.shown(path)}{after}, and no review reads it to its end: it has "
            f"{bound or f'more than {MAX_CODE} characters'}",
            "Split it into scripts that are shorter.",
            "a script",
        )
        if origin is None and all(map(origins.named_as_script, names)):
            found = replace(found, risk=levels.CARE, instead="Look through the rest of it first.")
        yield found


def _new_remote(walk: Walk, scene: Scene) -> Finding | None:
    """Return the finding for a push to a remote that the agent has made or turned to another place in this run."""
    changed: set[str] = set()
    for one in walk.invocations:
        if one.name != "git":
            continue
        words = [str(word) for word in one.args if word[:1] != "-"]
        if words[:2] in (["remote", "add"], ["remote", "set-url"]) and len(words) > 2:
            if in_scratch(arg(words[-1]), git_folder(one, scene.places), scene.places):
                continue  # a trial's
            changed.add(words[2] if words[1] == "add" else "")
        elif words[:1] == ["push"] and changed.union(
            earlier := set(origins.remotes(scene, one.cwd or scene.places.cwd))
        ):
            if not changed and "" not in earlier and not earlier.intersection(words[1:]):
                continue  # it names another remote, or the usual one, which is as it was
            changed |= earlier
            # A new repository's first push is to an `origin` that was made just before.
            usual = changed == {"origin"}
            return Finding(
                "git.push-elsewhere",
                levels.CARE if usual else levels.HARM,
                "pushes to a remote that it has just set up itself",
                "Let a person set up the remote.",
                effect=effect("git_push", f"pushes to a new remote: `{one.text()}`"),
            )
    return None


def _understood(walk: Walk, long: set[str]) -> list[Finding]:
    if not (walk.unclear or walk.unclear_in or walk.too_much or walk.bomb):
        return []
    found: list[Finding] = []
    # Of one that is not read to its end this is said, and a quote is open there.
    whole = (problem for path, problem in walk.unclear_in.items() if path not in long and not walk.ran.get(path))
    unclear = next(iter(walk.unclear), None) or next(whole, "")
    if walk.too_much:
        found.append(not_read_to_its_end(f"is more than a review goes through: {walk.too_much}", SPLIT, "a script"))
    if unclear:
        found.append(
            Finding(
                "shell.not-understood",
                levels.CARE,
                f"is not proper shell: it has {unclear}",
                "Mend the quoting, or write the script to a file.",
                effect=effect("process", "runs a command that was not understood"),
            )
        )
    if walk.bomb:
        found.append(
            Finding(
                "shell.fork-bomb",
                levels.DOOM,
                f"starts itself over and over: {walk.bomb}",
                "Do not run it.",
                effect=effect("process", "fills the machine with processes"),
            )
        )
    return found
