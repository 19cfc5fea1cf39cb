"""The work of the commands review, explain and rules, and all that it loads."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import orjson

from monitors.contract.actions import Action, ReviewContext
from monitors.contract.wording import MICRO, duration
from monitors.contract.words import Profile
from monitors.review.as_json import as_dict, review_jsonl
from monitors.review.catalogue import failures, listed, matching
from monitors.review.explain import Explanation, explain
from monitors.review.knowledge.book import BUILT_IN, RULES
from monitors.review.user_rules import RISKS, OwnRule, matches
from supervisor.cli import common
from supervisor.cli.output import terminal
from supervisor.cli.output.words import COLOURS, clean
from supervisor.config.paths import home, places
from supervisor.runtime.assembly.review_settings import ReviewerSetup
from supervisor.runtime.assembly.reviewer import make_gate_reviewer, make_step_reviewer, own_knowledge
from supervisor.runtime.clock import Clock

OF_A_RUN = "the task, what ran before, open issues, limits, and what a person allowed"
"""Facts that a review in a run uses besides, and that are not known here."""


OF_THIS_USER = frozenset({"STATE_DIRECTORY", "XDG_STATE_HOME", "XDG_CONFIG_HOME"})
"""Variables that say where this user's files are, whatever the home directory."""


@dataclass(frozen=True, slots=True)
class Where:
    """The surroundings by which an action is judged."""

    context: ReviewContext
    workspace: str = ""
    cwd: str = ""


def _setup() -> ReviewerSetup:
    """Return what the configuration says of reviews; its model is loaded only for one that was not checked before."""
    if common.is_unconfigured():
        return ReviewerSetup()
    if (part := common.checked_parts()["reviews"]) is not None:
        with suppress(KeyError, TypeError, ValueError):  # written by nobody but us, but it is a file
            return ReviewerSetup.from_plain(part)
    return ReviewerSetup.of(common.configuration_to_load().config)


def _where(
    setup: ReviewerSetup, profile: Profile | None, workspace: Path | None, home_: Path | None, *, typed: bool
) -> Where:
    """Return the facts about an agent's places as the gate has them; under the strict profile those that are named."""
    if profile == "strict" and home_ is None:
        return Where(ReviewContext())
    context = _facts_of(setup, home_)
    if profile == "strict":
        return Where(context)
    if workspace is not None:
        top = os.path.realpath(workspace)
        return Where(context, top, top)
    here = Path(os.path.realpath(Path.cwd()))
    found = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), None) if typed else None
    return Where(context, str(found), str(here)) if found else Where(context)


def _facts_of(setup: ReviewerSetup, home_: Path | None) -> ReviewContext:
    """Return the context of an agent with this home directory, which need not exist; with this user's if None.

    Chaperon's own paths are those of a daemon that runs with that home, and this user's.
    """
    protected = setup.protected_paths(common.here(), os.environ)
    if home_ is None:
        return ReviewContext(home=str(home(os.environ)), protected=protected)
    there = {name: value for name, value in os.environ.items() if name not in OF_THIS_USER}
    there["HOME"] = str(home_.absolute())
    more = setup.protected_paths(places(there, os.geteuid()), there)
    return ReviewContext(home=there["HOME"], protected=tuple(dict.fromkeys((*protected, *more))))


def review_input(profile: Profile | None, workspace: Path | None, home_: Path | None, *, jsonl: bool) -> None:
    """Review what standard input gives, a line each; raises what a configuration that cannot be used raises."""
    setup = _setup()
    reviewer = make_gate_reviewer(setup, Clock(), profile=profile)
    lines = sys.stdin.buffer if jsonl else map(_as_object, sys.stdin.buffer)
    where = _where(setup, profile, workspace, home_, typed=not jsonl)
    for answer in review_jsonl(lines, reviewer, Clock().nanos, where.context, workspace=where.workspace, cwd=where.cwd):
        if jsonl:
            terminal.echo_line(answer.removesuffix(b"\n"))
        else:
            terminal.echo(_as_text(answer))


def explain_one(
    command: str, profile: Profile | None, workspace: Path | None, home_: Path | None, *, as_json: bool
) -> None:
    """Print how the review of a shell command comes about; raises like `review_input`."""
    setup = _setup()
    where = _where(setup, profile, workspace, home_, typed=True)
    action = Action("Bash", {"command": common.whole_text(command)}, where.cwd, where.workspace)
    step = make_step_reviewer(setup, profile=profile)
    found = explain(step, action, where.context, Clock().nanos)
    found = replace(found, review=make_gate_reviewer(setup, Clock(), step=step).review(action, where.context))
    lacks = [OF_A_RUN] if where.workspace else ["the workspace", OF_A_RUN]
    if as_json:
        stages = [[s.name, s.micros, s.lines] for s in found.stages]
        judged = {"workspace": where.workspace, "home": where.context.home, "lacks": lacks, "stages": stages}
        terminal.echo_json({**as_dict(found.review), **judged})
    else:
        terminal.echo("\n".join(_explained(found)))
        terminal.echo(click.style(_judged(where, lacks), dim=True))


def _judged(where: Where, lacks: list[str]) -> str:
    """Name the surroundings by which an action was judged, and the missing facts of a run."""
    place = f"in the workspace {where.workspace}" if where.workspace else "in no workspace"
    return f"Judged {place}. Not known here: {'; '.join(lacks)}."


def list_rules(command: str | None, *, checks: bool, as_json: bool) -> int:
    """Print the rules, those that match a command, or the examples that do not hold; returns the exit code."""
    setup = _setup()
    own = own_knowledge(setup)
    known = (*own.rules, *RULES)
    if checks:
        broken = [*failures(own), *failures(BUILT_IN)]
        for failure in broken:
            terminal.echo(failure)
        terminal.echo(f"{len(known)} rules, {len(broken)} examples that do not hold.")
        return common.FAILED if broken else 0
    names = set(matching(command, known, own)) if command is not None else None
    found = [rule for rule in listed(known) if names is None or rule["rule"] in names]
    patterns = [_as_listed(rule) for rule in setup.own_rules if command is None or _meant(rule, command)]
    if as_json:
        terminal.echo_json([*patterns, *found])
    else:
        for pattern in patterns:
            told = f"{pattern['decision']}: {pattern['why']}"
            terminal.echo(f"{pattern['rule']:<40} {pattern['risk']:<5} {clean(told, 100)}")
        for rule in found:
            terminal.echo(f"{rule['rule']:<40} {rule['risk']:<5} {clean(rule['why'], 100)}")
        if not found and not patterns:
            terminal.echo("No rule matches. Most commands are judged by what they would touch: see chaperon explain.")
    return 0


def _as_listed(rule: OwnRule) -> dict[str, Any]:
    """A rule of the section `rules`, with the fields of the others and its decision."""
    shown = {"rule": rule.name, "risk": RISKS[rule.decision], "why": rule.reason, "instead": "", "alternative": ""}
    return {**shown, "match": [rule.match], "examples": [], "tool": rule.tool, "decision": rule.decision}


def _meant(rule: OwnRule, command: str) -> bool:
    return matches(rule, Action("Bash", {"command": command}))


def _as_object(line: bytes) -> bytes:
    return orjson.dumps({"command": line.decode(errors="replace").rstrip("\n")}) if line.strip() else b""


def _as_text(answer: bytes) -> str:
    told = orjson.loads(answer)
    if "error" in told:
        return f"error   {clean(told['error'])}"
    decision = click.style(f"{told['decision']:<7}", fg=COLOURS[told["decision"]])
    return f"{decision} {told['risk']:.2f} {told['rule']} {clean(told['reasoning'], 300)}"


def _explained(found: Explanation) -> Iterator[str]:
    for stage in found.stages:
        yield f"{click.style(stage.name, bold=True)} ({duration(stage.micros * MICRO)})"
        yield from (f"  {line}" for line in stage.lines)
    review = found.review
    yield f"{click.style(review.decision, fg=COLOURS[review.decision], bold=True)} risk {review.risk:.2f}, severity {review.severity}"
    yield f"  {review.reasoning}"
