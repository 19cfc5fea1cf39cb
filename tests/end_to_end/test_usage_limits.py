"""Several agents at the usage limit of their account: their turns by priority, and another account taken meanwhile."""

from pathlib import Path

import anyio.to_thread
import httpx
import pytest
import yaml

from supervisor.config.load import ConfigSource
from supervisor.core.timers import RETRY
from supervisor.protocol import events
from supervisor.protocol.kinds.tasks import TaskClaimed, TasksAdded
from supervisor.protocol.tasks import TaskSpec
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.script import ApiError, ModelScript, Say, ScriptStep
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.service import run_daemon
from supervisor.runtime.services.budgets import account_facts
from tests.end_to_end.conftest import Stage
from tests.stages.daemon import ended, served, until
from tests.stages.house import bash
from tests.support import on_any_machine

pytestmark = [pytest.mark.real_cli, pytest.mark.slow]

PRIORITIES = {"low": 1, "high": 9, "middle": 5}


class AnHourLater(Clock):
    """The clock on the wall has gone on."""

    def wall(self) -> float:
        return super().wall() + 3_600


class Limit:
    """The usage limit of an account: while it holds, each call that follows an agent's first one is refused."""

    def __init__(self) -> None:
        self.holds = True
        self.notice = ApiError(400, f"Claude AI usage limit reached|{Clock().wall() + 1_800:.0f}")

    def scripts(self) -> list[ModelScript]:
        """An agent's model for each task: it begins, meets the limit, and ends."""
        met = ScriptStep((Say("done"),), failures=(self.notice,), is_failing=lambda: self.holds)
        return [ModelScript((bash(f"touch {name}"), met), when=f"Do {name}.") for name in PRIORITIES]


def add(daemon: Daemon, stage: Stage, name: str, priority: int) -> None:
    spec = TaskSpec(id=name, prompt=f"Do {name}.", repository=str(stage.repo), priority=priority)
    daemon.happened(TasksAdded(**daemon.stamp(""), request_id=name, by="ann", tasks=(spec,)))


def agents(stage: Stage) -> dict[str, str]:
    """The agent that claimed each task first."""
    return {claimed.task: claimed.worker for claimed in reversed(stage.base.events(TaskClaimed))}


async def all_limited(daemon: Daemon, stage: Stage) -> None:
    await until(lambda: len(agents(stage)) == len(PRIORITIES))
    for agent in agents(stage).values():
        await until(lambda agent=agent: state_of(daemon, agent) is AgentState.WAITING)  # type: ignore[misc]


def state_of(daemon: Daemon, agent: str) -> AgentState | None:
    known = daemon.board.known(agent)
    return known.state if known else None


def let_go(stage: Stage) -> list[str]:
    """The tasks whose agents were let go on, in order: each is journalled in its turn, and its CLI starts in its own time."""
    tasks = {agent: task for task, agent in agents(stage).items()}
    return [tasks[one.agent] for one in stage.base.events(events.TimerFired) if one.name == RETRY]


def relaunched(stage: Stage) -> list[str]:
    """The tasks whose agents were launched again, by name."""
    tasks = {agent: task for task, agent in agents(stage).items()}
    return sorted(tasks[one.agent] for one in stage.base.events(events.AgentLaunched) if one.number > 1)


async def test_agents_at_a_usage_limit_go_on_by_themselves_one_first_and_the_others_by_priority(stage: Stage) -> None:
    limit = Limit()
    stage.base.config["tasks"] = {"slots": 4}
    async with stage.playing(*limit.scripts()):
        async with run_daemon(stage.base.setup()) as daemon:
            for name, priority in PRIORITIES.items():
                add(daemon, stage, name, priority)
            await all_limited(daemon, stage)
            add(daemon, stage, "later", 99)
            by_agent = {agent: task for task, agent in agents(stage).items()}
            waiting = daemon.usage_turns.waiting()
            assert [by_agent[turn.agent] for turn in waiting] == ["high", "middle", "low"]
            assert "usage limit of the account" in account_facts(daemon).holds
        limit.holds = False
        assert let_go(stage) == []
        async with served(stage.base, clock=AnHourLater()) as (daemon, _):
            for agent in by_agent:
                assert (await ended(daemon, agent)).state is AgentState.DONE
            await until(lambda: "later" in agents(stage))
    first, *others = let_go(stage)
    assert others == [task for task in ("high", "middle", "low") if task != first]
    assert relaunched(stage) == ["high", "low", "middle"]
    happened = [record.event for record in stage.base.records()]
    gone = [n for n, one in enumerate(happened) if isinstance(one, events.TimerFired) and one.name == RETRY]
    answers = [
        n
        for n, one in enumerate(happened)
        if isinstance(one, events.LineReceived) and one.agent == agents(stage)[first] and n > gone[0]
    ]
    assert answers[0] < gone[1], "the others waited for its answer"
    claims = {one.task: n for n, one in enumerate(happened) if isinstance(one, TaskClaimed)}
    assert claims["later"] > gone[-1], "what waited goes on before another task is begun"
    conversations = [str(request.body) for request in stage.model.requests]
    for name in PRIORITIES:
        assert any(f"Do {name}." in one and "The service can be reached again." in one for one in conversations)


async def test_another_account_is_taken_live_and_pays_for_those_that_waited_and_for_those_that_run(
    stage: Stage, tmp_path: Path
) -> None:
    limit, go = Limit(), tmp_path / "go"
    keys = [tmp_path / "first.key", tmp_path / "second.key"]
    for number, key in enumerate(keys):
        key.write_text(f"sk-ant-account-{number}")
        key.chmod(0o600)
    waits = bash(f"touch begun; until [ -e {go} ]; do sleep 0.05; done")
    runs = ModelScript((waits, ScriptStep((Say("done"),))), when="Do it at length.")
    file = tmp_path / "chaperon.yaml"

    def configured(account: Path) -> None:
        agent = {"command": str(stage.cli), "credential": f"file:{account}"}
        replaced(yaml.safe_dump({**on_any_machine({"tasks": {"slots": 4}}), "agent": agent}))

    def replaced(text: str) -> None:
        """Write the file whole, so that no half of it is read."""
        beside = file.with_suffix(".new")
        beside.write_text(text)
        beside.rename(file)

    configured(keys[0])
    source = ConfigSource({"HOME": str(stage.base.home)}, file, system=tmp_path / "none.yaml")
    config = (await anyio.to_thread.run_sync(source.load)).config
    async with (
        stage.playing(*limit.scripts(), runs),
        served(stage.base, config=config, source=source) as (daemon, client),
    ):
        await daemon.submit(stage.base.submission(prompt="Do it at length.", name="long"), "ann")
        await until((stage.repo / "begun").exists)
        for name, priority in PRIORITIES.items():
            add(daemon, stage, name, priority)
        await all_limited(daemon, stage)
        keys[1].chmod(0o644)
        configured(keys[1])
        await confirmed(client, daemon, stage)
        await until(lambda: any("can be read by others" in one["summary"] for one in stage.base.incidents()))
        assert daemon.account == f"file:{keys[0]}", "what cannot be read changes nothing"
        keys[1].chmod(0o600)
        replaced(file.read_text() + "\n")
        limit.holds = False
        await until(lambda: daemon.account == f"file:{keys[1]}")
        for agent in agents(stage).values():
            assert (await ended(daemon, agent)).state is AgentState.DONE
        await until(lambda: bool(stage.base.events(events.AccountChanged)))
        go.touch()
        assert (await ended(daemon, "long")).state is AgentState.DONE
        accounts = (await client.get("/v1/budgets")).json()["accounts"]
    (changed,) = stage.base.events(events.AccountChanged)
    assert (changed.agent, changed.account, changed.before) == ("long", f"file:{keys[1]}", f"file:{keys[0]}")
    assert let_go(stage) == ["high", "middle", "low"]
    assert relaunched(stage) == ["high", "low", "middle"]
    assert {one["account"]: one["in_force"] for one in accounts} == {changed.before: False, changed.account: True}
    assert all(one["tokens"] for one in accounts)
    paid = [request.headers["x-api-key"] for request in stage.model.requests]
    assert paid == sorted(paid), "no call was paid by the first account once the second one paid"
    assert set(paid) == {"sk-ant-account-0", "sk-ant-account-1"}
    told = [incident["type"] for incident in stage.base.incidents()]
    assert "restart_needed" not in told


async def confirmed(client: httpx.AsyncClient, daemon: Daemon, stage: Stage) -> None:
    """Confirm what the configuration names, as a person does once the daemon asks for it."""
    await until(lambda: any(one["type"] == "programs_changed" for one in stage.base.incidents()))
    shown = (await client.get("/v1/trust/programs")).json()
    answer = await client.post("/v1/trust/programs", json={"digest": shown["digest"]})
    assert answer.status_code == 200, answer.text
