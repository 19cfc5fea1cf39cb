"""Plays of scenarios to the real CLI: what `chaperon rehearse` and `chaperon demo` do."""

import shutil
import signal
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from os import environ
from pathlib import Path

import anyio
import click

from monitors.contract.progress import Report
from supervisor.cli import common
from supervisor.cli.following import readable
from supervisor.cli.output import terminal
from supervisor.cli.output.progress import shown
from supervisor.cli.output.view import View
from supervisor.config.paths import PlaceError, data_home
from supervisor.rehearsal.check import CheckFinding, RehearsalOutcome
from supervisor.rehearsal.fleets.fleet_run import rehearse_fleet
from supervisor.rehearsal.fleets.fleet_scenario import FleetScenario, is_fleet, load_fleet, shipped_fleets
from supervisor.rehearsal.run import rehearse as play
from supervisor.rehearsal.scenario import Scenario, find, load


def run_rehearsal(scenario: str, keep: bool, as_json: bool) -> int:
    """Play a scenario as `chaperon rehearse` is told to; return its exit code.

    Args:
        scenario: Its file, or the name of one that comes with chaperon.
        keep: Whether its scratch directory stays.
        as_json: Whether the outcome is printed as JSON.
    """
    path = find(scenario, shipped_fleets())
    if is_fleet(path):
        return anyio.run(play_out, partial(_fleet, load_fleet(path)), keep, as_json)
    return anyio.run(play_out, partial(_one, load(path), str(path.absolute().parent)), keep, as_json)


Watch = Callable[[bytes], object]

REVIEWED = b'"kind":"review_made"'
"""In the journal's line of each reviewed call."""

Played = tuple[dict[str, object], Sequence[CheckFinding]]
"""The outcome of a rehearsal as JSON without its findings, and these."""


async def _one(scenario: Scenario, directory: str, base: Path, watch: Watch, _quiet: bool) -> Played:
    outcome, findings = await play(scenario, base, watch, directory=directory)
    return _as_json(scenario, outcome), findings


async def _fleet(fleet: FleetScenario, base: Path, watch: Watch, quiet: bool) -> Played:
    tell = (lambda _text: None) if quiet else terminal.echo
    outcome, findings = await rehearse_fleet(fleet, base, watch, tell=tell)
    told = {"tasks": dict(outcome.tasks), "agents": outcome.agents, "events": outcome.events}
    return {"scenario": fleet.name, **told}, findings


async def play_out(play: Callable[[Path, Watch, bool], Awaitable[Played]], keep: bool, as_json: bool) -> int:
    """Play in a scratch directory, show what happens or how far it is, and print the outcome; returns the exit code."""
    base = _scratch_directory()
    ended_by: list[signal.Signals] = []

    async def end_on_signal() -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as signals:
            async for one in signals:
                ended_by.append(one)
                tasks.cancel_scope.cancel()

    try:
        with shown("rehearsing", "", "call", quiet=not as_json) as report:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(end_on_signal, name="signals")
                told, findings = await play(base, _counter(report) if as_json else _shower(), as_json)
                tasks.cancel_scope.cancel()
        if ended_by:
            terminal.echo(f"Ended by {ended_by[0].name}; its agent was ended with it.", err=True)
            return common.BY_SIGNAL + ended_by[0]
    finally:
        if keep:
            terminal.echo(f"Kept: {base}", err=True)
        else:
            shutil.rmtree(base, ignore_errors=True)
    failed = any(finding.fails for finding in findings)
    if as_json:
        listed = [{"place": one.place, "says": one.says, "fails": one.fails} for one in findings]
        terminal.echo_json({**told, "passed": not failed, "findings": listed})
    else:
        _tell(str(told["scenario"]), findings)
    return common.FAILED if failed else 0


def _scratch_directory() -> Path:
    """Make a new directory among the user's data.

    Deletions in /tmp or a cache would be reviewed as harmless.

    Raises:
        PlaceError: It cannot be made.
    """
    parent = (data_home(environ) / "chaperon").absolute()
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="rehearsal-", dir=parent))
    except OSError as error:
        raise PlaceError(
            f"No scratch directory can be made in {str(parent)!r} ({error.strerror}), so nothing was played.",
            way_out="Mend that, or set XDG_DATA_HOME to a directory of your own.",
        ) from error


def _shower() -> Callable[[bytes], None]:
    """Return a function that prints lines of the journal for people."""
    view = View(width=terminal.width())

    def show(line: bytes) -> None:
        for one in readable([line]):
            for text in view.lines(one.record):
                terminal.echo(text)

    return show


def _counter(report: Report) -> Watch:
    """Return a function that reports how many calls were reviewed by lines of the journal."""
    reviewed = 0

    def count(line: bytes) -> None:
        nonlocal reviewed
        reviewed += REVIEWED in line
        report(reviewed, None)

    return count


def _tell(scenario: str, findings: Sequence[CheckFinding]) -> None:
    for finding in findings:
        mark = click.style("not as expected", fg="red") if finding.fails else "note"
        terminal.echo(f"{mark}: {finding.place}: {finding.says}")
    if not any(finding.fails for finding in findings):
        terminal.echo(click.style(f"{scenario}: everything as expected.", fg="green"))


def _as_json(scenario: Scenario, outcome: RehearsalOutcome) -> dict[str, object]:
    return {
        "scenario": scenario.name,
        "state": outcome.state,
        "decisions": {call: review.decision for call, review in outcome.reviews.items()},
        "steps": [
            {"step": step, "call": number, "id": id_, "decision": review.decision, "rule": review.rule}
            for id_, (step, number) in scenario.calls().items()
            if (review := outcome.reviews.get(id_)) is not None
        ],
        "incidents": [incident.id for incident in outcome.incidents],
    }
