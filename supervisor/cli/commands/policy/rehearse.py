"""The commands that play scenarios to the real CLI: rehearse, and demo, which is one of them."""

import shutil
import signal
import tempfile
from collections.abc import Callable, Sequence
from os import environ
from pathlib import Path

import anyio
import click

from supervisor.cli import common, terminal
from supervisor.cli.commands.agents.view import View
from supervisor.cli.following import told
from supervisor.config.paths import data_home
from supervisor.rehearsal.check import CheckFinding, RehearsalOutcome
from supervisor.rehearsal.scenario import Scenario, find, load, shipped


@click.command()
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option("--keep", is_flag=True, help="Keep the scratch directory, and say where it is.")
@common.json_option
def rehearse(scenario: Path, keep: bool, as_json: bool) -> None:
    """Play SCENARIO (a file, or the name of one that comes with chaperon) to the real CLI and check what it expects.

    A scripted model on loopback answers the CLI; no account is reached. Exit code 0 where everything is as expected.
    """

    def work() -> int:
        path = find(str(scenario))
        return anyio.run(_play, load(path), str(path.absolute().parent), keep, as_json)

    common.run(work)


@click.command()
@click.option("--keep", is_flag=True, help="Keep the scratch directory, and say where it is.")
def demo(keep: bool) -> None:
    """Watch chaperon at work: a real CLI is warned, corrected, blocked and stopped. Needs nothing configured."""

    def work() -> int:
        terminal.echo(
            "A real Claude CLI in a scratch repository, a scripted model on loopback, and chaperon between them."
        )
        path = shipped()["demo"]
        return anyio.run(_play, load(path), str(path.parent), keep, False)

    common.run(work)


async def _play(scenario: Scenario, directory: str, keep: bool, as_json: bool) -> int:
    from supervisor.rehearsal.run import rehearse as play  # the daemon's imports, which `--help` should not pay

    base = _scratch_directory()
    ended_by: list[signal.Signals] = []

    async def end_on_signal() -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as signals:
            async for one in signals:
                ended_by.append(one)
                tasks.cancel_scope.cancel()

    try:
        watch = (lambda _line: None) if as_json else _shower()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end_on_signal, name="signals")
            outcome, findings = await play(scenario, base, watch, directory=directory)
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
        terminal.echo_json(_as_json(scenario, outcome, findings))
    else:
        _tell(scenario, findings)
    return common.FAILED if failed else 0


def _scratch_directory() -> Path:
    """Make a new directory among the user's data.

    Deletions in /tmp or a cache would be reviewed as harmless.
    """
    parent = data_home(environ) / "chaperon"
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="rehearsal-", dir=parent))


def _shower() -> Callable[[bytes], None]:
    """Return a function that prints lines of the journal for people."""
    view = View(width=terminal.width())

    def show(line: bytes) -> None:
        for one in told([line]):
            for text in view.lines(one.record):
                terminal.echo(text)

    return show


def _tell(scenario: Scenario, findings: Sequence[CheckFinding]) -> None:
    for finding in findings:
        mark = click.style("not as expected", fg="red") if finding.fails else "note"
        terminal.echo(f"{mark}: {finding.place}: {finding.says}")
    if not any(finding.fails for finding in findings):
        terminal.echo(click.style(f"{scenario.name}: everything as expected.", fg="green"))


def _as_json(scenario: Scenario, outcome: RehearsalOutcome, findings: Sequence[CheckFinding]) -> dict[str, object]:
    return {
        "scenario": scenario.name,
        "passed": not any(finding.fails for finding in findings),
        "findings": [{"place": one.place, "says": one.says, "fails": one.fails} for one in findings],
        "state": outcome.state,
        "decisions": {call: review.decision for call, review in outcome.reviews.items()},
        "steps": [
            {"step": step, "call": number, "id": id_, "decision": review.decision, "rule": review.rule}
            for id_, (step, number) in scenario.calls().items()
            if (review := outcome.reviews.get(id_)) is not None
        ],
        "incidents": [incident.id for incident in outcome.incidents],
    }
