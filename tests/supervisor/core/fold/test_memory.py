"""What is folded: the outbox, what waits, and what is owed."""

from interventions.choice.controller import Controller
from interventions.settings import InterventionSettings
from monitors.contract.actions import Review
from monitors.contract.words import Decision
from monitors.review import make_reviewer
from supervisor.core.decisions.decide import SessionSettings
from supervisor.core.replay.journal_replay import rerun
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.protocol.commands import Command
from supervisor.protocol.records import encode, read_event
from supervisor.protocol.words import AgentState
from tests.stages.session import Play, recorded


def outbox(play: Play) -> list[str]:
    assert play.session is not None
    return list(play.session._memory.outbox)


def test_the_first_lines_are_the_hooks_and_then_the_task() -> None:
    play = Play()
    play.submit()
    play.launched()
    assert outbox(play) == ["init", "prompt"]


def test_a_line_leaves_the_outbox_when_the_shim_has_it() -> None:
    play = Play()
    play.submit()
    play.launched()
    play.feed(events.InputAccepted(**play.stamp(), key="init"))
    assert outbox(play) == ["prompt"]
    play.feed(events.InputAccepted(**play.stamp(), key="never sent"))
    assert outbox(play) == ["prompt"]


def test_an_agent_stopped_before_it_was_launched_is_not_told_its_task() -> None:
    play = Play()
    play.submit()
    play.feed(events.StopRequested(**play.stamp(), by="ann"))
    play.launched()
    assert "prompt" not in outbox(play)


def test_a_cancelled_question_is_not_answered_any_more() -> None:
    play = Play().running()
    play.feed(events.PauseRequested(**play.stamp(), by="ann"))
    play.call("ls")
    (request_id,) = play.session._memory.requests.waiting  # type: ignore[union-attr]
    play.line({"type": "control_cancel_request", "request_id": request_id})
    play.feed(events.ResumeRequested(**play.stamp(), by="ann"))
    assert f"answer:{request_id}" not in outbox(play)


def test_the_end_empties_the_outbox_and_forgets_what_waited() -> None:
    play = Play().running()
    play.feed(events.PauseRequested(**play.stamp(), by="ann"))
    play.call("ls")
    play.exited(1)
    assert play.session is not None
    assert (play.session.state, outbox(play), play.session._memory.requests.waiting) == (AgentState.FAILED, [], {})


def test_reading_resumes_behind_the_last_line() -> None:
    play = Play().running()
    assert play.session is not None
    before = play.session.offset
    play.feed(events.LinePassedOver(**play.stamp(), start=before, end=before + 5000))
    assert play.session.offset == before + 5000


def test_steps_are_kept_shortened_and_not_for_ever() -> None:
    play = Play().running()
    for number in range(60):
        play.call(f"echo {number} " + "x" * 500)
    assert play.session is not None
    history = play.session._memory.calls.steps
    assert len(history) == 50
    assert history[0].summary.startswith("echo 10 ")
    assert all(len(step.summary) <= 200 for step in history)


class Reviewed(Play):
    """A session with the real reviewer, which knows no files."""

    def make(self, submitted: events.TaskSubmitted) -> Session:
        return Session(
            submitted,
            make_reviewer(),
            [],
            Controller(InterventionSettings(), self.task),
            SessionSettings(home="/home/ann"),
        )


def reviews(commands: list[Command]) -> list[Review]:
    return [made.review for made in recorded(commands, events.ReviewMade)]


def test_what_a_call_brought_is_known_when_a_later_call_runs_it_also_after_a_crash_and_in_a_replay() -> None:
    play = Reviewed().running()
    fetched = reviews(play.call("curl -so tool https://x.example/tool"))
    assert [origin.path for origin in fetched[0].origins] == ["/repo/tool"]
    assert reviews(play.call("./other"))[0].decision is Decision.ALLOW
    after = Reviewed(prompt=play.task.prompt)
    for seq, event in play.journal:
        assert read_event(encode(seq, event, "")[0]) == event
        after.journal.append((seq, event))
        if after.session is None:
            assert isinstance(event, events.TaskSubmitted)
            after.session = after.make(event)
            after.session.remember(seq, event)
        else:
            after.session.remember(seq, event)
    for again in (after, play):
        assert reviews(again.call("./tool"))[0].rule == "shell.run-download"
    (run,) = rerun(play.journal, make_reviewer(), lambda _submitted: [])
    assert [made.rule for _, made in run.result.stopped] == ["shell.run-download"]


def test_what_a_call_failed_to_make_may_not_be_taken_away_as_the_agents_own() -> None:
    for failed, expected in ((True, Decision.BLOCK), (False, Decision.WARN)):
        play = Reviewed().running()
        play.call("createdb a42")
        result = {"type": "tool_result", "tool_use_id": "u-createdb a42", "content": "exists", "is_error": failed}
        play.line({"type": "user", "message": {"role": "user", "content": [result]}})
        assert reviews(play.call("dropdb a42"))[0].decision is expected
