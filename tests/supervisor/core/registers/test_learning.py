import pytest

from interventions.decisions import Fate, InterventionOutcome, Judgement
from interventions.words import InterventionKind
from monitors.contract.errors import UsageError
from monitors.contract.learning import IssueOutcome
from monitors.learning import LearningSettings
from supervisor.core.board import Board
from supervisor.core.registers.learning import Lessons, inferred
from supervisor.protocol import events
from supervisor.protocol.commands import WriteEvent
from tests.stages.session import Play

ON = LearningSettings(enabled=True, least_outcomes=2)


def said(outcome: IssueOutcome = IssueOutcome.FALSE_ALARM, agent: str = "gone") -> events.OutcomeGiven:
    return events.OutcomeGiven(agent=agent, at=1.0, mono=1.0, pattern="repetition", outcome=outcome, by="ann")


def board(settings: LearningSettings = ON) -> Board:
    return Board(lambda submitted: Play().make(submitted), lessons=Lessons(settings))


def judgement(outcome: InterventionOutcome, disruption: float = 0.0) -> Judgement:
    kind = InterventionKind.SOFT_CORRECTION
    return Judgement("i-1", kind, "repetition", Fate.UNKNOWN, outcome, 9, 60.0, disruption, "So it was.")


def test_the_outcome_that_makes_an_adjustment_due_is_followed_by_it() -> None:
    made = board()
    assert made.see(1, said()) == []
    (command,) = made.see(2, said())
    assert isinstance(command, WriteEvent)
    assert isinstance(command.event, events.PatternAdjusted)
    assert (command.event.adjustment.before, command.event.adjustment.after) == (1.0, 1.1)
    assert made.lessons.factors == {"repetition": 1.1}


def test_rebuilt_from_the_journal_or_from_a_snapshot_and_the_rest_it_is_the_same() -> None:
    live = board()
    journal: list[events.AnyEvent] = []
    snapshot = None
    for _ in range(5):
        journal.append(said())
        commands = live.see(len(journal), journal[-1])
        journal += [command.event for command in commands if isinstance(command, WriteEvent)]
        snapshot = snapshot or live.lessons.as_json()
    rebuilt, restored = board(), board()
    restored.lessons.restore(snapshot or {})
    for seq, event in enumerate(journal, 1):
        rebuilt.remember(seq, event)
        restored.remember(seq, event)
    assert rebuilt.lessons.learned == live.lessons.learned == restored.lessons.learned
    assert len(journal) == 7


def test_while_learning_is_off_outcomes_are_counted_and_change_nothing() -> None:
    made = board(LearningSettings(least_outcomes=1))
    assert made.see(1, said()) == []
    assert made.lessons.learned.tally("repetition").false_alarms == 1
    assert made.lessons.factors == {}


def test_the_last_adjustment_can_be_taken_back_once() -> None:
    made = board(LearningSettings(enabled=True, least_outcomes=1))
    made.see(1, said())
    back = made.lessons.undoing("repetition")
    made.see(3, events.PatternAdjusted(agent="", at=2.0, mono=2.0, adjustment=back, by="ann"))
    assert made.lessons.factors == {}
    with pytest.raises(UsageError, match="can be taken back"):
        made.lessons.undoing("repetition")


def test_what_was_said_stands_with_the_agent() -> None:
    made = board()
    play = Play()
    made.see(1, events.TaskSubmitted(**play.stamp(), task=play.task, workspace="/repo", session_id="s"))
    made.see(2, said(IssueOutcome.CONFIRMED, agent="a1"))
    assert made.summary("a1").said == {"repetition": "confirmed"}


def test_an_intervention_says_something_of_its_issue_only_where_it_is_clear() -> None:
    assert inferred(judgement(InterventionOutcome.SUCCESS)) is IssueOutcome.CONFIRMED
    assert inferred(judgement(InterventionOutcome.FAILURE, disruption=0.3)) is IssueOutcome.FALSE_ALARM
    assert inferred(judgement(InterventionOutcome.FAILURE)) is None


def test_interventions_count_only_where_that_is_wanted() -> None:
    judged = events.InterventionJudged(agent="a1", at=1.0, mono=1.0, judgement=judgement(InterventionOutcome.SUCCESS))
    plain, inferring = board(), board(LearningSettings(enabled=True, infer=True))
    for made in (plain, inferring):
        made.remember(1, judged)
    assert plain.lessons.learned.tally("repetition").confirmed == 0
    assert inferring.lessons.learned.tally("repetition").confirmed == 1
