"""Whatever was killed when: rebuilt from the journal, a session goes on as if nothing had happened."""

from collections.abc import Callable

import pytest

from monitors.contract.words import Decision
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.protocol.commands import Command, SendLine
from supervisor.protocol.words import AgentState
from tests.stages.session import Play, verdict

RULES = {
    "rm": verdict(Decision.BLOCK, "no"),
    "push": verdict(Decision.MODIFY, "softer", updated_input={"command": "ls"}),
    "hooks": verdict(Decision.BLOCK, "hands off", stop=True),
}


def whole_run(play: Play) -> None:
    play.running()
    play.call("ls")
    play.call("rm -rf /")
    play.say("mind the gap")
    play.taken("mind the gap")
    play.call("git push")
    play.feed(events.PauseRequested(**play.stamp(), by="ann"))
    play.call("make")
    play.feed(events.ResumeRequested(**play.stamp(), by="ann"))
    play.result()
    play.exited(0)


def stopped_run(play: Play) -> None:
    play.running()
    play.call("ls")
    play.call("echo > hooks")
    play.feed(events.TreeFrozen(**play.stamp(), micros=1))
    play.exited(None, 9)


def sent(commands: list[Command]) -> dict[str, bytes]:
    return {command.key: command.line for command in commands if isinstance(command, SendLine)}


def live(play: Play, run: Callable[[Play], None]) -> dict[str, bytes]:
    """Every line that an undisturbed run sends."""
    collected: dict[str, bytes] = {}
    feed = play.feed

    def noting(event: events.AnyEvent) -> list[Command]:
        commands = feed(event)
        collected.update(sent(commands))
        return commands

    play.feed = noting  # type: ignore[method-assign]
    run(play)
    return collected


def rebuilt(play: Play, cut: int) -> Session:
    first = play.journal[0][1]
    assert isinstance(first, events.TaskSubmitted)
    session = play.make(first)
    for seq, event in play.journal[:cut]:
        session.remember(seq, event)
    return session


@pytest.mark.parametrize("run", [whole_run, stopped_run])
def test_a_daemon_killed_after_any_record_says_the_same_to_the_cli(run: Callable[[Play], None]) -> None:
    """The journal is cut behind each record; what comes after is fed again as inputs, as the shim would."""
    play = Play(RULES)
    expected = live(play, run)
    inputs = [(seq, event) for seq, event in play.journal if not is_decision(event)]
    exited = max(seq for seq, event in inputs if isinstance(event, events.AgentExited))
    assert play.session is not None
    for cut in range(1, len(play.journal)):
        session = rebuilt(play, cut)
        told = sent(session.recover(*play.journal[cut - 1]))
        for seq, event in inputs:
            if seq > cut:
                told.update(sent(session.see(seq, event)))
        assert session.state is play.session.state, f"cut behind record {cut}"
        assert session.summary.reviews == play.session.summary.reviews, f"cut behind record {cut}"
        if cut < exited:
            assert told == expected, f"cut behind record {cut}"


def is_decision(event: events.AnyEvent) -> bool:
    return isinstance(
        event,
        events.ReviewMade
        | events.IssueSeen
        | events.InterventionChosen
        | events.StateChanged
        | events.RungReached
        | events.IncidentOpened
        | events.FrameRejected,
    )


def test_a_line_that_the_shim_has_accepted_is_not_sent_again() -> None:
    play = Play()
    play.submit()
    play.launched()
    play.feed(events.InputAccepted(**play.stamp(), key="init"))
    assert set(sent(rebuilt(play, len(play.journal)).recover(9, play.journal[-1][1]))) == {"prompt"}


def test_a_decision_of_an_older_version_stands() -> None:
    """What was blocked stays blocked, though the rules of today would allow it."""
    play = Play({"ls": verdict(Decision.BLOCK, "not then")}).running()
    play.call("ls")
    play.rules = {}
    session = rebuilt(play, len(play.journal))
    (answer,) = [line for key, line in sent(session.recover(99, play.journal[-1][1])).items() if key == "answer:r2"]
    assert b"not then" in answer


def test_a_stop_that_was_under_way_goes_on() -> None:
    play = Play(RULES).running()
    play.call("echo > hooks")
    session = rebuilt(play, len(play.journal))
    assert session.state is AgentState.STOPPING
    names = [type(command).__name__ for command in session.recover(99, play.journal[-1][1])]
    assert names[-2:] == ["Freeze", "StartTimer"]
