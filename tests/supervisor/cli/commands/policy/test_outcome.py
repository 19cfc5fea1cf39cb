import json
from typing import Any

import pytest

from supervisor.protocol import events
from tests.stages.daemon import Base, ended, served
from tests.supervisor.cli.conftest import chaperon

pytestmark = pytest.mark.slow


async def told(*arguments: str) -> Any:
    return json.loads((await chaperon("outcome", *arguments, "--json")).output)


async def test_outcomes_move_the_thresholds_of_later_tasks_across_restarts_and_are_taken_back(base: Base) -> None:
    base.plan(*["echo again"] * 4)
    base.config["patterns"] = {"learning": {"enabled": True, "least_outcomes": 1}}
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        assert (await ended(daemon)).issues["repetition"] == 1
        (lesson,) = await told("a1", "repetition", "false_alarm", "--note", "it was fine")
        assert (lesson["factor"], lesson["last"]["because"]) == (1.1, "1 of 1 alarms were false")
        shown = (await chaperon("show", "a1")).output
        assert "outcomes   repetition: false_alarm" in shown
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(name="a2"), by="test")
        assert "repetition times 1.1" in (await chaperon("show", "a2")).output
        await ended(daemon, "a2")
        assert "1 → 1.1, because 1 of 1 alarms were false" in (await chaperon("outcome")).output
        (lesson,) = await told("--undo", "repetition")
        assert (lesson["factor"], lesson["last"]) == (1.0, None)
        again = await chaperon("outcome", "--undo", "repetition")
        assert (again.exit_code, "can be taken back" in again.stderr) == (2, True)
    (given,) = base.events(events.OutcomeGiven)
    assert (given.agent, given.pattern, given.note) == ("a1", "repetition", "it was fine")
    assert [one.adjustment.after for one in base.events(events.PatternAdjusted)] == [1.1, 1.0]


async def test_what_is_said_later_replaces_what_was_said_before_and_the_same_is_not_counted_twice(base: Base) -> None:
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        await told("a1", "repetition", "missed")
        again = await chaperon("outcome", "a1", "repetition", "missed")
        assert (again.exit_code, "was said to be missed before; nothing was noted" in again.stderr) == (2, True)
        base.plan(*["echo again"] * 4)
        await daemon.submit(base.submission(name="a2"), by="test")
        assert (await ended(daemon, "a2")).issues["repetition"] == 1
        await told("a2", "repetition", "false_alarm")
        (lesson,) = await told("a2", "repetition", "confirmed")
        assert (lesson["confirmed"], lesson["false_alarms"], lesson["missed"]) == (1, 0, 1)
    async with served(base):
        (lesson,) = await told()
        assert (lesson["confirmed"], lesson["false_alarms"], lesson["missed"]) == (1, 0, 1)


async def test_what_cannot_be_true_is_refused(base: Base) -> None:
    async with served(base) as (daemon, _):
        assert (await chaperon("outcome")).output == "Nothing was said of any issue yet.\n"
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        unseen = await chaperon("outcome", "a1", "repetition", "confirmed")
        assert "was not raised for agent a1" in unseen.stderr
        unknown = await chaperon("outcome", "a1", "repetitoin", "missed")
        assert "Did you mean 'repetition'?" in unknown.stderr
        assert (await chaperon("outcome", "a1", "repetition", "missed")).exit_code == 0
        assert (await chaperon("outcome", "a1")).exit_code == 2
        assert (await chaperon("outcome", "a1", "repetition", "missed", "--undo", "repetition")).exit_code == 2
    assert [given.outcome for given in base.events(events.OutcomeGiven)] == ["missed"]
