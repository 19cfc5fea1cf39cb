"""Answering actions that wait, by name, by how a request begins, and all at once."""

import json

import pytest

from monitors.contract.errors import NotFoundError, UsageError
from supervisor.cli.commands.agents.approvals import ApprovalSelection, short_ids
from tests.stages.daemon import Base, ended, served, until
from tests.supervisor.cli.conftest import chaperon

WAITING = [
    {"agent": "a1", "request_id": "0123456789ab-1"},
    {"agent": "a1", "request_id": "0123456789cd-2"},
    {"agent": "a2", "request_id": "9876543210-3"},
]


@pytest.mark.parametrize(
    ("wanted", "requests"),
    [
        (ApprovalSelection("a2", None, False), ["9876543210-3"]),
        (ApprovalSelection("a1", "0123456789ab", False), ["0123456789ab-1"]),
        (ApprovalSelection("a1", None, True), ["0123456789ab-1", "0123456789cd-2"]),
        (ApprovalSelection(None, None, True), ["0123456789ab-1", "0123456789cd-2", "9876543210-3"]),
    ],
)
def test_an_action_is_chosen_by_its_agent_by_how_its_request_begins_or_with_all(
    wanted: ApprovalSelection, requests: list[str]
) -> None:
    assert [each["request_id"] for each in wanted.chosen(WAITING)] == requests


def test_what_does_not_say_which_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="2 actions of agent 'a1' wait") as several:
        ApprovalSelection("a1", "0123", False).chosen(WAITING)
    assert "0123456789a, 0123456789c; or --all" in several.value.way_out
    with pytest.raises(NotFoundError, match="No action 'x' of agent 'a1' waits"):
        ApprovalSelection("a1", "x", False).chosen(WAITING)
    with pytest.raises(NotFoundError, match="No action 'not this one' of agent 'a1' waits") as text:
        ApprovalSelection("a1", "not this one", False).chosen(WAITING)
    assert "A text for the model is said with --reason 'not this one'." in text.value.way_out
    with pytest.raises(NotFoundError, match=r"No action of agent 'a3' waits"):
        ApprovalSelection("a3", None, True).chosen(WAITING)
    with pytest.raises(UsageError, match="say whose"):
        ApprovalSelection(None, None, False).chosen(WAITING)
    with pytest.raises(UsageError, match="do not go together"):
        ApprovalSelection("a1", "0123", True).chosen(WAITING)


def test_an_id_is_shown_as_short_as_it_can_be_told_apart() -> None:
    assert short_ids(["0123456789ab", "0123456789cd", "fedcba9876"]) == ["0123456789a", "0123456789c", "fedcba98"]
    assert short_ids(["same", "same"]) == ["same", "same"]


async def test_nothing_of_an_action_that_waits_is_hidden_from_who_answers_it(base: Base) -> None:
    base.config["approval"] = {"mode": "ask"}
    base.plan(f"echo {'x' * 300}\ntouch hidden")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(name="a1"), by="test")
        await until(lambda: sum(len(one.waiting) for one in daemon.board.summaries()) == 1)
        assert "    |   touch hidden\n" in (await chaperon("approvals")).output
        short = (await chaperon("ps")).output
        assert "xxx…" in short, "it is seen that something is left out"
        assert "chaperon approvals shows it whole" in short
        await chaperon("approve", "a1")
        await ended(daemon, "a1")


async def test_what_waits_is_shown_with_its_agent_and_all_of_it_can_be_answered_at_once(base: Base) -> None:
    base.config["approval"] = {"mode": "ask"}
    base.plan("echo 1 > one")
    async with served(base) as (daemon, _):
        for name in ("a1", "a2"):
            await daemon.submit(base.submission(name=name), by="test")
        await until(lambda: sum(len(one.waiting) for one in daemon.board.summaries()) == 2)
        listed = (await chaperon("ps")).output
        assert listed.count("waits for approval (since ") == 2
        assert "Bash echo 1 > one" in listed
        assert "To answer: chaperon approve a1, or chaperon deny a1" in listed
        assert "waits for approval (since " in (await chaperon("show", "a1")).output
        done = await chaperon("approve", "--all", "--json")
        assert sorted(json.loads(line)["agent"] for line in done.output.splitlines()) == ["a1", "a2"]
        for name in ("a1", "a2"):
            await ended(daemon, name)
        assert "waits for approval" not in (await chaperon("ps")).output
        assert (await chaperon("approve", "--all")).exit_code == 1
