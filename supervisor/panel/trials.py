"""Trials: a scenario rehearsed, or a change of the policy tried against recorded runs. Nothing that runs is touched.

Each is the command that a person would type, as a process of its own beside the panel. One runs at a time.
"""

import os
import signal
import sys
import tempfile
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from monitors.contract import anyjson
from monitors.contract.errors import NotFoundError, UsageError
from supervisor.panel.link import PanelLink
from supervisor.runtime.clock import Clock

MOST_KEPT = 20
"""Trials whose outcome is kept, the latest."""

MOST_OUTPUT = 32 * 2**20
"""Bytes of what a trial prints that are kept."""

LONGEST_LINE = 400
"""Characters of its last line about how far it is."""

MOST_LINES = 30
"""Lines of its standard error that are kept: the faults of a policy that is wrong."""

DAY = 86_400.0


@dataclass(slots=True)
class Trial:
    """One trial."""

    id: str
    kind: str
    """`replay` or `rehearse`."""
    subject: str
    """The policy that is tried, or the scenario."""
    began: float
    """Unix time in seconds."""
    ended: float | None = None
    code: int | None = None
    """The exit code of its command; None while it runs."""
    said: str = ""
    """Its last line about how far it is, or why it failed."""
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_LINES))
    """The last lines of its standard error: why it failed, if it did."""
    output: bytearray = field(default_factory=bytearray)
    cut: bool = False
    """Whether it printed more than was kept."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @property
    def results(self) -> list[dict[str, Any]]:
        """The objects that its command printed."""
        found = []
        for line in bytes(self.output).split(b"\n"):
            with suppress(ValueError):
                one = anyjson.decode(line) if line.strip() else None
                if isinstance(one, dict):
                    found.append(one)
        if not found:
            with suppress(ValueError):
                whole = anyjson.decode(bytes(self.output) or b"null")
                return [whole] if isinstance(whole, dict) else []
        return found


class Trials:
    """Starts trials and keeps what came of them.

    Args:
        link: The daemon, whose journal is replayed.
    """

    def __init__(self, link: PanelLink) -> None:
        self._link, self._clock = link, Clock()
        self._kept: dict[str, Trial] = {}
        self._last = 0
        self._tasks: anyio.abc.TaskGroup | None = None

    async def run(self) -> None:
        """Serve until cancelled; a trial that runs is ended with it."""
        async with anyio.create_task_group() as self._tasks:
            await anyio.sleep_forever()

    def all(self) -> list[Trial]:
        """Return those that are kept, the latest first."""
        return list(self._kept.values())[::-1]

    def get(self, id_: str) -> Trial:
        """Return one; raises NotFoundError if it is not kept."""
        if id_ not in self._kept:
            raise NotFoundError(f"There is no trial {id_!r}.", way_out="The page of trials lists those that are kept.")
        return self._kept[id_]

    def cancel(self, id_: str) -> Trial:
        """End one that runs; raises NotFoundError like `get`."""
        trial = self.get(id_)
        trial.scope.cancel()
        return trial

    def replay(self, policy: str, days: float | None) -> Trial:
        """Try keys of a policy against the runs that the journal has.

        Args:
            policy: Its keys as YAML; over those of the machine and the user.
            days: How old the runs may be; None for all.

        Raises:
            UsageError: There is nothing to try, or another trial runs.
        """
        if not policy.strip():
            raise UsageError("There is nothing to try: the policy is empty. Nothing was started.")
        trial = self._new("replay", policy)
        self._start(trial, lambda folder: self._replay(trial, folder, policy, days))
        return trial

    def rehearse(self, scenario: str) -> Trial:
        """Play a scenario to the real CLI under its policy; raises UsageError like `replay`."""
        if not scenario.strip() or scenario.startswith("-"):
            raise UsageError("No scenario is named: give the name of one that comes with chaperon, or a path.")
        trial = self._new("rehearse", scenario.strip())
        self._start(trial, lambda _folder: self._command(trial, ["rehearse", trial.subject, "--json"]))
        return trial

    def _new(self, kind: str, subject: str) -> Trial:
        if any(one.code is None for one in self._kept.values()):
            raise UsageError("Another trial runs; nothing was started. Wait for its end, or end it.")
        if self._tasks is None:
            raise UsageError("The panel does not serve yet; nothing was started. Try again.")
        self._last += 1
        trial = Trial(f"{kind}-{self._last}", kind, subject, self._clock.wall())
        self._kept[trial.id] = trial
        while len(self._kept) > MOST_KEPT:
            self._kept.pop(next(iter(self._kept)))
        return trial

    def _start(self, trial: Trial, work: Any) -> None:
        async def run() -> None:
            try:
                with trial.scope, tempfile.TemporaryDirectory(prefix="chaperon-trial-") as folder:
                    await work(Path(folder))
                if trial.scope.cancelled_caught:
                    trial.said = "It was ended before it was through."
            except Exception as error:  # noqa: BLE001 - told on its page; the panel goes on
                trial.said = f"{type(error).__name__}: {error}"[:LONGEST_LINE]
            finally:
                trial.ended = self._clock.wall()
                trial.code = 1 if trial.code is None else trial.code

        assert self._tasks is not None
        self._tasks.start_soon(run, name=trial.id)

    async def _replay(self, trial: Trial, folder: Path, policy: str, days: float | None) -> None:
        tried, journal = folder / "policy.yaml", folder / "journal"
        await anyio.to_thread.run_sync(tried.write_text, policy)
        trial.said = "reading the journal"
        since = 0.0 if days is None else self._clock.wall() - days * DAY
        await self._link.ask(lambda daemon: _fetch(daemon.lines("/v1/events", since=since), journal))
        await self._command(trial, ["replay", str(journal), "--against", str(tried), "--json", "--progress"])

    async def _command(self, trial: Trial, words: Sequence[str]) -> None:
        command = [sys.executable, "-m", "supervisor.cli", *words]
        async with await anyio.open_process(command, stdin=-3, start_new_session=True) as process:  # -3: /dev/null
            try:
                async with anyio.create_task_group() as reading:
                    reading.start_soon(self._listen, trial, process)
                    assert process.stdout is not None
                    async for part in process.stdout:
                        room = MOST_OUTPUT - len(trial.output)
                        trial.output += part[:room]
                        trial.cut = trial.cut or len(part) > room
                trial.code = await process.wait()
            finally:
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGTERM)
                    with anyio.CancelScope(shield=True), anyio.move_on_after(10):
                        await process.wait()

    async def _listen(self, trial: Trial, process: anyio.abc.Process) -> None:
        assert process.stderr is not None
        rest = b""
        async for part in process.stderr:
            *lines, rest = (rest + part)[-MOST_OUTPUT:].split(b"\n")
            for line in filter(None, lines):
                trial.said = line.decode(errors="replace")[:LONGEST_LINE]
                trial.lines.append(trial.said)


def _fetch(lines: Any, into: Path) -> None:
    """Write the lines of the journal into a folder of their own, as a daemon keeps them."""
    into.mkdir()
    with (into / "00000000000000000001.jsonl").open("wb") as file:
        for line in lines:
            file.write(line + b"\n")
