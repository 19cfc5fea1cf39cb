"""Looking at the process trees of all live agents, in one pass every few seconds, and telling their sessions.

The pass runs in a worker thread: it asks the kernel some questions about each process, about 0.05 ms each, and the
event loop must answer reviews meanwhile. The journal gets a look only where it tells something new.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread

from supervisor.core.board import Board
from supervisor.protocol.events import AnyEvent, ResourcesSeen
from supervisor.runtime.clock import Clock
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.log import log
from supervisor.runtime.processes.bounds.cgroups import group_in
from supervisor.runtime.processes.bounds.resources import Figures, Sampler
from supervisor.runtime.shim import process_tree

EVERY_SECONDS = 5.0
"""Time between two passes. Memory that doubles every 5 s reaches 4 GiB from 256 MiB in 20 s, so a spiral is seen
while it can still be answered, and fifty agents of ten processes cost about a hundredth of one core."""

CHANGED = 0.1
"""Share by which a figure must differ from its last report to be reported at once: a detector of growth by the half
sees every step of it, and the steady breathing of a garbage collector is not journalled."""

AT_LEAST_EVERY_SECONDS = 30.0
"""Time after which a sample is reported in any case, so that time limits are noticed in an agent that does nothing:
at 300 bytes an event, an idle agent costs the journal less than 1 MB a day."""

DISK_EVERY_SECONDS = 300.0
"""Between two looks at the size of a workspace, which takes a second for 100,000 files; one workspace a pass."""

FLOORS = {"memory_mb": 32.0, "processes": 2.0, "open_files": 50.0}
"""The figures that count as change, and the least difference of each that does: an idle CLI varies by less."""


@dataclass(frozen=True, slots=True)
class Target:
    """An agent to look at."""

    agent: str
    root_pid: int
    """The process above the agent's."""
    spare_root: bool
    """Whether that one is not the agent's, but its shim."""
    cgroup: Path | None
    workspace: Path | None
    """The workspace, if its size is wanted this time."""


@dataclass(slots=True)
class _Watched:
    """The samples of one agent."""

    sampler: Sampler = field(default_factory=Sampler)
    told: Figures | None = None
    told_at: float = 0.0
    disk_at: float = float("-inf")
    disk_mb: float = 0.0


class Sampling:
    """Samples process trees repeatedly, for as long as its task lives.

    Args:
        board: The agents that are looked at.
        journal: Says whether it takes events.
        operations: Says how many files were written, moved or deleted in a workspace.
        happened: Takes in what is new.
        clock: Tells the time that events carry.
        every_seconds: Between two passes.
    """

    def __init__(
        self,
        board: Board,
        journal: Journal,
        operations: Callable[[str], int],
        happened: Callable[[AnyEvent], object],
        clock: Clock,
        every_seconds: float = EVERY_SECONDS,
    ) -> None:
        self._board = board
        self._journal = journal
        self._operations = operations
        self._happened = happened
        self._clock = clock
        self._every_seconds = every_seconds
        self._watched: dict[str, _Watched] = {}

    async def run(self) -> None:
        """Look until cancelled. A look that fails is logged, and the next one is taken."""
        while True:
            await anyio.sleep(self._every_seconds)
            if self._journal.accepting:
                await self.look()

    async def look(self) -> None:
        """Look at every agent once, and tell what is new."""
        found = await anyio.to_thread.run_sync(self._pass, self._targets())
        for agent, figures in found.items():
            self._tell(agent, figures)
            await anyio.lowlevel.checkpoint()  # a thousand at once would hold up the gate for a second

    def _targets(self) -> list[Target]:
        """Every agent that runs; what ended is forgotten."""
        now = self._clock.mono()
        live = {
            session.summary.agent: session.summary
            for session in self._board.live()
            if session.launched and not session.processes_ended
        }
        self._watched = {agent: self._watched.get(agent, _Watched()) for agent in live}
        stalest = min(live, key=lambda agent: self._watched[agent].disk_at, default="")
        targets = []
        for agent, summary in live.items():
            weigh = agent == stalest and now - self._watched[agent].disk_at >= DISK_EVERY_SECONDS
            if weigh:
                self._watched[agent].disk_at = now
            group = group_in(summary.containment)
            workspace = Path(summary.workspace) if weigh else None
            targets.append(
                Target(agent, summary.root_pid, not summary.origin, Path(group) if group else None, workspace)
            )
        return targets

    def _pass(self, targets: list[Target]) -> Mapping[str, Figures]:
        """Look at each. Blocks.

        Who is whose child is looked up once for all that have no control group: a look for each of a thousand agents
        took 40 s of processor.
        """
        found: dict[str, Figures] = {}
        try:
            table = process_tree.all_children() if any(target.cgroup is None for target in targets) else None
        except OSError as error:
            log.warning("the machine's processes could not be looked at (%s); it is tried again", error)
            return found
        for target in targets:
            sampler = self._watched[target.agent].sampler
            try:
                found[target.agent] = sampler.sample(
                    target.root_pid, target.cgroup, target.workspace, spare_root=target.spare_root, table=table
                )
            except (OSError, ValueError, LookupError) as error:
                log.warning("the processes of %s could not be looked at (%r); it is tried again", target.agent, error)
        return found

    def _tell(self, agent: str, figures: Figures) -> None:
        """Tell the session, where it still lives and the look says something new."""
        watched, now = self._watched[agent], self._clock.mono()
        watched.disk_mb = figures.disk_mb or watched.disk_mb
        session = self._board.find(agent)
        alive = session is not None and session.launched and not session.processes_ended
        if not alive or not figures.processes or not self._is_news(watched, figures, now):
            return
        watched.told, watched.told_at = figures, now
        operations = self._operations(self._board.summary(agent).workspace)
        self._happened(
            ResourcesSeen(
                **self._clock.stamp(agent),
                memory_mb=figures.memory_mb,
                cpu_seconds=figures.cpu_seconds,
                processes=figures.processes,
                open_files=figures.open_files,
                io_bytes=figures.io_bytes,
                disk_mb=watched.disk_mb,
                file_operations=operations,
            )
        )

    @staticmethod
    def _is_news(watched: _Watched, figures: Figures, now: float) -> bool:
        told = watched.told
        if told is None or now - watched.told_at >= AT_LEAST_EVERY_SECONDS:
            return True
        return any(
            abs(getattr(figures, name) - getattr(told, name)) >= max(least, CHANGED * getattr(told, name))
            for name, least in FLOORS.items()
        )
