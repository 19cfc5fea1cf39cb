"""Checkpoints after every so many tasks: by the rule, and by a daemon."""

import json

import pytest

from checkpoints.model import Reason
from monitors.contract.tasks import Task
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.checkpointing.milestones import after_task
from tests.stages.daemon import Base, ended, served


def agent(number: int, state: AgentState = AgentState.DONE, workspace: str = "/repo") -> Summary:
    return Summary(f"a{number}", state, Task(f"t{number}", "do it", workspace), workspace, f"s{number}", 0.0)


def test_each_so_manieth_task_that_is_done_in_a_workspace_makes_one_due() -> None:
    others = [agent(9, AgentState.FAILED), agent(10, workspace="/other"), agent(11, AgentState.RUNNING)]
    due = [after_task(agent(n), [*map(agent, range(n + 1)), *others], 3, 70 + n) for n in range(7)]
    assert [capture.key if capture else None for capture in due] == [
        None,
        None,
        "periodic:3",
        None,
        None,
        "periodic:6",
        None,
    ]
    assert due[2] is not None
    assert (due[2].workspace, due[2].reason, due[2].moment.seq) == ("/repo", Reason.PERIODIC, 72)


def test_none_is_due_where_it_is_switched_off_or_the_task_was_not_done() -> None:
    assert after_task(agent(1), [agent(1)], 0, 7) is None
    failed = agent(1, AgentState.FAILED)
    assert after_task(failed, [failed], 1, 7) is None


@pytest.mark.parametrize("enabled", [True, False])
async def test_a_daemon_makes_it_when_the_agent_has_ended(base: Base, enabled: bool) -> None:
    base.config = {"checkpoints": {"periodic": 2, "enabled": enabled}}
    (base.repo / "plan.json").write_text(json.dumps([]))
    async with served(base) as (daemon, _):
        for name in ("a1", "a2", "a3"):
            await daemon.submit(base.submission(name=name), by="ann")
            await ended(daemon, name)
    made = [(event.agent, event.key) for event in base.events(events.CheckpointMade) if event.reason == "periodic"]
    assert made == ([("a2", "periodic:2")] if enabled else [])
