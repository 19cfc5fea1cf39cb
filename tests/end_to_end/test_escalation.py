"""A run that gets every answer from a word to a stop, and one that comes back down: by what the model and the disk show."""

from typing import Any

import pytest

from interventions.decisions import InterventionOutcome
from interventions.words import InterventionKind
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from tests.end_to_end.conftest import Stage
from tests.interventions.runs import REINFORCE, ROLLBACK, SOFT, STOP
from tests.stages.daemon import ended, served

pytestmark = pytest.mark.real_cli

IN_HASTE: dict[str, Any] = {
    "interventions": {
        "auto_rollback": True,
        "intervention_cooldown_seconds": 0,
        "strategy": {"escalation_delay_seconds": 0},
        "checkpoint_rollback": {
            "max_rollback_depth": 50,
            "safe_checkpoint_criteria": {"min_success_rate": 0, "no_errors_duration_seconds": 0},
        },
    },
}
"""A policy under which an answer that was in vain is followed by a stronger one at once, and every checkpoint may be gone
back to, however slow the machine is: these runs last seconds."""


def errs(stage: Stage, word: str, times: int = 3) -> None:
    for _ in range(times):
        stage.bash(f"echo junk >> {word}.txt; echo {word} went wrong >&2; exit 1")


def chosen(stage: Stage) -> list[InterventionKind]:
    return [event.intervention.kind for event in stage.base.events(events.InterventionChosen)]


async def test_a_run_that_heeds_nothing_climbs_from_a_word_to_a_stop(stage: Stage) -> None:
    stage.base.config.update(IN_HASTE)
    stage.bash("echo good > good.txt")
    for word in ("alpha", "beta", "gamma"):
        errs(stage, word)
    errs(stage, "delta", times=8)
    stage.bash("touch never")
    async with stage.playing(), served(stage.base) as (daemon, _):
        await daemon.submit(stage.base.submission(), by="test")
        assert (await ended(daemon)).state is AgentState.STOPPED
        assert stage.nobody_is_left()
    assert chosen(stage) == [SOFT, REINFORCE, ROLLBACK, STOP]
    word, again, back, stop = (event.intervention for event in stage.base.events(events.InterventionChosen))
    told = stage.told()
    assert all(each.message in told for each in (word, again, back))
    (restored,) = stage.base.events(events.CheckpointRestored)
    assert restored.checkpoint == back.details["checkpoint"]
    assert not (stage.repo / "gamma.txt").exists(), "what came after the checkpoint is undone"
    assert not (stage.repo / "never").exists()
    assert [event.number for event in stage.base.events(events.AgentLaunched)] == [1, 2]
    judged = {
        event.judgement.intervention: event.judgement.outcome for event in stage.base.events(events.InterventionJudged)
    }
    assert [judged[each.id] for each in (word, again)] == [InterventionOutcome.FAILURE, InterventionOutcome.FAILURE]
    assert judged.keys() == {each.id for each in (word, again, back, stop)}
    assert (stage.base.places.state / "incidents" / f"{stop.id}-emergency_stop.json").exists()


async def test_a_run_that_mends_itself_is_answered_more_gently_the_next_time(stage: Stage) -> None:
    stage.base.config.update(IN_HASTE)
    check = "test -f flag || { echo beta is missing >&2; exit 1; }"
    errs(stage, "alpha")
    for _ in range(3):
        stage.bash(check)
    for command in ("touch flag", check, "touch one", "touch two", "touch three", "touch four"):
        stage.bash(command)
    errs(stage, "gamma")
    stage.bash("echo done")
    async with stage.playing(), served(stage.base) as (daemon, _):
        await daemon.submit(stage.base.submission(), by="test")
        assert (await ended(daemon)).state is AgentState.DONE
        helped = [tally for (kind, _), tally in daemon.board.record.tallies.items() if kind == REINFORCE]
    assert chosen(stage) == [SOFT, REINFORCE, SOFT]
    gentler = stage.base.events(events.InterventionChosen)[2].intervention
    assert "context_reinforcement helped the last time, so a milder answer comes now" in gentler.reason
    assert gentler.message in stage.told()
    assert [tally.success for tally in helped] == [1]
