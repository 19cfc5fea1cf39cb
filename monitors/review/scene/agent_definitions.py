"""Skills, commands and subagents of a project: files of text from which the CLI runs programs by itself.

Front matter can bring hooks, that of subagents servers (MCP) too. Once the definition is used, the CLI runs them
without a permission request (seen with 2.1.329; a skill written during a run is picked up within seconds, a subagent at
the CLI's next start). Shell lines in a skill's text are switched off at the CLI's start
(`supervisor.config.environment.GATE_ARGUMENTS`), and so are hooks and servers, unless the configuration lets those of
settings run.
"""

import re
from collections.abc import Iterator

from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.scene.scene import Scene

MAX_DEFINITION = 20_000
"""Most characters read of a definition; front matter stands at its beginning."""

_DEFINITION = re.compile(r"/\.claude/(?:skills|commands|agents)/.*\.md$")
_FRONT_MATTER = re.compile(r"\A\s*---[^\n]*\n(.*?)(?:^---|\Z)", re.DOTALL | re.MULTILINE)
_KEY = r"""(?:^[ \t]*(?:- +)?|[{{,]\s*)["']?{}["']?\s*:"""
_HOOKS = re.compile(_KEY.format("hooks"), re.MULTILINE)
_SERVERS = re.compile(_KEY.format("mcpServers"), re.MULTILINE)
_COMMAND = re.compile(_KEY.format("command"), re.MULTILINE)


def written(scene: Scene, path: str, text: str) -> Iterator[Finding]:
    """Return the finding for writing this text to the file."""
    if _DEFINITION.search(path) and (found := brings(text)):
        yield _found(scene, path, "writes", found[0])


def skill_used(scene: Scene, skill: str) -> Iterator[Finding]:
    """Return the findings for the use of this skill or command.

    Its definition may have come on a way that was not reviewed.

    Those below the home directory are the person's own, as the settings there are; writing them is reviewed.
    """
    yield from _used(scene, f"skills/{skill}/SKILL.md", f"commands/{skill.replace(':', '/')}.md")


def subagent_used(scene: Scene, subagent: str) -> Iterator[Finding]:
    """Return the findings for the start of this subagent. It is looked up in the file of its name."""
    yield from _used(scene, f"agents/{subagent}.md")


def _used(scene: Scene, *names: str) -> Iterator[Finding]:
    """The project's definitions of these names that start something by themselves."""
    tops = dict.fromkeys((scene.places.workspace or scene.places.cwd, scene.places.cwd))
    for path in (scene.places.absolute(f"{top}/.claude/{name}") for top in tops for name in names):
        if found := brings(scene.facts.text(path, MAX_DEFINITION) or ""):
            yield _found(scene, path, "uses", found[0])


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
