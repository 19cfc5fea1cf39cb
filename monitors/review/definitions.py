"""Skills, commands and subagents of a project: files of text from which the CLI runs programs by itself.

A skill's front matter can bring hooks, and from the moment the skill is used the CLI runs them without asking anybody
(seen with 2.1.329; a skill that is written during a run is picked up within seconds). Shell lines in a skill's text are switched off
where the CLI is started (`supervisor.config.environment.GATE_ARGUMENTS`); for hooks there is no such switch.
"""

import re
from collections.abc import Iterator

from monitors.review import levels
from monitors.review.findings import Finding, effect
from monitors.review.scene import Scene

MAX_DEFINITION = 20_000
"""Most characters read of a definition; front matter stands at its beginning."""

_DEFINITION = re.compile(r"/\.claude/(?:skills|commands|agents)/.*\.md$")
_FRONT_MATTER = re.compile(r"\A\s*---[^\n]*\n(.*?)(?:^---|\Z)", re.DOTALL | re.MULTILINE)
_HOOKS = re.compile(r"""(?:^[ \t]*|[{,]\s*)["']?hooks["']?\s*:""", re.MULTILINE)


def written(scene: Scene, path: str, text: str) -> Iterator[Finding]:
    """What it means that this text is written to the file."""
    if _DEFINITION.search(path) and _brings_hooks(text):
        yield _hooks(scene, path, "writes")


def used(scene: Scene, skill: str) -> Iterator[Finding]:
    """What it means that this skill is used: its definition may have come by a way on which no text was seen.

    Those below the home directory are the person's own, as the settings there are; writing them is reviewed.
    """
    for path in _files(scene, skill):
        if _brings_hooks(scene.facts.text(path, MAX_DEFINITION) or ""):
            yield _hooks(scene, path, "uses")


def _files(scene: Scene, skill: str) -> list[str]:
    """Where a skill of that name is defined in a project."""
    names = (f"skills/{skill}/SKILL.md", f"commands/{skill.replace(':', '/')}.md")
    tops = dict.fromkeys((scene.places.workspace or scene.places.cwd, scene.places.cwd))
    return [scene.places.absolute(f"{top}/.claude/{name}") for top in tops for name in names]


def _brings_hooks(text: str) -> bool:
    """Whether a definition has hooks in its front matter, or a piece of one could be that."""
    whole = _FRONT_MATTER.match(text)
    return _HOOKS.search(whole[1] if whole else text) is not None


def _hooks(scene: Scene, path: str, does: str) -> Finding:
    shown = scene.places.shown(path)
    return Finding(
        "skills.hooks",
        levels.HARM,
        f"{does} {shown}, whose hooks the CLI would run without a review",
        "Leave hooks out of it, and run by yourself what they would run.",
        effect=effect("startup", f"{shown} brings hooks, which are not reviewed", target=shown),
    )
