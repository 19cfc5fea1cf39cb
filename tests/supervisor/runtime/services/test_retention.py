"""What is removed once it is old, and what never is."""

import logging
import os
from pathlib import Path

import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.clock import Clock
from supervisor.runtime.service import run_daemon
from supervisor.runtime.services.retention import forget_output
from tests.stages.daemon import Base, ended, reached, served, until

pytestmark = pytest.mark.slow

WAITS = "begin()\nwhile True:\n    hear()"


@pytest.fixture(autouse=True)
def _clocks_that_are_trusted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervisor.runtime.clock.SETTLING_SECONDS", 0.0)


class TenDaysLater(Clock):
    """The clock on the wall has gone on."""

    def wall(self) -> float:
        return super().wall() + 10 * 86_400


async def one_that_ended_and_one_that_lives(base: Base, store: str = "full") -> None:
    base.config["audit"] = {"store": store}
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(name="done"), by="ann")
        await ended(daemon, "done")
        base.cli(WAITS)
        await daemon.submit(base.submission(name="alive"), by="ann")
        await reached(daemon, AgentState.RUNNING, "alive")


def printed(base: Base, agent: str) -> bool:
    return (base.places.agents / agent / "out.log").exists()


async def test_what_an_agent_printed_goes_some_days_after_its_end_and_the_rest_of_its_story_stays(base: Base) -> None:
    await one_that_ended_and_one_that_lives(base)
    base.config["audit"] = {"store": "full", "retain_days": 9}
    async with served(base, clock=TenDaysLater()) as (daemon, _):
        await until(lambda: not printed(base, "done"))
        assert printed(base, "alive")
        assert daemon.board.summary("done").state is AgentState.DONE
        assert daemon.board.summary("alive").state is AgentState.RUNNING
    async with served(base) as (daemon, _):
        assert daemon.board.summary("done").state is AgentState.DONE
    assert "done" in {event.agent for event in base.events(events.TaskSubmitted)}, "the journal has it"


async def test_nothing_goes_by_a_clock_that_may_be_set_right_yet(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    await one_that_ended_and_one_that_lives(base)
    base.config["audit"] = {"store": "full", "retain_days": 9}
    (base.places.agents / "done" / "seal").write_text("left by a daemon that was killed")
    monkeypatch.setattr("supervisor.runtime.clock.SETTLING_SECONDS", 3_600.0)
    async with served(base, clock=TenDaysLater()):
        await until(lambda: not (base.places.agents / "done" / "seal").exists())  # needs no clock, and comes first
    assert (base.places.agents / "done" / "exit.json").exists()


@pytest.mark.parametrize("audit", [{}, {"retain_days": 11}])
async def test_until_then_and_by_default_it_stays(base: Base, audit: dict[str, int]) -> None:
    await one_that_ended_and_one_that_lives(base)
    base.config["audit"] = {"store": "full", **audit}
    old = base.places.state / "incidents" / "old.json"
    old.write_text("{}")
    os.utime(old, (0, 0))
    async with served(base, clock=TenDaysLater()):
        await until(lambda: not old.exists())
    assert printed(base, "done")


async def test_what_was_sealed_goes_at_the_end_at_the_latest_with_the_next_start(base: Base) -> None:
    await one_that_ended_and_one_that_lives(base, "masked")
    assert not printed(base, "done")
    assert (base.places.agents / "done" / "exit.json").exists()
    for name in ("seal", "out.log"):
        (base.places.agents / "done" / name).write_text("left by a daemon that was killed")
    async with served(base):
        await until(lambda: not printed(base, "done"))
        assert printed(base, "alive")


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    return tmp_path / "agents"


def test_each_launch_goes_a_conversation_stays_and_what_cannot_go_holds_up_nothing(
    agents: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "chaperon")
    for name in ("a1/out.log", "a1/launch-2/out.log", "a1/claude/session.jsonl", "a2/agent.json", "a3/out.log"):
        (agents / name).parent.mkdir(parents=True, exist_ok=True)
        (agents / name).write_text("no json")
    assert forget_output(agents, ["a1", "a2", "a3", "gone"]) == ["a1", "a3"]
    assert sorted(str(path.relative_to(agents)) for path in agents.rglob("*")) == [
        "a1", "a1/claude", "a1/claude/session.jsonl", "a2", "a2/agent.json",
    ]  # fmt: skip
    assert "agent a2 printed could not be removed" in caplog.text
    assert forget_output(agents, ["a1", "a3"]) == []
