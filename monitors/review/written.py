"""Contents of files that others run: what a Write or an Edit of a hook, a build file or a CI file would have run."""

import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from monitors.contract.actions import Origin
from monitors.contract.effects import EffectType
from monitors.review.checks import code as code_check
from monitors.review.commands import command_findings, too_many_commands
from monitors.review.languages.code.uses import Uses
from monitors.review.languages.project.builds import source_of
from monitors.review.languages.project.given_away import given_away
from monitors.review.languages.project.openings import openings, switched_off
from monitors.review.languages.project.project_files import pieces, recipes_of
from monitors.review.languages.project.projects import merge
from monitors.review.languages.project.recipes import Recipe
from monitors.review.languages.project.trust import distrusts
from monitors.review.origins import MAX_BY
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Invocation, Setting, arg
from monitors.review.verdict.scopes import names_production

_TEXT_ONLY = re.compile(r"/(?:fixtures?|testdata|test_data|__snapshots__|snapshots|corpus|corpora|samples?)/|\.(?:md|rst|adoc|txt|log|csv|json|html?|svg)\Z", re.IGNORECASE)  # fmt: skip
"""Files that no program builds or imports."""
_GRAVE = (
    "shell.run-download", "shell.run-hidden", "shell.fork-bomb", "shell.handed", "network.raw", "code.hidden", "code.remote-shell", "secrets.",
    "chaperon.", "process.kill-all", "process.kill-guard", "files.write-device", "files.startup-handed", "files.write-startup", "containers.",
    "disk.", "shell.too-much", "schedule.", "environment.runs", "abuse.", "message.many", "money.", "packages.redirect", "packages.run-strange", "packages.source", "cloud.open",
)  # fmt: skip
"""Beginnings of the rules that count wherever the commands run."""
_HERE = ("files.delete-outside", "files.delete-top", "files.delete-system", "files.delete-repository", "files.delete-secret", "files.write-secret", "files.delete-device")  # fmt: skip
"""Rules that count besides, if the commands run on this machine."""


_DESTROYS = (
    "infrastructure.destroy", "cluster.delete", "cluster.uninstall", "database.lose", "database.drop", "hosting.destroy", "storage.destroy",
    "cloud.destroy", "cloud.aws-destroy", "backup.destroy", "remote.",
)  # fmt: skip
"""Beginnings of the rules that count wherever the commands run, if these name what is in production."""


def findings(
    scene: Scene, path: str, texts: Collection[str], before: str = "", replaced: str = ""
) -> Iterator[Finding]:
    """Yield the findings for writing these texts, or pieces of text, into the file.

    Args:
        scene: The action around it.
        path: Absolute.
        texts: What the file then has, or what is known of it.
        before: What it had, if it is known and is in the texts too: what it had others run already is not new.
        replaced: The piece that goes for one of the texts, if what the file had is not known.
    """
    known = recipes_of(path, before) if before else []
    within = path.removeprefix(scene.places.workspace or scene.places.home)
    for key in switched_off(within, replaced or before, "\n".join(texts)):
        why = f"where {key} goes off, which keeps strangers out or data whole"
        instead = "Leave it on, or ask the person."
        yield _leaves(scene, path, "infrastructure.opens", "infrastructure", why, instead, f"turns {key} off")
        return
    for what in distrusts(within, replaced or before, "\n".join(texts)):
        instead = "Leave the check in, or ask the person."
        why = f"where it no longer checks {what}"
        yield _leaves(scene, path, "code.unchecked", "security", why, instead, f"no longer checks {what}")
        return
    opened = {*openings(within, before), *given_away(within, before)}
    for text in texts:
        for why in given_away(within, text):
            if why not in opened:
                instead = "Leave it out, or ask the person."
                yield _leaves(scene, path, "source.gives-away", "secret_write", f"which {why}", instead, why)
                return
        for what in openings(within, text):
            if what not in opened:
                done = f"opens {what} to everybody"
                instead = "Name the addresses or the people that need it, or ask the person."
                yield _leaves(scene, path, "infrastructure.opens", "infrastructure", f"which {done}", instead, done)
                return
        if "/.github/workflows/" in path and _RUNS_REQUESTS.search(text) and not _RUNS_REQUESTS.search(before):
            why = "which runs the code of whoever opens a request, with the secrets of the repository"
            instead = "Use pull_request, or check out no code of the request."
            yield _leaves(scene, path, "ci.runs-strangers", "startup", why, instead, "runs strangers' code")
            return
        for recipe in recipes_of(path, text):
            if recipe in known:
                continue
            if recipe.elsewhere and _said_by_anybody(recipe, text):
                why = "which runs what anybody writes into a comment or an issue"
                instead = "Give it to the script by a variable of its environment."
                yield _leaves(scene, path, "ci.runs-strangers", "startup", why, instead, "runs strangers' words")
                return
            found = max(_judged(scene, recipe), key=lambda one: one.risk, default=None)
            if found is not None and (found.risk >= levels.HARM or found.stop) and not _had(scene, known, found):
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


def _leaves(scene: Scene, path: str, rule: str, kind: EffectType, why: str, instead: str, done: str) -> Finding:
    """Return the finding for a file that does harm as it then stands."""
    shown = scene.places.shown(path)
    made = effect(kind, f"{shown} {done}", target=path)
    return Finding(rule, levels.HARM, f"writes {shown}, {why}", instead, effect=made)


def _had(scene: Scene, known: list[Recipe], found: Finding) -> bool:
    """Whether one of the recipes of before does the same."""
    return any((one.rule, one.why) == (found.rule, found.why) for recipe in known for one in _judged(scene, recipe))


_RUNS_REQUESTS = re.compile(
    r"\A(?>.*?\bpull_request_target\b)(?>.*?github\.(?:event\.pull_request\.head\.|head_ref)).*?^\s{0,20}-? ?run:",
    re.DOTALL | re.MULTILINE,
)
"""A workflow that has secrets, checks out the code of a request, and runs something."""


_WORDS_OF_OTHERS = re.compile(r"\$github_event_(?:comment|issue|discussion|review)_(?:body|title)\b")
_WORDS_OF_REQUESTS = re.compile(r"\$github_event_pull_request_(?:body|title|head_ref|head_label)\b|\$github_head_ref\b")


def _said_by_anybody(recipe: Recipe, text: str) -> bool:
    """Whether a step of a workflow has what others say put into its script, where they can do harm."""
    if recipe.name not in ("run", "script"):
        return False
    if _WORDS_OF_OTHERS.search(recipe.code):
        return True
    return "pull_request_target" in text and _WORDS_OF_REQUESTS.search(recipe.code) is not None


def harm_left(scene: Scene, path: str, text: str, *, whole: bool) -> Iterator[Origin]:
    """Yield what later calls are to know of a source that a call writes: that what builds or runs it does harm.

    A source may say what it likes as long as nothing runs it, so that writing it is not stopped.

    Args:
        scene: The action around it.
        path: Absolute.
        text: The text that the file then has, or the piece of it that is known.
        whole: Whether it is all of the text.
    """
    known = scene.past.get(path)
    recipe = None if _TEXT_ONLY.search(path) else source_of(path, text)
    for piece in [recipe._replace(code=code) for code in pieces(recipe.code)] if recipe is not None else []:
        grave = (one for one in _judged(scene, piece) if one.risk >= levels.HARM or one.stop)
        found = max(grave, key=lambda one: one.risk, default=None)
        if found is not None:
            yield Origin(scene.facts.real(path), "harmful", f"it {found.why}"[:MAX_BY])
            return
    if whole and known is not None and known.how == "harmful":
        yield Origin(path, "own", "")


def _judged(scene: Scene, recipe: Recipe) -> list[Finding]:
    same = recipe._replace(name="")
    if same not in scene.work.judged:
        scene.work.judged[same] = list(_found(scene, recipe))
    return scene.work.judged[same]


def _found(scene: Scene, recipe: Recipe) -> Iterator[Finding]:
    within = scene.apart()
    uses = Uses()
    if recipe.language != "sh" and scene.work.over:
        yield too_many_commands()
        return
    merge(uses, recipe)
    scene.work.code += uses.length if recipe.language != "sh" else 0
    counts: tuple[str, ...] = _GRAVE if recipe.elsewhere else (*_GRAVE, *_HERE)
    if recipe.installs:
        counts = tuple(rule for rule in counts if rule != "shell.run-download")
    for script in dict.fromkeys(uses.scripts):
        found, seen = command_findings(script, within)
        yield from (one for one in found if one.rule.startswith(counts) or one.risk >= levels.DOOM)
        yield from (
            one
            for one, invocation in seen
            if one.risk >= levels.HARM
            and one.rule.startswith(_DESTROYS)
            and "sync" not in invocation.args[:3]
            and names_production(invocation)
        )
    if recipe.language != "sh" or uses.cut:
        runner = Invocation(arg(recipe.language), [], Setting(depth=1))
        each = (one for one in code_check.check(within, runner, uses) if one is not None)
        yield from (one for one in each if one.rule.startswith(counts) or one.risk >= levels.DOOM)
