"""Skills, commands and subagents of a project: files of text from which the CLI runs programs by itself.

Front matter can bring hooks, that of subagents servers (MCP) too. Once the definition is used, the CLI runs them
without a permission request (seen with 2.1.329; a skill written during a run is picked up within seconds, a subagent at
the CLI's next start). Shell lines in a skill's text are switched off at the CLI's start
(`supervisor.config.environment.GATE_ARGUMENTS`), and so are hooks and servers, unless the configuration lets those of
settings run. In an attached session nothing of this is switched off: there a skill runs its shell lines before any hook
is asked, with the arguments of the call put into them as they are (seen with 2.1.329). So the lines are reviewed as the
shell's, when they are written and when the skill is used.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import chain, islice

from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.scene.scene import Scene

MAX_DEFINITION = 100_000
"""Most characters read of a definition. Longer ones are not used by agents: what follows could run anything."""
MAX_DEFINITIONS = 200
"""Most definitions of one folder that are looked through for a name in their front matter."""

MAX_MENTIONS = 200
"""Most files named in a definition that are looked at."""

WORDS = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude/CLAUDE.md", ".claude/AGENTS.md")
"""Files of words for agents, by their paths in a folder."""

_MENTION = re.compile(r"""(?<!\w)@(?:"([^"]+)"|([^\s"]+))""")
_LINES = re.compile(r"#.*")
_PUNCTUATION = "'\"`)]}>,.;:!?"
_DEFINITION = re.compile(r"/\.claude/(?:skills|commands|agents)/.*\.md$")
_FRONT_MATTER = re.compile(r"\A\s*---[^\n]*\n(.*?)(?:^---|\Z)", re.DOTALL | re.MULTILINE)
_KEY = r"""(?:^[ \t]*(?:- +)?|[{{,]\s*)["']?{}["']?\s*:"""
_HOOKS = re.compile(_KEY.format("hooks"), re.MULTILINE)
_SERVERS = re.compile(_KEY.format("mcpServers"), re.MULTILINE)
_COMMAND = re.compile(_KEY.format("command"), re.MULTILINE)
_NAME = re.compile(r"^name:[ \t]*[\"']?([^\s\"'#]{1,200})", re.MULTILINE)
_ARGUMENTS = re.compile(r"^arguments:[ \t]*([^\n]*(?:\n[ \t]*-[^\n]*)*)", re.MULTILINE)
_SHELL = re.compile(r"!`([^`]+)(?:`|\Z)|```![^\S\n]*(?:(?:ba|z)?sh[^\S\n]*\n)?(.*?)(?:```|\Z)", re.DOTALL)
_PLACE = re.compile(r"\$(?:ARGUMENTS(?:\[(\d{1,3})\])?|\{?(\d{1,3})\}?|\{?([A-Za-z_]\w*)\}?)")


def written(scene: Scene, path: str, text: str) -> Iterator[Finding]:
    """Return the finding for writing this text to the file."""
    if _DEFINITION.search(path) and (found := brings(text)):
        yield _found(scene, path, "writes", found[0])


def is_definition(path: str) -> bool:
    """Whether the file is a skill, a command or a subagent."""
    return _DEFINITION.search(path) is not None


def shell_lines(text: str, arguments: str = "") -> list[str]:
    """Return the scripts in a skill's text that the CLI hands to a shell, each with the arguments put into it."""
    whole = _FRONT_MATTER.match(text)
    listed = _ARGUMENTS.search(whole[1]) if whole else None
    named = re.findall(r"[A-Za-z_]\w*", listed[1]) if listed else []
    try:
        words = shlex.split(arguments)
    except ValueError:
        words = arguments.split()

    def put(place: re.Match[str]) -> str:
        number = place[1] or place[2] or (str(named.index(place[3])) if place[3] in named else "")
        if number:
            # The last one gets all the rest, for the CLI may split the arguments otherwise.
            return " ".join(words[int(number) :] if int(number) >= len(named) - 1 else words[int(number) :][:1])
        return place[0] if place[3] and place[3] != "ARGUMENTS" else arguments

    return [_PLACE.sub(put, inline or block) for inline, block in _SHELL.findall(text)]


def skill_script(scene: Scene, skill: str, arguments: str) -> str | None:
    """Return what the use of this skill or command would hand to a shell; None if that is nothing."""
    found = "\n".join(line for _, text in _skills(scene, skill, own=True) for line in shell_lines(text, arguments))
    return found or None


def skill_mentions(scene: Scene, skill: str, arguments: str) -> list[str]:
    """Return the files that the CLI would read for the use of this skill or command: `@PATH` in text and arguments.

    It reads none in an agent that chaperon started (`supervisor.config.environment.GATE_SETTINGS`).
    """
    texts = arguments, *(text for _, text in _skills(scene, skill, own=True))
    named = (quoted or bare for text in texts for quoted, bare in _MENTION.findall(text))
    return list(dict.fromkeys(islice((_LINES.sub("", name).rstrip(_PUNCTUATION) for name in named), MAX_MENTIONS)))


def words_with(scene: Scene, path: str) -> Iterator[tuple[str, str]]:
    """Yield what the CLI takes in by itself with a file that is read or written, if it is a link, with its target.

    It takes in the words for agents of each folder down to that of the file, and what the skills there say of
    themselves, and asks no hook (seen with 2.1.329): with a file of Read, Write and Edit, and with one that a command
    shows.
    """
    top = scene.places.workspace
    while top and path.startswith(f"{top}/") and path != top:
        path = path.rpartition("/")[0]
        skills = islice(scene.facts.names(f"{path}/.claude/skills"), MAX_DEFINITIONS)
        names = (*WORDS, *(f".claude/skills/{skill}/SKILL.md" for skill in skills))
        yield from ((f"{path}/{name}", target) for name, target in scene.facts.links_within(path, names))


def skill_links(scene: Scene, skill: str) -> Iterator[tuple[str, str]]:
    """Yield the files of this skill or command with what they lead to, which the CLI gives its model by itself."""
    for path, _ in _skills(scene, skill, own=True):
        yield path, scene.facts.real(path)


def skill_used(scene: Scene, skill: str) -> Iterator[Finding]:
    """Return the findings for the use of this skill or command, apart from its shell lines.

    Its definition may have come on a way that was not reviewed.

    Hooks and servers below the home directory are the person's own, as the settings there are; writing them is
    reviewed.
    """
    yield from _used(scene, _skills(scene, skill))
    for path, text in _skills(scene, skill, own=True):
        if len(text) > MAX_DEFINITION:
            yield Finding(
                "skills.too-long",
                levels.HARM,
                f"uses {scene.places.shown(path)}, of which a review reads {MAX_DEFINITION:,} characters and no more",
                "Let a person shorten it.",
                effect=effect("startup", f"{scene.places.shown(path)} is not read to its end", target=path),
            )


def subagent_used(scene: Scene, subagent: str) -> Iterator[Finding]:
    """Return the findings for the start of this subagent. It is looked up in the file of its name."""
    yield from _used(scene, _named(scene, subagent, [f"agents/{subagent}.md"], {"agents": "{}"}))


def _used(scene: Scene, definitions: Iterator[tuple[str, str]]) -> Iterator[Finding]:
    """Return a finding for each definition that starts something by itself."""
    for path, text in definitions:
        if found := brings(text):
            yield _found(scene, path, "uses", found[0])


def _skills(scene: Scene, skill: str, *, own: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the skills and commands of this name, those of the home directory too if `own`."""
    files = [f"skills/{skill}/SKILL.md", f"commands/{skill.replace(':', '/')}.md"]
    return _named(scene, skill, files, {"skills": "{}/SKILL.md", "commands": "{}"}, own=own)


def _named(
    scene: Scene, name: str, files: list[str], folders: Mapping[str, str], *, own: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield path and text of definitions whose file or front matter has the name, one character more than is read."""
    tops = dict.fromkeys((scene.places.workspace or scene.places.cwd, scene.places.cwd))
    homes = [scene.places.home] if own and scene.places.home else []
    seen = set()
    for top in (f"{each}/.claude" for each in (*tops, *homes)):
        others = (
            f"{folder}/{within.format(entry)}"
            for folder, within in folders.items()
            for entry in islice(scene.facts.names(scene.places.absolute(f"{top}/{folder}")), MAX_DEFINITIONS)
        )
        for file in chain(files, others):
            path = scene.places.absolute(f"{top}/{file}")
            if path in seen or (text := scene.facts.text(path, MAX_DEFINITION + 1)) is None:
                continue
            whole = _FRONT_MATTER.match(text)
            said = _NAME.search(whole[1]) if whole else None
            if file in files or (said and said[1] == name):
                seen.add(path)
                yield path, text


def brings(text: str) -> list[str]:
    """Return the parts of a definition's front matter, or of a piece of one, that the CLI runs by itself."""
    whole = _FRONT_MATTER.match(text)
    front = whole[1] if whole else text
    servers = _SERVERS.search(front)  # named by what starts them, and not by the name of some that are set up elsewhere
    found = {"hooks": _HOOKS.search(front), "servers": servers and _COMMAND.search(front, servers.end())}
    return [what for what, there in found.items() if there]


def _found(scene: Scene, path: str, does: str, what: str) -> Finding:
    shown = scene.places.shown(path)
    return Finding(
        f"skills.{what}",
        levels.HARM,
        f"{does} {shown}, whose {what} the CLI would run without a review",
        f"Leave {what} out of it, and run by yourself what they would run.",
        effect=effect("startup", f"{shown} brings {what}, which are not reviewed", target=shown),
    )
