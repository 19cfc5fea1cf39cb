"""Actions that wait for a person, with the real CLI and the commands that people use."""

from pathlib import Path

import orjson
import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState, Decision
from tests.house import House, bash, house, say

pytestmark = [pytest.mark.anyio, pytest.mark.real_cli]

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
        await made.chaperon("approve", "a1", "--note", "Only this once.")
        assert (await made.ended()).after is AgentState.DONE
        assert (made.workspace / "made.txt").exists()
        assert "Only this once." in made.told()
        assert "Nothing waits" in await made.chaperon("approvals")


async def test_an_action_that_a_person_turns_down_does_not_run_and_the_model_is_told_why(tmp_path: Path) -> None:
    async with house(tmp_path, bash("echo 1 > made.txt"), say("Done."), policy=ASK) as made:
        await made.submit()
        asked = await made.until(events.ApprovalAsked)
        told = await made.chaperon("deny", "a1", asked.request_id, "--note", "Use the other file.", "--json")
        assert orjson.loads(told)["task"] == "Do the task."
        await made.ended()
        assert reviewed(made).review.decision is Decision.BLOCK
        assert not (made.workspace / "made.txt").exists()
        assert "Use the other file." in made.told()


async def test_at_the_deadline_an_action_is_denied(tmp_path: Path) -> None:
    policy = {"approval": {"mode": "ask", "deadline_seconds": 0.5}}
    async with house(tmp_path, bash("echo 1 > made.txt"), say("Done."), policy=policy) as made:
        await made.submit()
        await made.ended()
        assert reviewed(made).review.rule == "chaperon.approval-deadline"
        assert not (made.workspace / "made.txt").exists()
        assert "nobody answered within 0.5 s" in made.told()


async def test_an_action_that_needs_nobody_does_not_wait(tmp_path: Path) -> None:
    async with house(tmp_path, bash("ls"), say("Done."), policy=ASK) as made:
        await made.submit()
        assert (await made.ended()).after is AgentState.DONE
        assert made.events(events.ApprovalAsked) == []
