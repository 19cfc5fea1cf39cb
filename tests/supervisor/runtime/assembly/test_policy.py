"""A policy: what of a configuration can change while a daemon runs, and by what it is known."""

import json
from pathlib import Path
from typing import Any

import pytest

from supervisor.config.model import Agent, Config
from supervisor.config.sections.sandbox import SandboxSection
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.assembly.policy import AT_THE_START, change, digest_of, read_beside
from tests.stages.daemon import Base, ended, reached, served, until
from tests.stages.live import make_repository


def test_each_key_that_waits_for_a_start_is_one_that_there_is() -> None:
    keys = Config().model_dump(by_alias=True)
    for path in AT_THE_START:
        there = keys
        for step in path.split("."):
            assert step in there, f"{path} is no key of the configuration"
            there = there[step]


def test_what_waits_for_a_start_stays_as_it_was_and_the_rest_is_taken() -> None:
    wanted = Config.model_validate(
        {
            "socket": {"mode": 0o660},
            "checkpoints": {"maxCount": 7},
            "patterns": {"judge": {"enabled": True}, "goal_drift": False},
            "interventions": {"max_retries": 1, "emergency_stop": {"auto_cleanup": True}},
        }
    )
    found = change(Config(), wanted)
    assert found.live == ("patterns.goal_drift.enabled", "interventions.max_retries")
    assert found.at_the_start == (
        "socket.mode",
        "patterns.judge.enabled",
        "interventions.emergency_stop.auto_cleanup",
        "checkpoints.maxCount",
    )
    taken = Config.model_validate({"patterns": {"goal_drift": False}, "interventions": {"max_retries": 1}})
    assert found.config == taken


def test_a_configuration_that_says_the_same_is_no_change() -> None:
    found = change(Config(), Config.model_validate({"reviewer": {"enabled": True}, "resources": {"profile": "real"}}))
    assert (found.live, found.at_the_start, found.config) == ((), (), Config())


@pytest.mark.parametrize("profile", ["real", "mission"])
def test_a_change_keeps_the_limits_that_a_profile_gives(profile: str) -> None:
    wanted = Config.model_validate({"resources": {"profile": profile, "max_token_usage": 5}})
    assert change(Config(), wanted).config.resources == wanted.resources


def test_the_digest_is_that_of_keys_texts_and_the_code_of_plugins_and_of_nothing_that_waits_for_a_start(
    tmp_path: Path,
) -> None:
    texts, plugin = tmp_path / "texts.yaml", tmp_path / "own.py"
    texts.write_text("repetition: Stop.")
    plugin.write_text("x = 1")

    def digest(**more: object) -> str:
        soft = {"soft_correction": {"custom_prompts_path": str(texts)}}
        given = {"interventions": soft, "plugins": {"detectors": [str(plugin)]}, **more}
        config = Config.model_validate(given)
        assert read_beside(config) == (texts, plugin)
        return digest_of(config)

    first = digest()
    assert digest(socket={"mode": 0o660}, agent={"environment": {"KEY": "secret"}}) == first
    seen = {first, digest(rules=[{"name": "a", "decision": "block", "reason": "x"}])}
    texts.write_text("repetition: Halt.")
    seen.add(digest())
    plugin.write_text("x = 2")
    seen.add(digest())
    seen.add(digest(sandbox={"profile": "container"}))
    assert len(seen) == 5, "the profile of a machine that is thrown away is part of how reviews judge"


async def test_on_a_machine_that_is_thrown_away_files_are_scratch_but_the_workspaces_of_other_agents_are_not(
    base: Base,
) -> None:
    base.config = {"sandbox": {"profile": "container"}}
    base.cli("begin()\nwhile True:\n    hear()")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        beside = base.root / "beside"
        commands = [
            f"touch {base.home}/x",
            f"touch {base.repo}/x",
            f"rm -rf {base.repo}",
            "git push --force origin main",
        ]
        make_repository(beside, {"plan.json": json.dumps(commands)})
        base.plan()
        await daemon.submit(base.submission(name="a2", repository=str(beside)), by="test")
        await ended(daemon, "a2")
    made = [str(each.review.decision) for each in base.events(events.ReviewMade) if each.agent == "a2"]
    assert made == ["allow", "block", "block", "modify"]


def test_of_the_sandbox_only_named_hosts_are_taken_while_the_daemon_runs() -> None:
    wanted = Config.model_validate(
        {"sandbox": {"profile": "closed", "read": ["/x"], "memory_mb": 7, "hosts": ["packages.example"]}}
    )
    found = change(Config(), wanted)
    assert found.live == ("sandbox.hosts",)
    assert set(found.at_the_start) == {"sandbox.profile", "sandbox.read", "sandbox.memory_mb"}
    taken = {key.removeprefix("sandbox.") for key in AT_THE_START if key.startswith("sandbox.")}
    assert taken == SandboxSection.model_fields.keys() - {"hosts"}, "what is read at the start alone says so"


def test_of_how_agents_are_started_only_who_pays_and_their_fate_at_the_end_are_taken_while_the_daemon_runs() -> None:
    wanted = Config.model_validate(
        {"agent": {"credential": "file:/key", "at_daemon_end": "pause", "own_config_dir": True}}
    )
    found = change(Config(), wanted)
    assert found.live == ("agent.credential", "agent.at_daemon_end")
    assert found.at_the_start == ("agent.own_config_dir",)
    taken = {key.removeprefix("agent.") for key in AT_THE_START if key.startswith("agent.")}
    assert taken == Agent.model_fields.keys() - {"credential", "credentials", "at_daemon_end"}, (
        "what is read at the start alone says so"
    )


def test_each_section_says_who_takes_its_keys_while_the_daemon_runs() -> None:
    whole = {key.split(".")[0] for key in AT_THE_START if "." not in key}
    by_sessions = {"stop", "rules", "protected_paths", "reviewer", "patterns", "progress", "interventions", "plugins"}
    by_others = {
        "agent": "the launcher and the gateway",
        "sandbox": "the gateway",
        "resources": "defaults of tasks, and budgets",
        "approval": "sessions",
        "tasks": "the dispatcher",
        "verify": "the merge queue",
        "merge": "the merge queue",
        "discoveries": "the intake, and telling",
    }
    assert whole | by_sessions | by_others.keys() == Config.model_fields.keys(), (
        "a key that no part takes in mid-run stands in AT_THE_START, or the daemon says of it that it is in force"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("configured", "own", "waits"),
    [
        ({"mode": "ask"}, {"deadline_seconds": 300}, True),
        ({"mode": "ask", "require_approval_for": ["network"]}, {"deadline_seconds": 300}, False),
        ({"mode": "ask"}, {"mode": "off"}, False),
        ({}, {"require_approval_for": ["changes_something"]}, True),
        ({}, {"tools": ["Bash"]}, True),
        ({}, {"deadline_seconds": 300}, False),
    ],
)
async def test_what_a_task_says_of_approvals_counts_over_what_is_configured_and_of_the_rest_what_is_configured(
    base: Base, configured: dict[str, Any], own: dict[str, Any], *, waits: bool
) -> None:
    base.config["approval"] = configured
    base.plan("echo 1 > one")
    async with served(base) as (daemon, client):
        await daemon.submit(base.submission(approval=own), by="test")
        await until(lambda: daemon.board.summary("a1").state.ended or bool(daemon.board.summary("a1").waiting))
        assert bool(daemon.board.summary("a1").waiting) is waits
        if waits:
            await client.post("/v1/orders/stop", json={"request_id": "enough"})
        await ended(daemon)
