"""Contents of files that others run: what a Write or an Edit of a hook, a build file or a CI file would have run."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace

from monitors.review.checks import code as code_check
from monitors.review.commands import command_findings
from monitors.review.languages.projects import merge
from monitors.review.languages.recipes import Recipe, recipes_of
from monitors.review.languages.uses import Uses
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Invocation, Setting, arg

_GRAVE = (
    "shell.run-download", "shell.run-hidden", "shell.fork-bomb", "shell.handed", "network.raw", "code.hidden", "code.remote-shell", "secrets.",
    "chaperon.", "process.kill-all", "process.kill-guard", "files.write-device", "files.startup-handed", "files.write-startup", "containers.",
    "disk.", "shell.too-much", "schedule.", "environment.runs", "abuse.",
)  # fmt: skip
"""Beginnings of the rules that count wherever the commands run."""
_HERE = ("files.delete-outside", "files.delete-top", "files.delete-system", "files.delete-repository", "files.delete-secret", "files.write-secret", "files.delete-device")  # fmt: skip
"""Rules that count besides, if the commands run on this machine."""


def findings(scene: Scene, path: str, texts: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the findings for writing these texts, or pieces of text, into the file.

    Args:
        scene: The action around it.
        path: Absolute.
        texts: What is written, by the field that has it.
    """
    for text in texts.values():
        for recipe in recipes_of(path, text):
            found = max(_judged(scene, recipe), key=lambda one: one.risk, default=None)
            if found is not None and (found.risk >= levels.HARM or found.stop):
                shown = scene.places.shown(path)
                line = next((line.strip() for line in recipe.code.splitlines() if line.strip()), recipe.cut)[:120]
                yield replace(
                    found,
                    why=f"writes {shown}, which others run, and there `{line}`: it {found.why}",
                    instead=found.instead or "Leave that command out.",
                    rewrite="",
                    undo="",
                    effect=effect("startup", f"{shown} has others run `{line}`", target=shown),
                )
                return


def _judged(scene: Scene, recipe: Recipe) -> Iterator[Finding]:
    places = copy.copy(scene.places)
    within = replace(scene, places=places, touches={}, grounds=[], origins=[], files={}, beside=set(), heard=set())
    uses = Uses()
    merge(uses, recipe)
    counts = _GRAVE if recipe.elsewhere else (*_GRAVE, *_HERE)
    for script in uses.scripts:
        found, _ = command_findings(script, within)
        yield from (one for one in found if one.rule.startswith(counts) or one.risk >= levels.DOOM)
    if recipe.language != "sh" or uses.cut:
        runner = Invocation(arg(recipe.language), [], Setting(depth=1))
        each = (one for one in code_check.check(within, runner, replace(uses, reads=[])) if one is not None)
        yield from (one for one in each if one.rule.startswith(counts) or one.risk >= levels.DOOM)
