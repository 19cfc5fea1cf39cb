"""The hook for SDK programs: its callback as the SDK calls it, over a real daemon, and in the real SDK."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import chaperon.client
from chaperon.hooks import hook_output
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.model_requests import tool_results
from supervisor.rehearsal.script import ModelScript, Say, ScriptStep, ToolUse
from tests.stages.daemon import Base, served
from tests.support import cli_environment, real_claude_path


def call(tool: str, cwd: Path, **tool_input: Any) -> dict[str, Any]:
    """The callback's argument, as the CLI sends it to the SDK."""
    return {
        "hook_event_name": "PreToolUse", "session_id": "s", "transcript_path": "/t", "cwd": str(cwd), "tool_use_id": "t1",
        "tool_name": tool, "tool_input": tool_input,
    }  # fmt: skip


async def answered(base: Base, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The callback's answer, as the SDK gets it."""
    (matcher,) = chaperon.client.hooks(workspace=base.repo, socket=base.places.socket)["PreToolUse"]
    assert (matcher.matcher, matcher.on_failure) == (None, "block")
    (callback,) = matcher.hooks
    answer: Any = await callback(given, "t1", {"signal": None})  # type: ignore[arg-type]
    specific: Mapping[str, Any] = answer.get("hookSpecificOutput", {})
    return specific


async def test_a_call_that_the_policy_blocks_is_denied_with_its_reason(base: Base) -> None:
    async with served(base):
        answer = await answered(base, call("Bash", base.repo, command="rm -rf ~/"))
    assert answer["permissionDecision"] == "deny"
    assert "home" in answer["permissionDecisionReason"]


async def test_a_call_that_the_policy_allows_is_left_to_the_program(base: Base) -> None:
    async with served(base):
        assert await answered(base, call("Bash", base.repo, command="ls")) == {}


async def test_every_call_is_denied_while_no_daemon_answers(base: Base) -> None:
    answer = await answered(base, call("Bash", base.repo, command="ls"))
    assert answer["permissionDecision"] == "deny"
    assert "chaperon serve" in answer["permissionDecisionReason"]


@pytest.mark.parametrize(
    "wrong", [{}, {"tool_name": 7}, {"tool_input": None}, {"tool_input": "rm"}, {"cwd": []}, {"tool_input": {"a": object()}}]
)  # fmt: skip
async def test_a_call_that_cannot_be_read_is_denied(base: Base, wrong: dict[str, Any]) -> None:
    given = {**call("Bash", base.repo, command="ls"), **wrong} if wrong else {}
    async with served(base):
        assert (await answered(base, given)).get("permissionDecision") == ("deny" if wrong != {"cwd": []} else None)


def test_each_decision_has_its_form() -> None:
    review = {"reasoning": "why", "updated_input": {"command": "ls"}}
    shapes = {
        "allow": {},
        "warn": {"additionalContext": "why"},
        "modify": {"additionalContext": "why", "updatedInput": {"command": "ls"}},
        "block": {"permissionDecision": "deny", "permissionDecisionReason": "why"},
    }
    for decision, wanted in shapes.items():
        made = hook_output({**review, "decision": decision}).get("hookSpecificOutput", {})
        assert {key: value for key, value in made.items() if key != "hookEventName"} == wanted
    assert hook_output({**review, "decision": "later"})["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.real_cli
async def test_a_program_on_the_real_sdk_is_kept_from_what_the_policy_blocks(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program permits everything; only the hook stands between the model and the command."""
    import claude_agent_sdk  # a second of a processor, which each worker would take that collects this module

    kept = base.home / "kept"
    kept.write_text("mine\n")
    steps = (
        ScriptStep((ToolUse("Bash", {"command": f"rm -rf {base.home}", "description": "A step"}),)),
        ScriptStep((ToolUse("Bash", {"command": "touch allowed", "description": "A step"}),)),
        ScriptStep((Say("done"),)),
    )
    async with ScriptedModel(ModelScript(steps)) as model, served(base):
        environ = cli_environment(base.home, model.url)
        for name in os.environ.keys() - environ.keys() - {"PYTEST_CURRENT_TEST"}:
            monkeypatch.delenv(name)
        options = claude_agent_sdk.ClaudeAgentOptions(
            hooks=chaperon.client.hooks(workspace=base.repo, socket=base.places.socket),
            cli_path=real_claude_path(), cwd=base.repo, env=environ, permission_mode="bypassPermissions",
        )  # fmt: skip
        async for _ in claude_agent_sdk.query(prompt="Clean up.", options=options):
            pass
        told = [one.text for one in tool_results(model.conversation()[-1]).values()]
    assert kept.read_text() == "mine\n"
    assert (base.repo / "allowed").exists()
    assert len(told) == 2
    assert f"This would delete {base.home}" in told[0]
