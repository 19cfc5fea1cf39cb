"""A whole chaperon without processes: the real board, sessions, detectors and controllers; simulated CLIs, clock and faults.

One seed makes one world, always the same. Faults: launches that fail, agents that die or vanish, a daemon that is killed
between two records of the journal and starts again from it, rollbacks that fail, a clock that jumps ahead, late timers.
"""

import heapq
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from interventions.approval import ApprovalSettings
from interventions.choice.controller import Controller
from interventions.settings import InterventionSettings, StrategySettings
from monitors.contract.actions import Action, Review, ReviewContext
from monitors.contract.issues import Detector, Issue
from monitors.contract.observations import Observation, ToolReturned
from monitors.contract.tasks import Task
from monitors.contract.words import Decision, Severity
from monitors.detectors import DetectorSettings, make_detectors
from supervisor.core.board import Board
from supervisor.core.decisions.adoption import Found
from supervisor.core.decisions.decide import AgentSurroundings, SessionSettings
from supervisor.core.session import Session
from supervisor.protocol import commands as do
from supervisor.protocol import events
from supervisor.testing.samples import MOMENT, Moments
from tests.simulation.cli import Cli
from tests.simulation.minds import Mind

MOST_EVENTS = 4_000
"""Events of one world before a person stops all that still runs; a usual one has a few hundred."""

TYPES = ("repetitive_errors", "scope_creep", "resource_spiral", "goal_drift", "text_loop", "no_progress", "of_a_plugin")


class Dice:
    """A detector that raises, worsens and closes issues by chance: harder on the controller than any real run."""

    name = "dice"

    def __init__(self, seed: str) -> None:
        self._rng = Random(seed)
        self._open: dict[str, Issue] = {}

    def see(self, observation: Observation) -> Sequence[Issue]:
        if not isinstance(observation, ToolReturned) or self._rng.random() < 0.7:
            return ()
        type_ = self._rng.choice(TYPES)
        if type_ in self._open and self._rng.random() < 0.4:
            return [replace(self._open.pop(type_), closed=True)]
        severity = self._rng.choices(list(Severity), [4, 6, 3, 0.3])[0]
        details = {"growth": {"memory_mb": self._rng.uniform(1, 3)}, "tier": self._rng.randint(1, 3)}
        figures = self._rng.uniform(0.3, 1), self._rng.uniform(0, 1)
        said = f"Dice say {type_} at {observation.seq}."
        self._open[type_] = Issue(type_, severity, *figures, observation.seq, said, (observation.seq,), details)
        return [self._open[type_]]


class Rules:
    """A reviewer with one block and one critical rule."""

    def review(self, action: Action, context: ReviewContext) -> Review:  # noqa: ARG002 - the protocol's
        text = str(action.input)
        if "hooks" in text:
            return Review(Decision.BLOCK, 1.0, 0.0, Severity.CRITICAL, "hands off", "test.hooks", stop=True)
        if "--force" in text:
            return Review(Decision.BLOCK, 0.9, 0.2, Severity.HIGH, "not by force", "test.force")
        return Review(Decision.ALLOW, 0.1, 0.9, Severity.LOW, "fine")


class World:
    """Plays one seed to its end.

    Args:
        seed: Decides all.
        dice: Whether issues come by chance instead of from the real detectors.
    """

    def __init__(self, seed: int, *, dice: bool) -> None:
        self.seed, self._dice = seed, dice
        self._rng = Random(f"world {seed}")
        self.now = 100.0
        self.journal: list[events.AnyEvent] = []
        self.settings = self._draw_settings()
        self.board = Board(self.make)
        self.agents = [f"a{n}" for n in range(self._rng.randint(1, 3))]
        self.clis: dict[str, Cli] = {}
        self.ran: list[tuple[str, str, int]] = []
        """Agent, request, and length of the journal when its tool ran."""
        self._offsets = dict.fromkeys(self.agents, 0)
        self._due: list[tuple[float, int, Any]] = []
        self._n = 0
        self._timers: dict[tuple[str, str], int] = {}
        self._restarts = 0

    def _draw_settings(self) -> InterventionSettings:
        rng = self._rng
        return InterventionSettings(
            auto_rollback=rng.random() < 0.5,
            max_interventions_per_execution=rng.choice([1, 3, 10]),
            intervention_cooldown_seconds=rng.choice([0.0, 5.0, 30.0]),
            strategy=StrategySettings(type=rng.choice(["progressive", "pattern_specific"])),
        )

    def make(self, submitted: events.TaskSubmitted) -> Session:
        """A session with fresh detectors; the same for the live board and for one that is rebuilt."""
        task = submitted.task
        detectors: Sequence[Detector] = (
            [Dice(f"{self.seed} {submitted.agent}")] if self._dice else make_detectors(DetectorSettings(), task)
        )
        found = MOMENT if self.seed % 3 else "no checkpoint is safe"
        about = SessionSettings(approval=ApprovalSettings(tools=("Write",), mode="ask", deadline_seconds=20.0))
        controller = Controller(self.settings, task)
        return Session(submitted, Rules(), detectors, controller, about, AgentSurroundings(Moments(found)))

    # ── time ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self) -> "World":
        """Play until every agent has ended."""
        for agent in self.agents:
            task = Task(f"t-{agent}", "Mend src/parser", "/repo", expected_paths=("src/parser/**",))
            submitted = events.TaskSubmitted(
                **self._stamp(agent), task=task, workspace="/repo", session_id=f"s-{agent}"
            )
            self._happened(submitted)
        while self._due:
            at, _, what = heapq.heappop(self._due)
            self.now = max(self.now, at)
            if self._rng.random() < 0.002:
                self.now += self._rng.choice([45.0, 400.0, 4_000.0])
            what()
            if len(self.journal) > MOST_EVENTS:
                self._end_all()
        return self

    def _at(self, seconds: float, what: Any) -> None:
        self._n += 1
        heapq.heappush(self._due, (self.now + seconds, self._n, what))

    def _stamp(self, agent: str) -> dict[str, Any]:
        return {"agent": agent, "at": 1_700_000_000 + self.now, "mono": self.now}

    def _end_all(self) -> None:
        self._due.clear()
        for session in self.board.live():
            agent = session.summary.agent
            self._happened(events.StopRequested(**self._stamp(agent), by="ann", force=True))
            self._exit(agent, None, 9)

    # ── the daemon ────────────────────────────────────────────────────────────────────────────────────────────────

    def _happened(self, event: events.AnyEvent) -> None:
        self.journal.append(event)
        commands = self.board.see(len(self.journal), event)
        records = [command for command in commands if isinstance(command, do.WriteEvent)]
        if self._rng.random() < 0.004 and self._restarts < 4:
            self.journal += [record.event for record in records[: self._rng.randint(0, len(records))]]
            self._restart()
            return
        self.journal += [record.event for record in records]
        self._perform(event.agent, commands)

    def _restart(self) -> None:
        """The daemon was killed: what it was about to do is lost, the agents live on, and a new one reads the journal."""
        self._restarts += 1
        self._timers.clear()
        self.board = self.rebuilt()
        for session in list(self.board.live()):
            agent = session.summary.agent
            adopted = events.AgentAdopted(**self._stamp(agent), outcome=self._found(session))
            self.journal.append(adopted)
            self.board.remember(len(self.journal), adopted)
            commands = self.board.recover(len(self.journal), adopted)
            self.journal += [command.event for command in commands if isinstance(command, do.WriteEvent)]
            self._perform(agent, commands)
            cli = self.clis.get(agent)
            if cli is not None and not cli.alive and session.launched and not session.processes_ended:
                self._tell_exit(agent, None, 9)

    def _found(self, session: Session) -> Found:
        cli = self.clis.get(session.summary.agent)
        if session.processes_ended:
            return "terminal"
        return "reattached" if session.launched or (cli is not None and cli.alive) else "launched"

    def rebuilt(self) -> Board:
        """A board made from the journal alone."""
        board = Board(self.make)
        for seq, event in enumerate(self.journal, 1):
            board.remember(seq, event)
        board.settle()
        return board

    def _live(self, agent: str) -> bool:
        return any(session.summary.agent == agent for session in self.board.live())

    def _tell(self, agent: str, kind: type[Any], **more: Any) -> None:
        if self._live(agent):
            self._happened(kind(**self._stamp(agent), **more))

    def _perform(self, agent: str, commands: Sequence[do.Command]) -> None:
        for command in commands:
            self._do(agent, command)

    def _do(self, agent: str, command: do.Command) -> None:
        cli = self.clis.get(agent)
        match command:
            case do.Launch():
                self._launch(agent, command.number)
            case do.StartTimer():
                self._start_timer(agent, command)
            case do.StopTimer():
                self._timers.pop((agent, command.name), None)
            case do.RestoreCheckpoint():
                self._restore(agent, command)
            case do.SendLine() if cli is not None:
                before = len(cli.ran)
                cli.write(command.key, command.line)
                self.ran += [(agent, request, len(self.journal)) for request in cli.ran[before:]]
                self._at(0.01, lambda: self._tell(agent, events.InputAccepted, key=command.key))
            case do.CloseInput() if cli is not None:
                cli.input_open = False
            case do.Freeze() if cli is not None:
                cli.frozen = True
                if self._rng.random() < 0.9:
                    self._at(0.001, lambda: self._tell(agent, events.TreeFrozen, micros=300))
            case do.Thaw() if cli is not None:
                cli.frozen = False
            case do.Terminate() | do.EndTree() if cli is not None:
                self._at(0.02, lambda: self._exit(agent, None, 15 if isinstance(command, do.Terminate) else 9))
            case _:
                pass

    def _start_timer(self, agent: str, command: do.StartTimer) -> None:
        self._n += 1
        mine = self._timers[agent, command.name] = self._n
        late = self._rng.choice([0.0, 0.0, 3.0])

        def fire() -> None:
            if self._timers.get((agent, command.name)) == mine:
                del self._timers[agent, command.name]
                self._tell(agent, events.TimerFired, name=command.name)

        self._at(command.after_seconds + late, fire)

    def _launch(self, agent: str, number: int) -> None:
        if agent in self.clis and self.clis[agent].alive:
            return
        if self._rng.random() < 0.02:
            self._at(0.1, lambda: self._tell(agent, events.LaunchFailed, error="no such program"))
            return
        steps = self._rng.randint(3, 60 if self._dice else 40)
        name = agent if number == 1 else f"{agent}.{number}"
        cli = self.clis[agent] = Cli(name, Mind(Random(f"mind {self.seed} {name}"), steps))
        self._offsets[agent] = 0
        facts = {"shim_pid": 1, "cli_pid": 2, "containment": "subreaper", "number": number}
        self._at(0.1, lambda: self._tell(agent, events.AgentLaunched, **facts))
        self._at(0.5, lambda: self._beat(agent, cli))

    def _restore(self, agent: str, command: do.RestoreCheckpoint) -> None:
        facts = {"intervention": command.intervention, "checkpoint": command.checkpoint}
        luck = self._rng.random()
        if luck < 0.6:
            self._at(1.0, lambda: self._tell(agent, events.CheckpointRestored, **facts, session_id=f"s-{agent}"))
        elif luck < 0.9:
            self._at(1.0, lambda: self._tell(agent, events.RestoreFailed, **facts, error="disk full"))
        else:
            self._at(0.5, lambda: self._exit(agent, None, 9))
            self._at(1.0, lambda: self._tell(agent, events.RestoreFailed, **facts, error="disk full"))

    # ── the agents ────────────────────────────────────────────────────────────────────────────────────────────────

    def _beat(self, agent: str, cli: Cli) -> None:
        """One moment of an agent's life."""
        if not cli.alive:
            return
        if self._rng.random() < 0.0015:
            self._exit(agent, self._rng.choice([1, None]), 9)
            return
        before = len(cli.ran)
        frame = cli.act()
        assert len(cli.ran) == before
        if frame is not None:
            self._offsets[agent] += 100
            self._tell(agent, events.LineReceived, end=self._offsets[agent], frame=frame)
        if cli.done:
            self._exit(agent, 0, None)
        elif cli.alive:
            self._at(self._rng.choice([0.01, 0.5, 6.0]) if frame else 2.0, lambda: self._beat(agent, cli))
            self._maybe_a_person(agent)

    def _maybe_a_person(self, agent: str) -> None:
        """Now and then somebody resumes what is held, stops a run, or answers an approval."""
        if not self._live(agent):
            return
        session, luck = self.board.session(agent), self._rng.random()
        if session.state == "paused" and luck < 0.05:
            self._tell(agent, events.ResumeRequested, by="ann")
        elif luck < 0.001:
            self._tell(agent, events.StopRequested, by="ann", force=self._rng.random() < 0.5)
        elif session.approvals and luck < 0.2:
            asked = session.approvals[0].request_id
            self._tell(agent, events.ApprovalGiven, request_id=asked, granted=luck < 0.15, by="ann")

    def _exit(self, agent: str, code: int | None, signal: int | None) -> None:
        cli = self.clis.get(agent)
        if cli is not None and cli.alive:
            cli.alive = False
            self._tell_exit(agent, code, signal)

    def _tell_exit(self, agent: str, code: int | None, signal: int | None) -> None:
        if self._rng.random() < 0.03:
            self._tell(agent, events.AgentVanished, reason="the shim is gone")
        else:
            self._tell(agent, events.AgentExited, code=code, signal=None if code is not None else signal)
