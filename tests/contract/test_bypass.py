"""How the real CLI shows that a call ran past the gate, and how it does not show one that was refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from supervisor.core.bypass import RETURNS
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.script import ModelScript, ScriptStep, ToolUse
from tests.contract.cli import Frame, running_cli

pytestmark = pytest.mark.real_cli

ALLOW = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
DENY = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "home/workspace").mkdir(parents=True)
    return tmp_path / "home/workspace"


async def played(workspace: Path, *calls: ToolUse, answers: tuple[Mapping[str, Any], ...] = ()) -> list[Frame]:
    """Have the calls made, one after another, with these answers to each question; return what the CLI printed."""
    script = ModelScript(tuple(ScriptStep((call,)) for call in calls))
    async with (
        ScriptedModel(script) as model,
        running_cli(workspace.parent, workspace, model.url, hook=lambda _: None if answers else {}) as cli,
    ):
        await cli.initialize("PreToolUse", *sorted(RETURNS))
        await cli.say("do the thing")
        if answers:
            asked = await cli.wait_for(lambda frame: frame["type"] == "control_request")
            for answer in answers:
                await cli.answer(asked["request_id"], answer)
            cli.hook = lambda _: {}
            returned = cli.wait_for(lambda frame: frame["type"] == "user" or hook_of(frame) in RETURNS)
            if hook_of(frame := await returned) in RETURNS:
                await cli.answer(frame["request_id"], {})
        await cli.result()
    return cli.out


def hook_of(frame: Frame) -> str:
    return str(frame.get("request", {}).get("input", {}).get("hook_event_name", ""))


def decision(frames: list[Frame]) -> str:
    """What the CLI says of the first result: whether the call was let run."""
    meta = next(frame["tool_result_meta"] for frame in frames if frame["type"] == "user")
    return str(meta[0]["permission_decision"]["decision"])


async def test_a_call_that_was_refused_comes_back_by_no_hook_and_is_said_to_be_rejected(workspace: Path) -> None:
    frames = await played(workspace, ToolUse("Bash", {"command": "echo hi"}), answers=(DENY,))
    assert not [frame for frame in frames if hook_of(frame) in RETURNS]
    assert decision(frames) == "reject"


@pytest.mark.parametrize(("command", "hook"), [("echo hi", "PostToolUse"), ("echo hi; false", "PostToolUseFailure")])
async def test_a_call_that_somebody_else_let_run_first_comes_back_by_a_hook_and_is_said_to_be_accepted(
    workspace: Path, command: str, hook: str
) -> None:
    frames = await played(workspace, ToolUse("Bash", {"command": command}), answers=(ALLOW, DENY))
    assert [hook_of(frame) for frame in frames if hook_of(frame) in RETURNS] == [hook]
    assert decision(frames) == "accept"


async def test_a_call_comes_back_with_the_very_input_that_was_asked_about(workspace: Path) -> None:
    """Relative paths and numbers as text included: so any difference was made by somebody."""
    (workspace / "one.txt").write_text("one\ntwo\n")
    calls = (
        ToolUse("Bash", {"command": " ls ", "timeout": 5000, "description": "look"}),
        ToolUse("Read", {"file_path": "one.txt"}),
        ToolUse("Read", {"file_path": str(workspace / "one.txt"), "offset": "1", "limit": 1}),
        ToolUse(
            "Edit", {"file_path": "~/workspace/one.txt", "old_string": "one", "new_string": "1", "replace_all": "true"}
        ),
        ToolUse("Write", {"file_path": "./two.txt", "content": "a\r\nb  \n"}),
        ToolUse("Bash", {"command": "true", "run_in_background": True}),
        ToolUse("Agent", {"description": "d", "prompt": "go", "subagent_type": "Explore"}),
    )
    frames = await played(workspace, *calls)
    asked: dict[str, Any] = {}
    same = []
    for given in (frame["request"]["input"] for frame in frames if frame["type"] == "control_request"):
        if given["hook_event_name"] == "PreToolUse":
            asked[given["tool_use_id"]] = given["tool_input"]
        else:
            same.append((given["tool_name"], given["tool_input"] == asked[given["tool_use_id"]]))
    assert sorted(same) == sorted((call.tool, True) for call in calls)
