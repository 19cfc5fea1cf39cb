"""Actions that wait for a person, with the real CLI and the commands that people use."""

from pathlib import Path

import orjson
import pytest

from monitors.contract.words import Decision, Severity
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from tests.stages.house import House, bash, house, say

pytestmark = pytest.mark.real_cli

ASK = {"approval": {"mode": "ask"}}


def reviewed(made: House) -> events.ReviewMade:
    return made.events(events.ReviewMade)[-1]


async def test_an_action_waits_until_a_person_lets_it_run_and_the_note_reaches_the_model(tmp_path: Path) -> None:
    async with house(tmp_path, bash("echo 1 > made.txt"), say("Done."), policy=ASK) as made:
        await made.submit()
        asked = await made.until(events.ApprovalAsked)
        (waiting,) = orjson.loads(await made.chaperon("approvals", "--json"))
        assert (waiting["agent"], waiting["request_id"]) == ("a1", asked.request_id)
        assert waiting["input"]["command"] == "echo 1 > made.txt"
        assert not (made.workspace / "made.txt").exists()
        await made.chaperon("approve", "a1", asked.request_id, "--note", "Only this once.")
        assert (await made.ended()).after is AgentState.DONE
        assert (made.workspace / "made.txt").exists()
        assert "Only this once." in made.told()
        assert "Nothing waits" in await made.chaperon("approvals")


async def test_an_action_that_a_person_turns_down_does_not_run_and_the_model_is_told_why(tmp_path: Path) -> None:
    async with house(tmp_path, bash("echo 1 > made.txt"), say("Done."), policy=ASK) as made:
        await made.submit()
        asked = await made.until(events.ApprovalAsked)
        told = await made.chaperon("deny", "a1", asked.request_id, "--reason", "Use the other file.", "--json")
        assert orjson.loads(told)["task"] == "Do the task."
        await made.ended()
        assert reviewed(made).review.decision is Decision.BLOCK
        assert not (made.workspace / "made.txt").exists()
        assert "Use the other file." in made.told()


async def test_an_action_that_waits_is_in_the_summary_of_its_agent_and_people_are_told_by_a_hook(
    tmp_path: Path,
) -> None:
    hook, heard = tmp_path / "asked.sh", tmp_path / "heard.txt"
    hook.write_text('#!/bin/sh\necho "$AGENT $TASK_ID $TOOL $ACTION $WHY $DEADLINE" >> heard.txt\n')
    hook.chmod(0o755)
    policy = {**ASK, "hooks": {"on-approval": str(hook)}}
    async with house(tmp_path, bash("echo 1 > made.txt"), say("Done."), policy=policy) as made:
        await made.submit()
        asked = await made.until(events.ApprovalAsked)
        (shown,) = orjson.loads(await made.chaperon("ps", "--json"))
        (waiting,) = shown["waiting"]
        assert (waiting["tool"], waiting["summary"]) == ("Bash", "echo 1 > made.txt")
        assert waiting["until"] == asked.at + asked.deadline_seconds
        await made.chaperon("approve", "a1", asked.request_id)
        await made.ended()
        assert orjson.loads(await made.chaperon("show", "a1", "--json"))["waiting"] == []
    assert heard.read_text().startswith(
        f"a1 {shown['task_details']['id']} Bash echo 1 > made.txt it writes or makes files ("
    )


async def test_at_the_deadline_an_action_is_denied_and_the_end_of_the_agent_says_so(tmp_path: Path) -> None:
    policy = {"approval": {"mode": "ask", "deadline_seconds": 0.5}}
    steps = bash("echo 1 > made.txt"), bash("echo 2 > made.txt"), say("Done.")
    async with house(tmp_path, *steps, policy=policy) as made:
        await made.submit()
        ended = await made.ended()
        assert ended.why == "the task's last turn succeeded, though 2 actions were not run: nobody answered in time"
        (told,) = [event.incident for event in made.events(events.IncidentOpened)]
        assert (told.type, told.severity) == ("approval_expired", Severity.HIGH)
        assert "Bash `echo 1 > made.txt`" in told.summary
        assert made.daemon.board.summary("a1").expired == 2
        assert reviewed(made).review.rule == "chaperon.approval-deadline"
        assert not (made.workspace / "made.txt").exists()
        assert "nobody answered within 0.5 s" in made.told()


async def test_an_action_that_needs_nobody_does_not_wait(tmp_path: Path) -> None:
    async with house(tmp_path, bash("ls"), say("Done."), policy=ASK) as made:
        await made.submit()
        assert (await made.ended()).after is AgentState.DONE
        assert made.events(events.ApprovalAsked) == []
