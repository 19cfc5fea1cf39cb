from dataclasses import replace
from typing import cast

import pytest

from monitors.contract.errors import NotFoundError, UsageError
from supervisor.core.board import Board
from supervisor.core.registers.past import KnownEnd
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.protocol.commands import Command
from supervisor.protocol.events import TaskSubmitted
from supervisor.protocol.words import AgentState
from tests.stages.session import Play


def play_of(agent: str, at: float = 0.0) -> TaskSubmitted:
    play = Play()
    stamp = {**play.stamp(), "agent": agent, "at": at}
    return TaskSubmitted(**stamp, task=play.task, workspace="/repo", session_id="s")


def board() -> Board:
    return Board(lambda submitted: Play().make(submitted))


def failed(agent: str) -> events.LaunchFailed:
    return events.LaunchFailed(agent=agent, at=0.0, mono=0.0, error="no CLI")


def test_agents_are_listed_in_the_order_of_the_journal_whatever_the_clock_said() -> None:
    made = board()
    for seq, (agent, at) in enumerate([("a", 300.0), ("b", 200.0), ("c", 100.0)], 1):
        made.see(seq, play_of(agent, at))
    made.see(9, failed("b"))
    assert [summary.agent for summary in made.summaries()] == ["a", "b", "c"]


def test_an_agent_that_ended_is_a_summary_and_no_session() -> None:
    made = board()
    made.see(1, play_of("a"))
    made.see(2, failed("a"))
    assert made.summary("a").state is AgentState.FAILED
    assert list(made.live()) == []
    with pytest.raises(NotFoundError, match="has ended"):
        made.session("a")
    with pytest.raises(UsageError, match="already"):
        made.refuse_taken("a")


def test_the_workspaces_beside_an_agent_are_those_of_others_that_have_not_ended() -> None:
    made = board()
    for seq, (agent, workspace) in enumerate([("a", "/a"), ("b", "/b"), ("c", "/c"), ("d", "/a")], 1):
        made.see(seq, replace(play_of(agent), workspace=workspace))
    made.see(9, failed("c"))
    assert made.workspaces_beside("a") == ("/b",), "not its own, which another agent has too"
    assert made.workspaces_beside("nobody") == ("/a", "/b")


def test_a_name_that_nobody_has_is_not_found_with_the_way_to_find_one() -> None:
    """Whoever asks for a summary may mean one that ended; a session only one that runs has."""
    made = board()
    for number in range(25):
        made.see(number + 1, play_of(f"a{number}"))
    with pytest.raises(NotFoundError, match=r"There is no agent 'b'\. `chaperon ps --all` lists them\.$"):
        made.summary("b")
    with pytest.raises(NotFoundError, match=r"There is no agent 'b'\. Running: a0, .*, a19 and 5 more\.$"):
        made.session("b")


def test_events_of_the_daemon_itself_concern_no_agent() -> None:
    stopped = events.DaemonStopped(agent="", at=0.0, mono=0.0, reason="asked to")
    assert board().see(1, stopped) == []


def test_rebuilt_from_the_journal_an_end_whose_incident_is_owed_stays_until_it_is_told() -> None:
    """A daemon was killed between the agent's last state and its incident."""
    live = board()
    play: list[tuple[int, events.AnyEvent]] = [(1, play_of("a")), (2, failed("a"))]
    commands = [command for seq, event in play for command in live.see(seq, event)]
    recorded = [command.event for command in commands if hasattr(command, "event")]
    (changed,) = [event for event in recorded if isinstance(event, events.StateChanged)]
    rebuilt = board()
    for seq, event in [*play, (3, changed)]:
        rebuilt.remember(seq, event)
    rebuilt.settle()
    assert [session.summary.agent for session in rebuilt.live()] == ["a"]
    adopted = events.AgentAdopted(agent="a", at=0.0, mono=0.0, outcome="terminal")
    told = [command for command in rebuilt.recover(4, adopted) if hasattr(command, "incident")]
    assert len(told) == 1
    assert list(rebuilt.live()) == []


def test_an_abandoned_agent_has_ended_whatever_its_session_owes() -> None:
    made = board()
    made.see(1, play_of("a"))
    gone = events.StateChanged(
        agent="a", at=1.0, mono=0.0, before=AgentState.STARTING, after=AgentState.LOST, why="chaperon failed"
    )
    made.abandon(gone)
    assert (made.summary("a").state, made.summary("a").why) == (AgentState.LOST, "chaperon failed")
    assert list(made.live()) == []
    assert made.snapshot()[0] is None


def test_a_snapshot_knows_the_ended_and_where_the_oldest_living_began() -> None:
    made = board()
    for seq, agent in enumerate("abc", 1):
        made.see(seq, play_of(agent))
    made.see(4, failed("a"))
    oldest, ended = made.snapshot()
    assert (oldest, [summary.agent for summary in ended]) == (2, ["a"])
    again = board()
    again.restore([KnownEnd(4, summary) for summary in ended])
    for seq, agent in enumerate("abc", 1):
        again.remember(seq, play_of(agent))
    assert [summary.state for summary in again.summaries()] == [
        AgentState.FAILED, AgentState.STARTING, AgentState.STARTING,
    ]  # fmt: skip


# ── a session that raises ─────────────────────────────────────────────────────────────────────────────────────────────


class Faulty(Board):
    """One of whose sessions raises at whatever it is asked."""

    def __init__(self) -> None:
        super().__init__(self._make)

    def _make(self, submitted: TaskSubmitted) -> Session:
        made = Play().make(submitted)
        return cast("Session", Raising(made)) if submitted.agent == "bad" else made


class Raising:
    """A session that raises: no subclass, which the compiled form forbids."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __getattr__(self, name: str) -> object:
        return getattr(self._session, name)

    def see(self, *_: object) -> list[Command]:
        raise ZeroDivisionError("oh")

    remember = recover = see


def resumed(agent: str) -> events.ResumeRequested:
    return events.ResumeRequested(agent=agent, at=0.0, mono=0.0, by="ann")


def test_a_session_that_raises_is_named_and_decides_nothing_and_others_go_on() -> None:
    made = Faulty()
    assert made.see(1, play_of("bad")) == []
    assert made.see(2, play_of("good")) != []
    assert list(made.failed) == ["bad"]
    assert str(made.failed["bad"]) == "oh"
    assert made.see(3, resumed("bad")) == []
    assert made.recover(4, events.AgentAdopted(agent="bad", at=0.0, mono=0.0, outcome="reattached")) == []


def test_a_session_that_cannot_be_rebuilt_is_written_off_where_the_journal_says_so() -> None:
    made = Faulty()
    journal: list[events.AnyEvent] = [play_of("bad"), play_of("good"), resumed("bad")]
    for seq, event in enumerate(journal, 1):
        made.remember(seq, event)
    assert list(made.failed) == ["bad"]
    gone = events.StateChanged(
        agent="bad", at=1.0, mono=0.0, before=AgentState.STARTING, after=AgentState.LOST, why="chaperon failed"
    )
    made.remember(4, gone)
    assert made.failed == {}
    assert made.summary("bad").state is AgentState.LOST
    assert [session.summary.agent for session in made.live()] == ["good"]


# ── a session that cannot be made ─────────────────────────────────────────────────────────────────────────────────────


def unable(submitted: TaskSubmitted) -> Session:
    if submitted.agent == "bad":
        raise ZeroDivisionError("oh")
    return Play().make(submitted)


def stepped(agent: str, after: AgentState) -> events.StateChanged:
    return events.StateChanged(agent=agent, at=1.0, mono=0.0, before=AgentState.STARTING, after=after, why="because")


def reread(*journal: events.AnyEvent) -> Board:
    made = Board(unable)
    for seq, event in enumerate(journal, 1):
        made.remember(seq, event)
    made.settle()
    return made


def test_an_agent_whose_session_cannot_be_made_is_known_and_waits_for_a_daemon_that_can() -> None:
    made = reread(play_of("bad"), play_of("good"), stepped("bad", AgentState.RUNNING))
    bad = made.summary("bad")
    assert (bad.state, bad.first_event) == (AgentState.RUNNING, 1)
    assert bad.why == "its session could not be made (ZeroDivisionError: oh)"
    assert [summary.agent for summary in made.summaries()] == ["bad", "good"]
    assert {summary.agent for summary in made.at_work()} == {"bad", "good"}
    assert [session.summary.agent for session in made.live()] == ["good"]
    assert made.snapshot() == (1, []), "the next start reads all of it again"
    assert made.explained("bad", 0.0) is bad


def test_what_needs_a_session_is_refused_where_there_is_none_and_its_name_is_taken() -> None:
    made = reread(play_of("bad"))
    for refuse in (made.session, made.refuse_unmade):
        with pytest.raises(NotFoundError, match=r"has no session: .*oh.* Its calls wait; nothing was done"):
            refuse("bad")
    with pytest.raises(UsageError, match="already"):
        made.refuse_taken("bad")


def test_one_that_ended_needs_no_session_to_be_remembered() -> None:
    made = reread(play_of("bad"), stepped("bad", AgentState.DONE))
    assert (made.unmade, made.failed, made.at_work()) == ({}, {}, [])
    assert (made.summary("bad").state, made.summary("bad").why) == (AgentState.DONE, "because")


def test_a_task_whose_session_cannot_be_made_is_not_admitted_and_leaves_nothing() -> None:
    made = Board(unable)
    with pytest.raises(UsageError, match=r"agent bad \(ZeroDivisionError: oh\); nothing was started"):
        made.admit(play_of("bad"))
    assert made.summaries() == []
    made.refuse_taken("bad")


def test_an_admitted_session_is_the_one_that_sees_its_task() -> None:
    numbers: list[str] = []

    def make(submitted: TaskSubmitted) -> Session:
        numbers.append(submitted.agent)
        return Play().make(submitted)

    made, submitted = Board(make), play_of("a")
    made.admit(submitted)
    assert made.see(1, submitted) != []
    assert numbers == ["a"]
