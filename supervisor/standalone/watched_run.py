"""A run of the CLI under a daemon of its own, with a summary, reports, and an exit code."""

import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import orjson

from monitors.contract.errors import ChaperonError
from monitors.contract.wording import counted
from monitors.contract.words import Severity
from supervisor.config.model import Config
from supervisor.config.paths import StatePaths
from supervisor.core.board import Board
from supervisor.protocol.events import AnyEvent
from supervisor.runtime.journal.reader import Cursor
from supervisor.runtime.log import start_log
from supervisor.runtime.processes.find_cli import CliNotStartedError
from supervisor.runtime.service import Setup, run_daemon
from supervisor.standalone.findings import RunFindings
from supervisor.standalone.junit import as_junit
from supervisor.standalone.sarif import as_sarif

ENDING_SECONDS = 10.0
"""How long the end of the CLI's agent is waited for, once the CLI has ended: it is noticed at once, and what is due
then (a checkpoint, what came of the run) takes a second."""

FAILED_BY_FINDINGS = 4
"""The exit code of a run whose CLI succeeded, and that was not watched or had an incident as severe as was named."""


class ReportFolderError(ChaperonError):
    """The folder for reports cannot be used."""


BY_SIGNAL = 128
"""A CLI that a signal ended: the exit code is this and the signal's number, as a shell has it."""


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """A run of the CLI, and how it is reported.

    Args:
        path: The CLI.
        make_arguments: Returns its arguments, with hooks that ask the given socket.
        config: The policy.
        tell: Prints a sentence for a person.
        report: The folder that gets the journal and the reports; None: nothing is kept.
        fail_on: The severity of incidents from which on the run fails; None: by the CLI's exit code alone.
    """

    path: str
    make_arguments: Callable[[Path], Sequence[str]]
    config: Config
    tell: Callable[[str], None]
    report: Path | None
    fail_on: Severity | None


def run_watched(wanted: WatchedRun) -> int:
    """Run the CLI under a daemon of its own, and return the exit code.

    Raises:
        ReportFolderError: The folder for reports cannot be made.
        ChaperonError: No daemon could be started; nothing ran.
    """
    if wanted.report is not None:
        _make_folder(wanted.report)
    start_log("error")
    base = Path(tempfile.mkdtemp(prefix="chaperon-"))
    sockets = Path(tempfile.mkdtemp(prefix="chaperon-", dir="/tmp"))  # CI's own folder may be too long for a socket
    places = StatePaths(base / "state", sockets / "run")
    try:
        code = anyio.run(_watched, wanted, places)
        return _report(_read(places.journal), places.journal, wanted, code)
    finally:
        shutil.rmtree(base, ignore_errors=True)
        shutil.rmtree(sockets, ignore_errors=True)


async def _watched(wanted: WatchedRun, places: StatePaths) -> int:
    """Run the CLI with our input, output and terminal, and pass signals on; its exit code."""
    async with (
        run_daemon(Setup(_in_the_clear(wanted.config), places, claims=False, last=True)) as daemon,
        anyio.create_task_group() as tasks,
    ):
        await daemon.answering.wait()
        arguments = wanted.make_arguments(places.hooks_socket)
        try:
            process = await anyio.open_process([wanted.path, *arguments], stdin=None, stdout=None, stderr=None)
        except OSError as error:
            raise CliNotStartedError(wanted.path, error) from error
        tasks.start_soon(_pass_on_signals, process)
        code = await process.wait()
        with anyio.move_on_after(ENDING_SECONDS):
            await _ended(daemon.board, daemon.watchers)
        tasks.cancel_scope.cancel()
    return code if code >= 0 else BY_SIGNAL - code


def _in_the_clear(config: Config) -> Config:
    """Return the policy with a journal in the clear: its folder goes with the run, and the report is a copy."""
    return config.model_copy(update={"audit": config.audit.model_copy(update={"encrypt": False})})


async def _pass_on_signals(process: Any) -> None:
    """Give the CLI the signals that we get. Those of a terminal's keys it has from the terminal itself."""
    by_terminal = os.isatty(0)
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as came:
        async for number in came:
            if not (by_terminal and number is signal.SIGINT):
                process.send_signal(number)


async def _ended(board: Board, watchers: list[Callable[[AnyEvent], None]]) -> None:
    happened = anyio.Event()

    def saw(_event: object) -> None:
        happened.set()

    watchers.append(saw)
    while board.at_work():
        happened = anyio.Event()
        await happened.wait()  # who waits goes on once the event is folded in


def _read(journal: Path) -> RunFindings:
    """Read the journal of the run that ended."""
    run, cursor = RunFindings(), Cursor(journal)
    while taken := cursor.take():
        for line in taken:
            run.take(orjson.loads(line.data))
    return run


def copy_journal(journal: Path, to: Path) -> None:
    """Copy the lines of a journal's files to one file, a part at a time: those of a long run need more than memory."""
    cursor = Cursor(journal)
    with to.open("wb") as file:
        while taken := cursor.take():
            file.writelines(line.data for line in taken)


def _report(run: RunFindings, journal: Path, wanted: WatchedRun, code: int) -> int:
    """Write the reports, print the summary, and return the exit code."""
    failing = run.at_least(wanted.fail_on) if wanted.fail_on is not None else []
    refused = run.calls.total() - run.calls["allow"]
    text = f"{counted(run.calls.total(), 'call')} reviewed, {refused:,} not let through as asked"
    text += f" ({_by(run.calls, 'allow')})" if refused else ""
    total = run.incidents.total()
    text += f"; {counted(total, 'incident')}" + (f" ({_by(run.incidents)})" if total else "") + "."
    wanted.tell(text)
    if not run.agents:
        text = (
            "No hook of the CLI came here, so nothing of this run was watched: see whether settings switch hooks off."
        )
        wanted.tell(text)
    for one in failing[:5]:
        wanted.tell(f"{one.severity}: {one.text}")
    if wanted.report is not None:
        _write(wanted.report, run, journal, wanted.fail_on)
        wanted.tell(f"The journal and the reports are in {wanted.report}.")
    unwatched = wanted.fail_on is not None and not run.agents
    return code or (FAILED_BY_FINDINGS if failing or unwatched else 0)


def _by(counts: Counter[str], *without: str) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in sorted(counts.items()) if name not in without)


def _write(folder: Path, run: RunFindings, journal: Path, fail_on: Severity | None) -> None:

    try:
        copy_journal(journal, folder / "journal.jsonl")
        (folder / "chaperon.sarif").write_bytes(orjson.dumps(as_sarif(run), option=orjson.OPT_INDENT_2))
        (folder / "junit.xml").write_bytes(as_junit(run, fail_on))
    except OSError as error:
        raise ReportFolderError(
            f"The reports cannot be written to {folder} ({error.strerror}); the CLI's work is done.",
            way_out="Name another folder with --report.",
        ) from error


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportFolderError(
            f"The folder {folder} for reports cannot be made ({error.strerror}); nothing was started.",
            way_out="Name another folder with --report.",
        ) from error
