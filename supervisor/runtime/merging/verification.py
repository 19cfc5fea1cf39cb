"""The check of an agent's work by a command, which chaperon runs itself and believes instead of the agent.

The command is a shell's line. It runs in the agent's containment, without the keys of the model's API, for a bounded
time, and the end of its output is kept. All that it leaves running is ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from interventions import sanitise
from monitors.contract.errors import ChaperonError
from monitors.contract.tasks import Limits
from supervisor.protocol.merges import CheckOutcome, CheckResult
from supervisor.protocol.plain import harmless
from supervisor.runtime.processes.contained import ContainedCommand, ContainedResult, run_contained
from supervisor.runtime.processes.launcher import Holding, ProcessLauncher
from supervisor.runtime.sandbox.sandboxes import LaunchSite
from supervisor.runtime.shim.enter import NOT_STARTED
from supervisor.runtime.shim.process_tree import now

OUTPUT_BYTES = 8_000
"""Kept of the end of the output: three screens, in which test runners put their summary. A model reads it for 2,000
tokens."""

SHELL = "/bin/sh"

MOST_LEFT = 10
"""Processes that are named of those that outlived a check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check to be made."""

    name: str
    """Names the run: letters, digits, hyphens and underscores. Example: `a1`."""
    command: str
    """A line for the shell. Example: `make test`."""
    folder: str
    """Its working directory."""
    seconds: float
    project: str = ""
    """The main worktree of the repository, whose objects it reads; empty for the folder itself."""
    limits: Limits
    """Limits of the task, whose memory bounds the check's control group."""
    facts: Mapping[str, str]
    """Further variables of its environment."""


class Verifier:
    """Runs checks.

    Args:
        launcher: Holds agents, and so the checks of their work.
        notes: The folder where running checks are noted.
    """

    def __init__(self, launcher: ProcessLauncher, notes: Path) -> None:
        self._launcher = launcher
        self.notes = notes

    async def run(self, check: Check) -> CheckResult:
        """Run one check to its end, or to the end of its time.

        If it cannot be started, the result says so.
        """
        name = f"verify:{check.name}"  # no agent has a name with a colon
        started = now()
        try:
            held = await anyio.to_thread.run_sync(self._launcher.hold, name, check.limits, self._site(check))
            try:
                done = await run_contained(_command(name, check, held), self.notes)
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(held.release)
        except (OSError, ChaperonError) as error:
            why = f"It could not be started: {error}."
            return CheckResult(check.command, CheckOutcome.NOT_STARTED, None, now() - started, why)
        return _result(check, done, now() - started)

    def _site(self, check: Check) -> LaunchSite:
        folder, own = Path(check.folder), self._launcher.own_folders.with_name("verifying") / "claude"
        return LaunchSite(SHELL, folder, Path(check.project or folder), own, dict(check.facts))


def _command(name: str, check: Check, held: Holding) -> ContainedCommand:
    return ContainedCommand(
        name=name,
        argv=[*held.argv, "-c", check.command],
        folder=check.folder,
        environment=held.environment,
        seconds=check.seconds,
        output_bytes=OUTPUT_BYTES,
        cgroup=held.cgroup,
    )


def _result(check: Check, done: ContainedResult, seconds: float) -> CheckResult:
    code = done.child.code
    outcome = CheckOutcome.FAILED
    if code is None:
        outcome = CheckOutcome.TIMED_OUT
    elif code == 0:
        outcome = CheckOutcome.PASSED
    elif code == NOT_STARTED and done.child.output.startswith(b"Could not "):
        outcome = CheckOutcome.NOT_STARTED
    output = sanitise.text(harmless(done.child.output.decode(errors="replace").strip()))
    return CheckResult(check.command, outcome, code, round(seconds, 3), output, done.left.ended[:MOST_LEFT])
