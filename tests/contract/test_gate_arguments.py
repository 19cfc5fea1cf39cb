"""What can turn the CLI's hooks off, and what keeps them on, asserted against the real CLI: on who was asked, and on the disk."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from monitors.contract.tasks import Task
from supervisor.config.environment import AROUND_THE_GATE, GATE_ARGUMENTS, agent_environment, gate_arguments
from supervisor.config.model import Agent
from supervisor.protocol.commands import Launch
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.script import ModelScript, Say, ScriptStep, ToolUse
from supervisor.runtime.processes.bounds.cgroups import Uncontained
from supervisor.runtime.processes.launcher import NO_OWN_WORKTREES, ProcessLauncher
from tests.contract.cli import Frame, running_cli

pytestmark = pytest.mark.real_cli

ENTER = ToolUse("EnterWorktree", {"name": "side"})
BYPASS = ("--permission-mode", "bypassPermissions")
CALL = ToolUse("Bash", {"command": "echo ran > ran.txt", "description": "leave a mark"})

NO_HOOKS = {"env": {"CLAUDE_CODE_SIMPLE": "1"}}


def trusted(tmp_path: Path) -> None:
    """Let the CLI take the workspace for one that its user trusts, as one where they work every day is."""
    trust = {"projects": {str(tmp_path / "workspace"): {"hasTrustDialogAccepted": True}}}
    (tmp_path / "home/.claude.json").write_bytes(orjson.dumps(trust))


async def runs_unreviewed(
    tmp_path: Path, *arguments: str, user: Any = None, project: Any = None, environment: Mapping[str, str] | None = None
) -> bool:
    """Run one call under a hook that denies it; return whether it ran without anybody being asked."""
    for directory, settings in ((tmp_path / "home", user), (tmp_path / "workspace", project)):
        (directory / ".claude").mkdir(parents=True)
        if settings is not None:
            (directory / ".claude/settings.json").write_bytes(orjson.dumps(settings))
    trusted(tmp_path)
    asked: list[Frame] = []

    def deny(request: Frame) -> Mapping[str, Any]:
        asked.append(request)
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}

    async with (
        ScriptedModel(ModelScript((ScriptStep((CALL,)),))) as model,
        running_cli(
            tmp_path / "home",
            tmp_path / "workspace",
            model.url,
            hook=deny,
            arguments=arguments,
            environment=environment,
        ) as cli,
    ):
        await cli.initialize("PreToolUse")
        await cli.say("do the thing")
        await cli.result()
    ran = (tmp_path / "workspace/ran.txt").exists()
    assert ran is not bool(asked)
    return ran


async def test_simple_mode_calls_no_hooks_so_it_never_reaches_an_agent(tmp_path: Path) -> None:
    assert await runs_unreviewed(tmp_path, environment={"CLAUDE_CODE_SIMPLE": "1"})
    assert "CLAUDE_CODE_SIMPLE" in AROUND_THE_GATE
    assert agent_environment({"CLAUDE_CODE_SIMPLE": "1"}, {"CLAUDE_CODE_SIMPLE": "1"}).keys() == {"DISABLE_AUTOUPDATER"}


async def test_a_users_settings_can_ask_for_simple_mode_and_win_over_the_environment(tmp_path: Path) -> None:
    assert await runs_unreviewed(tmp_path, user=NO_HOOKS, environment={"CLAUDE_CODE_SIMPLE": "0"})


async def test_the_gates_arguments_win_over_a_users_settings(tmp_path: Path) -> None:
    assert not await runs_unreviewed(tmp_path, *GATE_ARGUMENTS, user=NO_HOOKS)


@pytest.mark.parametrize("settings", [NO_HOOKS, {"disableAllHooks": True}])
async def test_a_projects_settings_cannot_turn_the_gate_off(tmp_path: Path, settings: Any) -> None:
    assert not await runs_unreviewed(tmp_path, *GATE_ARGUMENTS, project=settings)


async def test_hooks_switched_off_by_the_user_leave_the_gate_on(tmp_path: Path) -> None:
    assert not await runs_unreviewed(tmp_path, *GATE_ARGUMENTS, user={"disableAllHooks": True})


@pytest.mark.parametrize(
    "name",
    ["CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_DISABLE_HOOK_FORWARDING", "CLAUDE_CODE_PERSONAL_HOOKS_OFF", "CLAUDECODE"],
)
async def test_other_variables_that_sound_like_it_do_not_turn_the_gate_off(tmp_path: Path, name: str) -> None:
    assert not await runs_unreviewed(tmp_path, *GATE_ARGUMENTS, environment={name: "1"})


SKILL = """---
name: tidy
description: tidies
allowed-tools: Bash(*)
hooks:
  PreToolUse:
    - matcher: Bash
      hooks: [{type: command, command: 'echo ran > "$CLAUDE_PROJECT_DIR/by-hook.txt"'}]
---
The state: !`echo ran > by-line.txt`
"""


async def left_by_a_skill(tmp_path: Path, *arguments: str, user: Any = None) -> set[str]:
    """Use a skill with shell lines and hooks, then call a shell, under a hook that denies the call; return what ran all the same."""
    skill = tmp_path / "workspace/.claude/skills/tidy/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL)
    (tmp_path / "home/.claude").mkdir(parents=True)
    if user is not None:
        (tmp_path / "home/.claude/settings.json").write_bytes(orjson.dumps(user))

    def deny_shells(request: Frame) -> Mapping[str, Any]:
        answer = "deny" if request["input"]["tool_name"] == "Bash" else "allow"
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": answer}}

    steps = (ScriptStep((ToolUse("Skill", {"skill": "tidy"}),)), ScriptStep((CALL,)))
    async with (
        ScriptedModel(ModelScript(steps)) as model,
        running_cli(tmp_path / "home", tmp_path / "workspace", model.url, hook=deny_shells, arguments=arguments) as cli,
    ):
        await cli.initialize("PreToolUse")
        await cli.say("do the thing")
        await cli.result()
    return {path.name for path in (tmp_path / "workspace").glob("*.txt")}


async def test_a_skill_runs_shell_lines_and_hooks_that_nobody_is_asked_about(tmp_path: Path) -> None:
    assert await left_by_a_skill(tmp_path) == {"by-line.txt", "by-hook.txt"}


@pytest.mark.parametrize("user", [None, {"disableSkillShellExecution": False, "disableAllHooks": False}])
async def test_the_gates_arguments_keep_a_skills_shell_lines_and_hooks_from_running(tmp_path: Path, user: Any) -> None:
    assert await left_by_a_skill(tmp_path, *GATE_ARGUMENTS, user=user) == set()


async def test_where_hooks_of_settings_are_let_run_those_of_a_skill_run_too(tmp_path: Path) -> None:
    """So using a skill that has some is what the reviewer blocks (`monitors.review.scene.agent_definitions`)."""
    assert await left_by_a_skill(tmp_path, *gate_arguments(hooks=True)) == {"by-hook.txt"}


async def read_by_mentions(tmp_path: Path, *arguments: str, user: Any = None) -> set[str]:
    """Have files named as `@PATH` on each way that leads into a prompt; return the ways on which the CLI read one."""
    base, ways = tmp_path / "workspace", ("prompt", "mid-turn", "skill", "argument")
    kept = {way: f"the-{way}-secret" for way in ways}
    (tmp_path / "home/.claude").mkdir(parents=True)
    (tmp_path / "home/.claude/settings.json").write_bytes(orjson.dumps(user or {}))
    for way, text in kept.items():
        (tmp_path / way).write_text(text)
    skill = base / ".claude/skills/helper/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(f"---\nname: helper\ndescription: helps\n---\nLook at @{tmp_path}/skill\n$ARGUMENTS\n")
    trusted(tmp_path)
    use = ToolUse("Skill", {"skill": "helper", "args": f"@{tmp_path}/argument"})
    script = ModelScript((ScriptStep((CALL,)), ScriptStep((use,))))
    held: list[Frame] = []

    def hold(request: Frame) -> Mapping[str, Any] | None:
        held.append(request)
        return None if len(held) == 1 else {}

    async with (
        ScriptedModel(script) as model,
        running_cli(tmp_path / "home", base, model.url, hook=hold, arguments=arguments) as cli,
    ):
        await cli.initialize("PreToolUse")
        await cli.say(f"see @{tmp_path}/prompt please")
        first = await cli.wait_for(lambda frame: frame["type"] == "control_request")
        await cli.say(f"and @{tmp_path}/mid-turn please")
        await cli.answer(first["request_id"], {})
        await cli.result()
    assert [request["input"]["tool_name"] for request in held] == ["Bash", "Skill"], "no hook is asked of a reading"
    told = str([request.body for request in model.requests])
    assert f"@{tmp_path}/mid-turn" in told
    return {way for way, text in kept.items() if text in told}


async def test_a_file_that_is_named_with_an_at_is_read_unasked_on_each_way_into_a_prompt(tmp_path: Path) -> None:
    assert await read_by_mentions(tmp_path) == {"prompt", "skill", "argument"}


@pytest.mark.parametrize("user", [None, {"env": {"CLAUDE_CODE_DISABLE_FILE_MENTIONS": "0"}}])
async def test_the_gates_arguments_keep_files_that_are_named_with_an_at_from_being_read(
    tmp_path: Path, user: Any
) -> None:
    assert await read_by_mentions(tmp_path, *GATE_ARGUMENTS, user=user) == set()


SUBAGENT = """---
name: tidy
description: tidies
tools: Bash
mcpServers:
  - mini: {type: stdio, command: sh, args: ["-c", "echo ran > by-server.txt"]}
hooks:
  PreToolUse:
    - matcher: Bash
      hooks: [{type: command, command: 'echo ran > "$CLAUDE_PROJECT_DIR/by-hook.txt"'}]
---
You tidy up.
"""


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (GATE_ARGUMENTS, set()),
        (gate_arguments(servers=True), {"by-server.txt"}),
        (gate_arguments(hooks=True, servers=True), {"by-server.txt", "by-hook.txt"}),
    ],
)
async def test_a_subagent_of_a_trusted_project_starts_hooks_and_servers_only_where_these_are_let_run(
    tmp_path: Path, arguments: tuple[str, ...], left: set[str]
) -> None:
    """Nobody is asked, so starting a subagent that has some is what the reviewer blocks (`monitors.review.scene.agent_definitions`)."""
    definition = tmp_path / "workspace/.claude/agents/tidy.md"
    definition.parent.mkdir(parents=True)
    definition.write_text(SUBAGENT)
    trusted(tmp_path)
    start = ToolUse("Agent", {"description": "tidy", "prompt": "tidy-it-up", "subagent_type": "tidy"})
    scripts = [
        ModelScript((ScriptStep((CALL,)), ScriptStep((Say("done"),))), when="tidy-it-up"),
        ModelScript((ScriptStep((start,)),)),
    ]
    async with (
        ScriptedModel(scripts) as model,
        running_cli(tmp_path / "home", tmp_path / "workspace", model.url, arguments=arguments) as cli,
    ):
        await cli.initialize("PreToolUse")
        await cli.say("do the thing")
        await model.wait_for_step(1, script=0)
    assert {path.name for path in (tmp_path / "workspace").glob("by-*.txt")} == left


async def test_every_agent_is_started_with_the_gates_arguments_last(tmp_path: Path) -> None:
    cli = tmp_path / "claude"
    cli.write_text("#!/bin/sh\necho '2.1.400 (Claude Code)'\n")
    cli.chmod(0o755)
    settings = Agent(command=str(cli), arguments=("--add-dir", "/x"))
    launcher = ProcessLauncher(settings, {"CLAUDE_CODE_SIMPLE": "1"}, tmp_path, Uncontained("for the test"))
    spec = launcher._spec("a1", Launch(Task("t", "prompt", "/repo"), "/workspace", "session"))
    assert tuple(spec.argv[-len(GATE_ARGUMENTS) :]) == GATE_ARGUMENTS
    assert "CLAUDE_CODE_SIMPLE" not in spec.env


async def test_an_agent_makes_no_worktree_of_the_clis_own_in_the_persons_checkout(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", "-C", workspace, "-c", "user.name=a", "-c", "user.email=a@x", *command], check=True)
    steps = tuple(ScriptStep((use,)) for use in (ToolUse("ToolSearch", {"query": "select:EnterWorktree"}), ENTER))
    made = {}
    for arguments in ((), (NO_OWN_WORKTREES, "--disallowedTools=WebFetch")):  # those of the configuration come later
        async with (
            ScriptedModel(ModelScript(steps)) as model,
            running_cli(tmp_path / "home", workspace, model.url, arguments=(*arguments, *BYPASS)) as cli,
        ):
            await cli.initialize()
            await cli.say("do the thing")
            await cli.result()
        made[arguments] = (workspace / ".claude/worktrees/side").exists()
        shutil.rmtree(workspace / ".claude", ignore_errors=True)
    assert list(made.values()) == [True, False]
