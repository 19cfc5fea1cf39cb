"""After a compaction the agent is told again what its task is and what people decided, once."""

import orjson

from monitors.contract.actions import Action
from monitors.contract.words import Decision
from supervisor.protocol import events
from tests.stages.session import Play, lines, recorded, verdict
from tests.support import recorded as recording


def compacted(play: Play) -> list[str]:
    """What the agent is told after a compaction."""
    commands = play.line({"type": "system", "subtype": "compact_boundary"})
    return [line["message"]["content"] for line in lines(commands) if line["type"] == "user"]


def test_task_constraints_and_decisions_are_said_again_once_after_each_compaction() -> None:
    play = Play(prompt="mend the roof", constraints=("leave the chimney",), goals=("no rain gets in",)).running()
    play.say("slate, not tin")
    (told,) = compacted(play)
    assert "What was asked: mend the roof" in told
    assert "- leave the chimney" in told
    assert "- no rain gets in" in told
    assert "- ann said: slate, not tin" in told
    assert len(told) < 1_500
    assert lines(play.call("ls"))[0]["type"] == "control_response"
    assert not recorded(play.call("ls -l"), events.ContextRestated)
    (again,) = compacted(play)
    assert "(time 2)" in again


def test_nothing_is_said_into_no_turn_until_the_next_one_begins() -> None:
    play = Play(keep_open=True).running()
    play.result()
    assert compacted(play) == []
    play.say("go on")
    play.taken("go on")
    commands = play.init()
    assert len(recorded(commands, events.ContextRestated)) == 1


def test_a_real_cli_that_compacts_reports_it_in_a_line_that_leads_to_the_message() -> None:
    play = Play(prompt="mend the roof").running()
    told = [
        event
        for line in recording("compacted")
        for event in recorded(play.line(orjson.loads(line)), events.ContextRestated)
    ]
    assert len(told) <= 1


def test_what_a_person_allowed_or_refused_is_among_it() -> None:
    play = Play({"push": verdict(Decision.WARN, "mind")}).running()
    asked = events.ApprovalAsked(
        **play.stamp(),
        request_id="r9",
        action=play_action("git push"),
        review=verdict(Decision.WARN),
        why="w",
        deadline_seconds=9,
    )
    play.feed(asked)
    play.feed(events.ApprovalGiven(**play.stamp(), request_id="r9", granted=False, by="ann", note="not on Fridays"))
    (told,) = compacted(play)
    assert "- ann refused: Bash git push (not on Fridays)" in told


def play_action(command: str) -> Action:
    return Action("Bash", {"command": command})
