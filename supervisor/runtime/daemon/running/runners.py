"""The runners of agents: each is started with its agent or takes it over, and a failure in it ends that agent alone."""

from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from monitors.contract.progress import Report, unreported
from supervisor.core.board import Board, RecordDamagedError
from supervisor.core.decisions.adoption import FIRST, Found, Todo
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.protocol.commands import Command, WriteEvent
from supervisor.protocol.identity import Identity
from supervisor.protocol.words import AgentState
from supervisor.runtime.attached.link import HookLink
from supervisor.runtime.daemon.running.runner import CommandBatch, Runner
from supervisor.runtime.daemon.running.runner_tools import Tools
from supervisor.runtime.journal.journal import JournalError
from supervisor.runtime.log import log
from supervisor.runtime.processes.adoption import Adopted, AdoptionFinding, find
from supervisor.runtime.processes.agent_link import AgentLink
from supervisor.runtime.processes.leftovers import end_by_hand, nobody_left

E = TypeVar("E", bound=events.AnyEvent)

RETRY_SECONDS = 1.0
"""Between two attempts to reach a shim that does not answer: the attempt itself waits ten seconds."""


class Runners:
    """The runners of all live agents.

    Args:
        board: The sessions.
        tools: The parts of the daemon that every runner uses.
        tasks: Runs them.
        journal: Journals an event without deciding anything, and returns its sequence number.
        again: The link of an attached agent that an earlier daemon left; None for one that was launched.
        over: What is due once an agent has ended.
        directory: The directory of a launch of an agent, by its number.
    """

    def __init__(
        self,
        board: Board,
        tools: Tools,
        tasks: TaskGroup,
        journal: Callable[[events.AnyEvent], int],
        again: Callable[[Session], HookLink | None],
        over: Callable[[str], Awaitable[None]],
        directory: Callable[[str, int], Path],
    ) -> None:
        self.adopted = Adopted()
        self._board = board
        self._tools = tools
        self._tasks = tasks
        self._journal = journal
        self._again = again
        self._over = over
        self._launch_directory = directory
        self._of: dict[str, Runner] = {}
        self._silent: set[str] = set()

    def get(self, agent: str) -> Runner | None:
        """Return the runner of an agent; None if it has none."""
        return self._of.get(agent)

    def without(self, agents: Collection[str]) -> list[str]:
        """Those of live agents that have no runner, of which there should be none."""
        return [agent for agent in agents if agent not in self._of and agent not in self._silent]

    def hand_over(self, agent: str, seq: int, commands: list[Command]) -> None:
        """Have the commands of an agent's session performed once the journal has what led to them."""
        last = seq
        for command in commands:
            if isinstance(command, WriteEvent):
                last = self._journal(command.event)
        runner, error = self._of.get(agent), self._board.failed.get(agent)
        if runner is not None and (commands or error):
            runner.perform(CommandBatch(last, commands, error))

    def start(
        self,
        agent: str,
        shim: AgentLink | None = None,
        offset: int = 0,
        held: str = "",
        errors: int = 0,
        identity: Identity | None = None,
    ) -> Runner:
        """Start the runner of an agent, from where an earlier one read its output."""
        ended = lambda: self._board.summary(agent).state.ended  # noqa: E731 - one line of an argument
        runner = Runner(agent, self._tools, ended, offset, shim, held, errors, identity)
        self._of[agent] = runner
        self._tasks.start_soon(self._keep, runner, name=f"agent {agent}")
        return runner

    async def _keep(self, runner: Runner) -> None:
        """Run one agent's runner; a failure in it ends that agent and no other."""
        try:
            await runner.run()
            await self._over(runner.agent)
        except* JournalError:
            raise  # without a journal nothing may go on: the daemon ends, agents wait, the next start adopts them
        except* Exception as errors:  # noqa: BLE001 - whatever failed, the other agents must not suffer it
            log.exception("the runner of %s failed", runner.agent)
            await self._give_up(runner, repr(errors.exceptions[0]))
        finally:
            self._of.pop(runner.agent, None)
            runner.close()

    async def _give_up(self, runner: Runner, why: str) -> None:
        """End the agent whose runner or session failed, whatever else fails."""
        agent = runner.agent
        type_, cause = "runner_failed", "Chaperon failed while it watched over agent"
        way_out = "Please report this; the log has the traceback."
        if isinstance(damaged := self._board.failed.get(agent), RecordDamagedError):
            type_, cause, why, way_out = "record_damaged", "Nobody can watch over agent", damaged.what, damaged.way_out
        if self._board.summary(agent).state.ended:
            fate = "It had ended before."
        else:
            gone = await self._end_at_once(runner, why)
            fate = "Its processes were ended." if gone else "Its processes could not be ended: see ps, and end them."
        self._tools.fault(agent, type_, f"{cause} {agent}: {why}. {fate}", way_out=way_out)
        before = self._board.summary(agent).state
        if not before.ended:  # its session fails as well, and would at every start
            why = f"chaperon failed: {why}"
            gone_for_good = events.StateChanged(
                **self._tools.clock.stamp(agent), before=before, after=AgentState.LOST, why=why
            )
            self._journal(gone_for_good)
            self._board.abandon(gone_for_good)

    async def _end_at_once(self, runner: Runner, why: str) -> bool:
        """End an agent's processes after a failure of our own; whether they are known to have gone."""
        session = self._board.session(runner.agent)
        directory, identity = self._directory(session), session.identity
        try:
            return await runner.give_up(why) or await anyio.to_thread.run_sync(nobody_left, directory, identity)
        except JournalError:
            raise
        except Exception:  # noqa: BLE001 - what failed once may fail again, and the agent must be written off all the same
            log.exception("agent %s could not be ended", runner.agent)
            return False

    # ── adoption ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def adopt_all(self, report: Report = unreported) -> Adopted:
        """Take over every agent that was live when the daemon before this one ended; returns once each is found.

        Args:
            report: Told how many were found, whatever came of them.
        """
        sessions = list(self._board.live())
        self.adopted.found = len(sessions)
        passed = 0

        async def find_one(session: Session) -> None:
            nonlocal passed
            await self._find(session)
            passed += 1
            report(passed, len(sessions))

        async with anyio.create_task_group() as finding:  # one that answers late holds up no other
            for session in sessions:
                finding.start_soon(find_one, session, name=f"finding {session.summary.agent}")
        return self.adopted

    async def _find(self, session: Session) -> None:
        agent = session.summary.agent
        try:
            link = self._again(session)
            finding = (
                await find(session, self._directory(session)) if link is None else AdoptionFinding("reattached", link)
            )
        except Exception as error:  # noqa: BLE001 - what one agent left must not keep the daemon from starting
            self.adopted.count("lost")
            self.start(agent).perform(CommandBatch(0, (), error))
            return
        self.adopted.count(finding.outcome)
        if finding.outcome == "silent":
            self._silent.add(agent)
            self._tasks.start_soon(self._try_again, session, name=f"silent {agent}")
        else:
            self._adopt(session, finding)

    async def _try_again(self, session: Session) -> None:
        """Ask a shim that does not answer until it does, or is gone."""
        agent = session.summary.agent
        what = f"The process that holds the CLI of agent {agent} does not answer. It is asked again until it does; the agent waits."
        self._tools.fault(
            agent,
            "shim_silent",
            what,
            way_out=f"If that lasts, look into shim.log in {self._directory(session)}; killing that process ends the agent.",
        )
        finding = AdoptionFinding("silent")
        while finding.outcome == "silent":
            await anyio.sleep(RETRY_SECONDS)
            if session.state is AgentState.STOPPING:  # nobody else is there to end it
                await end_by_hand(session.identity, self._directory(session))
            finding = await find(session, self._directory(session))
        self._adopt(session, finding)
        self._silent.discard(agent)

    def _adopt(self, session: Session, finding: AdoptionFinding) -> None:
        agent = session.summary.agent
        held = session.summary.containment, session.errors_offset, session.identity
        runner = self.start(agent, finding.shim, session.offset, *held)
        log.info("agent %s: %s", agent, finding.outcome)
        first = FIRST[finding.outcome]
        if Todo.SAY_IT_RUNS in first and finding.shim is not None and not session.launched:
            runner.launched(finding.shim, session.launch_number)
        seq, event = self._note_adoption(agent, finding.outcome)
        if Todo.READ in first:  # on a full disk it waits for room, and the start must not
            rest = runner, session, finding.replaced, seq, event
            self._tasks.start_soon(self._read_first, *rest, name=f"rest of {agent}")
        else:
            self.hand_over(agent, seq, self._board.recover(seq, event))

    async def _read_first(
        self, runner: Runner, session: Session, replaced: str, seq: int, event: events.AgentAdopted
    ) -> None:
        """Read what an agent left, before what is due for it is done."""
        try:
            await runner.read_what_is_left(self._directory(session), replaced)
        except JournalError:
            raise
        except Exception as error:  # noqa: BLE001 - what one agent left must not end the daemon
            runner.perform(CommandBatch(0, (), error))
        else:
            self.hand_over(event.agent, seq, self._board.recover(seq, event))

    def _note_adoption(self, agent: str, outcome: Found) -> tuple[int, events.AgentAdopted]:
        return self.note(
            events.AgentAdopted(**self._tools.clock.stamp(agent), outcome=outcome, boot_id=self._tools.clock.boot_id())
        )

    def note(self, event: E) -> tuple[int, E]:
        """Journal an event and fold it in without deciding anything; returns it with its number."""
        seq = self._journal(event)
        self._board.remember(seq, event)
        return seq, event

    def reattached(self, agent: str) -> None:
        """Have a session ask again for what is due, after the connection to its shim was lost and made anew."""
        seq, event = self._note_adoption(agent, "reattached")
        self.hand_over(agent, seq, self._board.recover(seq, event))

    def _directory(self, session: Session) -> Path:
        return self._launch_directory(session.summary.agent, session.launch_number)
