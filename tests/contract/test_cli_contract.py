"""What chaperon's design builds on, asserted against the real CLI: on what the model was sent, and on the disk.

Where one of these fails, the CLI has changed, and the part of chaperon that is named by the test needs a look.
"""

import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from monitors.review import tools
from supervisor.protocol.claude import control
from supervisor.protocol.claude.messages import parse_frame
from supervisor.protocol.claude.prices import Spent, price_of
from supervisor.protocol.claude.usage_limits import LimitNotice
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.model_requests import tool_results, what_the_model_was_told
from supervisor.rehearsal.script import ApiError, BrokenStream, ModelScript, Say, ScriptStep, ScriptTokens, ToolUse
from tests.contract.cli import MARK, Cli, Frame, event_of, kind, on, running_cli
from tests.support import processes_in

pytestmark = pytest.mark.real_cli

SESSION = "5f0c2b1e-7a59-4a55-9b3e-0123456789ab"

Run = Callable[..., AbstractAsyncContextManager[tuple[Cli, ScriptedModel]]]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    return path


@pytest.fixture
def run(tmp_path: Path, workspace: Path) -> Run:
    """Start the CLI on a script, with hooks registered and the task said."""

    @asynccontextmanager
    async def start(
        *blocks: ToolUse | Say | ScriptStep,
        scripts: tuple[ModelScript, ...] = (),
        hooks: tuple[str, ...] = ("PreToolUse",),
        timeout: float | None = 30,
        prompt: str = "do the thing",
        **more: Any,
    ) -> AsyncIterator[tuple[Cli, ScriptedModel]]:
        steps = tuple(block if isinstance(block, ScriptStep) else ScriptStep((block,)) for block in blocks)
        async with (
            ScriptedModel([*scripts, ModelScript(steps)]) as model,
            running_cli(tmp_path / "home", workspace, model.url, **more) as cli,
        ):
            await cli.initialize(*hooks, timeout=timeout)
            await cli.say(prompt)
            yield cli, model

    return start


def told(model: ScriptedModel, step: int = 1, script: int = 0) -> str:
    """What was new to the model in its request for this step."""
    request = next(request for request in model.requests if (request.script, request.step) == (script, step))
    return what_the_model_was_told(request)


# ── the gate ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_hook_that_is_never_answered_stops_the_call_at_its_timeout(run: Run, workspace: Path) -> None:
    async with run(MARK, hook=lambda _: None, timeout=1) as (cli, model):
        await cli.result()
    assert not (workspace / "ran.txt").exists()
    assert tool_results(model.requests[-1])["toolu_0001"].is_error


async def test_a_call_whose_hook_waits_does_not_run_when_the_input_closes(run: Run, workspace: Path) -> None:
    async with run(MARK, hook=lambda _: None) as (cli, _):
        await cli.wait_for(lambda frame: frame["type"] == "control_request")
        await cli.close_input()
        await cli.exit_code()
    assert not (workspace / "ran.txt").exists()


async def test_hooks_are_called_under_every_permission_mode(run: Run, workspace: Path) -> None:
    deny = on("PreToolUse", permissionDecision="deny", permissionDecisionReason="no")
    async with run(MARK, mode="default", hook=deny) as (cli, _):
        await cli.result()
    assert not (workspace / "ran.txt").exists()
    assert [event_of(frame["request"]) for frame in cli.out if frame["type"] == "control_request"] == ["PreToolUse"]


async def test_a_call_whose_hook_failed_is_still_asked_of_the_second_gate(run: Run, workspace: Path) -> None:
    def refuse(request: Frame) -> Mapping[str, Any]:
        return {"behavior": "deny", "message": "the-second-gate-held"}

    async with run(MARK, mode="default", hook=lambda _: None, permission=refuse) as (cli, model):
        asked = await cli.wait_for(lambda frame: frame["type"] == "control_request")
        await cli.answer_error(asked["request_id"], "the reviewer raised")
        await cli.result()
    assert not (workspace / "ran.txt").exists()
    assert "the-second-gate-held" in told(model)


async def test_a_call_of_default_mode_runs_with_the_input_that_the_second_gate_gave(run: Run, workspace: Path) -> None:
    def change(request: Frame) -> Mapping[str, Any]:
        return {"behavior": "allow", "updatedInput": {"command": "echo other > other.txt"}}

    async with run(MARK, mode="default", permission=change) as (cli, _):
        await cli.result()
    assert (workspace / "other.txt").exists()
    assert not (workspace / "ran.txt").exists()


async def test_a_hook_timeout_past_what_a_32_bit_timer_holds_still_waits(run: Run, workspace: Path) -> None:
    """Timers of a JavaScript runtime may fire at once past 2**31 ms; this CLI's do not, and ours stays below anyway."""
    assert control.HOOK_TIMEOUT_SECONDS * 1000 < 2**31
    async with run(MARK, hook=lambda _: None, timeout=2**31 / 1000 + 1000) as (cli, _):
        asked = await cli.wait_for(lambda frame: frame["type"] == "control_request")
        await anyio.sleep(0.3)
        assert len(cli.out) == cli.out.index(asked) + 1
        await cli.answer(asked["request_id"], {})
        await cli.result()
    assert (workspace / "ran.txt").exists()


SLOW_COUNT = ModelScript((ScriptStep((Say("seven-files"),), first_byte_seconds=4),), when="count-the-files")
"""A subagent that ends after the turn that started it, on a busy machine too."""

TASK = ToolUse("Agent", {"description": "count", "prompt": "count-the-files", "subagent_type": "general-purpose"})


async def test_every_hook_event_that_is_registered_is_known_to_the_cli(run: Run) -> None:
    scripts = (ModelScript((ScriptStep((Say("counted"),)),), when="count-the-files"),)
    async with run(MARK, TASK, scripts=scripts, hooks=control.HOOK_EVENTS) as (cli, _):
        await cli.wait_for(lambda frame: event_of(frame.get("request", {})) == "SubagentStop")
        await cli.result()
    asked = {event_of(frame["request"]) for frame in cli.out if frame["type"] == "control_request"}
    assert asked == set(control.HOOK_EVENTS) - {"PostToolUseFailure", "PreCompact", "ConfigChange"}


async def test_a_subagent_runs_in_the_background_and_its_end_starts_a_turn_by_itself(run: Run) -> None:
    """So a result is not the end of the work while a task is under way: closing the input must wait."""
    scripts = (SLOW_COUNT,)
    async with run(TASK, Say("launched"), Say("told"), scripts=scripts) as (cli, model):
        first, second = await cli.result(), await cli.result(2)
    kinds = [kind(frame) for frame in cli.out]
    started, ended = kinds.index("system/task_started"), kinds.index("system/task_notification")
    assert started < cli.out.index(first) < ended < cli.out.index(second)
    assert (first["result"], second["result"]) == ("launched", "told")
    assert "seven-files" in told(model, step=2, script=1)


async def test_a_command_in_the_background_is_listed_while_it_runs_and_its_end_starts_a_turn_by_itself(
    run: Run,
) -> None:
    command = ToolUse("Bash", {"command": "sleep 1", "description": "wait", "run_in_background": True})
    async with run(command, Say("launched"), Say("told")) as (cli, _):
        first, second = await cli.result(), await cli.result(2)
    lists = [frame["tasks"] for frame in cli.out if frame.get("subtype") == "background_tasks_changed"]
    assert [[task["task_type"] for task in tasks] for tasks in lists] == [["local_bash"], []]
    assert (first["result"], second["result"]) == ("launched", "told")


async def test_what_a_command_in_the_background_wakes_is_refused_its_calls_once_the_input_closed(
    run: Run, workspace: Path
) -> None:
    command = ToolUse("Bash", {"command": "sleep 1", "description": "wait", "run_in_background": True})
    async with run(command, Say("launched"), MARK) as (cli, model):
        await cli.result()
        assert await cli.finish() == 0
    assert tool_results(model.requests[-1])["toolu_0002"].is_error
    assert not (workspace / "ran.txt").exists()


async def test_a_wakeup_that_is_planned_keeps_no_cli_from_ending(run: Run) -> None:
    """So in a run of one turn it never comes, and planning one is blocked there."""
    later = ToolUse("ScheduleWakeup", {"delaySeconds": 60, "reason": "wait", "prompt": "look again"})
    async with run(later, Say("I look again later")) as (cli, model):
        await cli.result()
        assert await cli.finish() == 0
    assert "harness re-invokes you" in told(model)
    assert len(model.conversation()) == 2


async def test_a_cli_told_to_end_its_background_commands_ends_as_its_input_closes(run: Run, workspace: Path) -> None:
    """It would give them ten minutes of its own otherwise."""
    server = ToolUse("Bash", {"command": "sleep 900", "description": "serve", "run_in_background": True})
    async with run(server, Say("it is up")) as (cli, model):
        await cli.result()
        listed = [frame for frame in cli.out if frame.get("subtype") == "background_tasks_changed"]
        for task in listed[-1]["tasks"]:
            await cli.send_line(control.stop_task("stop", task["task_id"]).rstrip())
        assert await cli.finish() == 0
    assert len(model.conversation()) == 2
    assert not processes_in(workspace)


async def test_a_turn_of_a_subagent_goes_on_when_the_input_closes_after_the_result(run: Run) -> None:
    scripts = (SLOW_COUNT,)
    async with run(TASK, Say("launched"), Say("told"), scripts=scripts) as (cli, _):
        await cli.result()
        assert await cli.finish() == 0
    assert [frame["result"] for frame in cli.out if frame["type"] == "result"] == ["launched", "told"]


async def test_a_call_of_a_subagent_is_gated_and_names_the_subagent(run: Run, workspace: Path) -> None:
    scripts = (ModelScript((ScriptStep((MARK,)), ScriptStep((Say("counted"),))), when="count-the-files"),)

    def deny_bash(request: Frame) -> Mapping[str, Any] | None:
        verdict = "deny" if request["input"].get("tool_name") == "Bash" else "allow"
        return on("PreToolUse", permissionDecision=verdict, permissionDecisionReason="not-in-a-subagent")(request)

    async with run(TASK, scripts=scripts, hook=deny_bash) as (cli, model):
        await model.wait_for_step(1, script=0)
    asked = [frame["request"]["input"] for frame in cli.out if frame["type"] == "control_request"]
    assert [(request["tool_name"], "agent_id" in request) for request in asked] == [("Agent", False), ("Bash", True)]
    assert not (workspace / "ran.txt").exists()
    assert "not-in-a-subagent" in told(model, step=1, script=0)


# ── steering ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def slow(seconds: float = 1.0) -> ToolUse:
    return ToolUse("Bash", {"command": f"sleep {seconds}; echo slept", "description": "wait"})


async def test_what_is_said_in_the_middle_of_a_turn_arrives_with_the_next_tool_result(run: Run) -> None:
    async with run(slow(0.3), MARK) as (cli, model):
        await model.wait_for_step(0)
        await cli.wait_for(lambda frame: frame["type"] == "control_request")
        await cli.say("turn-left-now")
        result = await cli.result()
    assert "turn-left-now" in told(model, step=1)
    assert "slept" in told(model, step=1)
    assert result["num_turns"] >= 3


async def test_several_things_said_in_the_middle_of_a_turn_all_arrive(run: Run) -> None:
    async with run(slow(0.3), MARK) as (cli, model):
        await cli.wait_for(lambda frame: frame["type"] == "control_request")
        for word in ("first-word", "second-word", "third-word"):
            await cli.say(word)
        await cli.result()
    said = told(model, step=1)
    assert said.index("first-word") < said.index("second-word") < said.index("third-word")


async def test_what_is_said_during_the_last_answer_starts_a_turn_of_its_own(run: Run) -> None:
    last = ScriptStep((Say("nearly done"),), first_byte_seconds=0.5)
    async with run(last, Say("second turn")) as (cli, model):
        await model.wait_for_step(0)
        await cli.say("one-more-thing")
        await cli.result()
        second = await cli.result(2)
    assert "one-more-thing" in told(model, step=1)
    assert second["result"] == "second turn"


async def test_what_is_said_after_the_result_starts_another_turn_in_the_same_session(run: Run) -> None:
    async with run(Say("first turn"), Say("second turn")) as (cli, model):
        first = await cli.result()
        await cli.say("go-on")
        second = await cli.result(2)
    assert (first["result"], second["result"]) == ("first turn", "second turn")
    assert first["session_id"] == second["session_id"]
    assert "go-on" in told(model, step=1)


async def exists(path: Path) -> None:
    """Wait for a tool to have written the file."""
    with anyio.fail_after(60):
        while not path.exists():
            await anyio.sleep(0.02)


async def test_an_interrupt_ends_the_tool_and_the_turn_and_the_session_goes_on(run: Run, workspace: Path) -> None:
    async with run(ToolUse("Bash", {"command": "echo > started; tail -f /dev/null"}), Say("after the interrupt")) as (
        cli,
        model,
    ):
        await exists(workspace / "started")
        await cli.request("interrupt", "stop-it")
        first = await cli.result()
        await cli.say("and now this")
        second = await cli.result(2)
    assert first["subtype"] == "error_during_execution"
    assert second["result"] == "after the interrupt"
    assert first["session_id"] == second["session_id"]
    assert "and now this" in told(model, step=1)


async def test_an_interrupt_while_a_hook_waits_takes_the_question_back(run: Run, workspace: Path) -> None:
    async with run(MARK, hook=lambda _: None) as (cli, _):
        asked = await cli.wait_for(lambda frame: frame["type"] == "control_request")
        await cli.request("interrupt", "stop-it")
        cancelled = await cli.wait_for(lambda frame: frame["type"] == "control_cancel_request")
        await cli.result()
    assert cancelled["request_id"] == asked["request_id"]
    assert not (workspace / "ran.txt").exists()


@pytest.mark.parametrize("taken_back", [True, False])
async def test_a_message_that_no_turn_took_begins_one_after_an_interrupt_unless_it_is_taken_back(
    run: Run, taken_back: bool
) -> None:
    async with run(MARK, MARK, Say("the end"), hook=lambda _: None) as (cli, model):
        await cli.wait_for(lambda frame: frame["type"] == "control_request")
        await cli.say("more", uuid=SESSION)
        await cli.wait_for(lambda frame: frame.get("command_uuid") == SESSION)
        if taken_back:
            await cli.send_line(control.cancel_message("back", SESSION).rstrip())
        await cli.request("interrupt", "stop-it")
        await cli.result()
        if not taken_back:
            await cli.wait_for(lambda frame: frame["type"] == "control_request", count=2)
        await cli.close_input()
        await cli.exit_code()
    assert (len(model.conversation()) == 1) is taken_back


# ── what was used ─────────────────────────────────────────────────────────────────────────────────────────────────────

SPENDS = ScriptTokens(input=1_000, output=4_000, cache_write=200, cache_read=30_000)


async def used(cli: Cli, number: int) -> Frame:
    """What the CLI says that its session has used."""
    await cli.send_line(control.get_usage(f"usage-{number}").rstrip())
    answer = await cli.wait_for(lambda frame: frame.get("response", {}).get("request_id") == f"usage-{number}")
    told: Frame = answer["response"]["response"]["session"]
    return told


def output_of(told: Frame) -> int:
    return sum(figures["outputTokens"] for figures in told["model_usage"].values())


async def test_the_frames_of_a_reply_tell_its_input_and_not_its_output(run: Run) -> None:
    async with run(ScriptStep((Say("a" * 400),), tokens=SPENDS)) as (cli, _):
        result = await cli.result()
        (frame,) = [frame for frame in cli.out if frame["type"] == "assistant"]
    usage = frame["message"]["usage"]
    assert (usage["input_tokens"], usage["cache_creation_input_tokens"], usage["cache_read_input_tokens"]) == (
        1_000,
        200,
        30_000,
    )
    assert usage["output_tokens"] == 1
    assert frame["message"]["model"]
    (figures,) = result["modelUsage"].values()
    assert figures["outputTokens"] == 4_000
    assert result["total_cost_usd"] == figures["costUSD"] > 0


async def test_the_cli_tells_in_a_turn_what_it_used_which_has_a_reply_by_the_end_of_its_call(run: Run) -> None:
    async with run(ScriptStep((MARK,), tokens=SPENDS), Say("end"), hooks=("PostToolUse",)) as (cli, _):
        await cli.wait_for(lambda frame: frame["type"] == "control_request")
        told = await used(cli, 1)
        await cli.result()
    assert output_of(told) == 4_000
    assert told["total_cost_usd"] > 0


async def test_what_subagents_used_is_among_the_figures_and_their_partial_messages_are_never_told(run: Run) -> None:
    start = ToolUse(
        "Agent",
        {"description": "d", "prompt": "SUB go", "subagent_type": "general-purpose", "run_in_background": False},
    )
    script = ModelScript((ScriptStep((Say("sub"),), tokens=SPENDS),), "SUB")
    arguments = ["--include-partial-messages"]
    async with run(start, Say("end"), scripts=(script,), arguments=arguments) as (cli, _):
        await cli.result()
        await cli.wait_for(lambda frame: frame.get("subtype") == "task_notification")
        told = await used(cli, 1)
        streamed = {frame.get("parent_tool_use_id") for frame in cli.out if frame["type"] == "stream_event"}
    assert output_of(told) >= 4_000
    assert streamed == {None}


async def test_with_partial_messages_too_the_count_of_a_reply_comes_after_its_call_was_asked_about(run: Run) -> None:
    arguments = ["--include-partial-messages"]
    async with run(ScriptStep((MARK,), tokens=SPENDS), Say("end"), arguments=arguments) as (cli, _):
        await cli.result()
        kinds = [frame.get("event", {}).get("type", frame["type"]) for frame in cli.out]
    assert kinds.index("control_request") < kinds.index("message_delta")


@pytest.mark.parametrize("ended", ["in order", "killed"])
async def test_the_figures_of_a_resumed_session_go_on_from_those_before_unless_the_cli_was_killed(
    run: Run, ended: str
) -> None:
    spends = ScriptStep((MARK,), tokens=SPENDS)
    async with run(spends, Say("end"), hooks=("PostToolUse",), arguments=[f"--session-id={SESSION}"]) as (cli, _):
        await cli.result()
        if ended == "killed":
            cli.process.kill()
            await cli.process.wait()
        else:
            await cli.finish()
    async with run(Say("again"), arguments=[f"--resume={SESSION}"], prompt="") as (cli, _):
        told = await used(cli, 1)
    assert bool(told["total_cost_usd"]) is (ended == "in order")


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-sonnet-4-6", "claude-haiku-4-5", "claude-fable-5-1"])
async def test_a_listed_price_is_what_the_cli_counts(run: Run, model: str) -> None:
    steps = [ScriptTokens(**{**NOTHING, kind: 100_000}) for kind in NOTHING]
    calls = [ScriptStep((ToolUse("Bash", {"command": "true"}),), tokens=tokens) for tokens in steps]
    async with run(
        *calls, ScriptStep((Say("end"),), tokens=ScriptTokens(**NOTHING)), arguments=[f"--model={model}"]
    ) as (cli, _):
        result = await cli.result()
    spent, price = Spent(100_000, 100_000, 100_000, 100_000), price_of(model, {})
    assert price is not None
    assert result["total_cost_usd"] == pytest.approx(price.of(spent), rel=0.001)


NOTHING = {"input": 0, "output": 0, "cache_write": 0, "cache_read": 0}


async def test_closing_the_input_in_the_middle_of_a_turn_lets_the_turn_end(run: Run, workspace: Path) -> None:
    async with run(MARK, Say("done"), hooks=()) as (cli, _):
        await cli.close_input()
        assert await cli.exit_code() == 0
    assert (workspace / "ran.txt").exists()
    assert cli.out[-1]["type"] == "result"


async def test_calls_after_the_input_closed_do_not_run_and_the_turn_still_ends(run: Run, workspace: Path) -> None:
    async with run(slow(0.3), MARK, hook=lambda _: None) as (cli, model):
        asked = await cli.wait_for(lambda frame: frame["type"] == "control_request")
        await cli.answer(asked["request_id"], {})
        await cli.close_input()
        assert await cli.exit_code() == 0
    assert "slept" in told(model, step=1)
    assert not (workspace / "ran.txt").exists()
    assert tool_results(model.requests[-1])["toolu_0002"].is_error


async def test_closing_the_input_under_a_subagent_refuses_its_calls(run: Run, workspace: Path) -> None:
    """So the input stays open while a background task runs, though the turn has a result."""
    scripts = (
        ModelScript(
            (ScriptStep((MARK,), first_byte_seconds=0.5), ScriptStep((Say("counted"),))), when="count-the-files"
        ),
    )
    async with run(TASK, Say("launched"), scripts=scripts) as (cli, model):
        await cli.result()
        assert await cli.finish() == 0
    assert not (workspace / "ran.txt").exists()
    assert tool_results(model.conversation(0)[-1])["toolu_0001"].is_error


async def test_two_things_said_during_an_answer_without_tools_are_one_turn(run: Run) -> None:
    async with run(ScriptStep((Say("one"),), first_byte_seconds=0.4), Say("two")) as (cli, model):
        await model.wait_for_step(0)
        await cli.say("second-word")
        await cli.say("third-word")
        await cli.result(2)
        await cli.finish()
    assert "second-word" in told(model, step=1)
    assert "third-word" in told(model, step=1)
    assert len(model.conversation()) == 2


async def test_a_message_with_a_uuid_is_taken_once_however_often_it_is_written(run: Run) -> None:
    """So a line that may or may not have been written before a crash can be written again."""
    async with run(Say("one"), Say("two"), Say("three")) as (cli, model):
        await cli.result()
        await cli.say("again-and-again", uuid=SESSION)
        await cli.result(2)
        await cli.say("again-and-again", uuid=SESSION)
        await cli.say("something-else", uuid=SESSION.replace("5", "6"))
        await cli.result(3)
        await cli.finish()
    assert len(model.conversation()) == 3
    assert "again-and-again" not in told(model, step=2)


async def test_messages_with_uuids_say_when_a_turn_takes_them_up_though_their_texts_become_one_prompt(run: Run) -> None:
    ids = ["11111111-2222-4333-8444-555555555551", "11111111-2222-4333-8444-555555555552"]
    async with run(ScriptStep((Say("nearly"),), first_byte_seconds=0.5), MARK) as (cli, model):
        await model.wait_for_step(0)
        for id_, text in zip(ids, ("first-thing", "second-thing"), strict=True):
            await cli.say(text, uuid=id_)
        await cli.result(2)
        await cli.wait_for(lambda frame: frame.get("state") == "completed", count=2)
    told_of = [(one["command_uuid"], one["state"]) for one in cli.out if one["type"] == "command_lifecycle"]
    for id_ in ids:
        assert [state for uuid, state in told_of if uuid == id_] == ["queued", "started", "completed"]
    kinds = [frame.get("state") or frame["type"] for frame in cli.out]
    assert kinds.index("started") > kinds.index("result"), "they begin the turn behind the one that ran"


async def test_an_answer_to_a_question_taken_back_runs_nothing(run: Run, workspace: Path) -> None:
    async with run(MARK, Say("next"), hook=lambda _: None) as (cli, _):
        asked = await cli.wait_for(lambda frame: frame["type"] == "control_request")
        await cli.request("interrupt", "stop-it")
        await cli.wait_for(lambda frame: frame["type"] == "control_cancel_request")
        await cli.answer(asked["request_id"], on("PreToolUse", permissionDecision="allow")(asked["request"]) or {})
        await cli.result()
        await cli.say("and now this")
        await cli.result(2)
    assert not (workspace / "ran.txt").exists()


async def test_a_line_that_is_no_json_ends_the_cli(run: Run) -> None:
    """So half a line, as a crash between two writes could leave, must never reach it."""
    async with run(Say("one")) as (cli, _):
        await cli.result()
        await cli.send_line(b"half a li")
        assert await cli.exit_code() == 1


async def test_a_request_of_an_unknown_kind_is_answered_with_an_error(run: Run) -> None:
    async with run(Say("one"), Say("two")) as (cli, _):
        await cli.result()
        await cli.request("of_tomorrow", "odd")
        answer = await cli.wait_for(lambda frame: frame.get("response", {}).get("request_id") == "odd")
        await cli.say("go on")
        assert (await cli.result(2))["result"] == "two"
    assert answer["response"]["subtype"] == "error"


async def test_model_and_permission_mode_change_for_the_next_request(run: Run, workspace: Path) -> None:
    async with run(Say("one"), MARK) as (cli, model):
        await cli.result()
        await cli.request("set_model", "m", model="claude-sonnet-5-5")
        await cli.request("set_permission_mode", "p", mode="default")
        await cli.say("go on")
        await cli.result(2)
    assert model.conversation()[1].body["model"] == "claude-sonnet-5-5"
    asked = [frame["request"]["subtype"] for frame in cli.out if frame["type"] == "control_request"]
    assert asked == ["hook_callback", "can_use_tool"]


# ── sessions ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_session_id_that_is_given_is_the_one_used(run: Run, tmp_path: Path) -> None:
    async with run(Say("hello"), arguments=("--session-id", SESSION)) as (cli, _):
        result = await cli.result()
        await cli.finish()
    assert result["session_id"] == SESSION
    assert list((tmp_path / "home" / ".claude" / "projects").glob(f"*/{SESSION}.jsonl"))


async def test_a_fork_at_a_message_forgets_what_came_after_and_leaves_the_old_session(run: Run, tmp_path: Path) -> None:
    async with run(Say("answer-one"), Say("answer-two"), arguments=("--session-id", SESSION)) as (cli, _):
        await cli.result()
        await cli.say("second-question")
        await cli.result(2)
        await cli.finish()
    first_answer = next(frame for frame in cli.out if frame["type"] == "assistant")
    transcript = next((tmp_path / "home" / ".claude" / "projects").glob(f"*/{SESSION}.jsonl"))
    before = transcript.read_bytes()

    fork = ("--resume", SESSION, "--resume-session-at", first_answer["uuid"], "--fork-session")
    async with run(Say("answer-three"), arguments=fork, prompt="another-question") as (cli, model):
        result = await cli.result()
        await cli.finish()
    messages = str(model.conversation()[0].messages)
    assert "answer-one" in messages
    assert "another-question" in messages
    assert "second-question" not in messages
    assert result["session_id"] != SESSION
    assert transcript.read_bytes() == before


async def test_a_fork_may_end_at_a_tool_result_and_be_given_its_session_id(run: Run) -> None:
    """What a rollback does: go on behind the last result that the checkpoint knows, in a session of a known name."""
    look, other = ToolUse("Bash", {"command": "echo one-output"}), ToolUse("Bash", {"command": "echo two-output"})
    async with run(look, other, Say("all-done"), arguments=("--session-id", SESSION)) as (cli, _):
        await cli.result()
        await cli.finish()
    result = next(frame for frame in cli.out if frame["type"] == "user")
    new = SESSION.replace("5", "6")
    fork = ("--resume", SESSION, "--resume-session-at", result["uuid"], "--fork-session", "--session-id", new)
    async with run(Say("answer"), arguments=fork, prompt="the-guidance") as (cli, model):
        ended = await cli.result()
        await cli.finish()
    messages = str(model.conversation()[0].messages)
    assert "one-output" in messages
    assert "the-guidance" in messages
    assert "two-output" not in messages
    assert "all-done" not in messages
    assert ended["session_id"] == new


# ── processes ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_killing_the_process_group_leaves_the_tools_running(run: Run, workspace: Path) -> None:
    """So an emergency stop must reach the whole tree."""
    async with run(ToolUse("Bash", {"command": "echo > started; sleep 30"})) as (cli, _):
        await exists(workspace / "started")
        os.killpg(cli.process.pid, signal.SIGKILL)
        await cli.exit_code()
        left = processes_in(workspace)
        assert any("sleep" in process.name() for process in left)
        assert all(os.getpgid(process.pid) != cli.process.pid for process in left)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 0)])
async def test_a_signal_ends_the_cli_and_its_tool(run: Run, workspace: Path, number: signal.Signals, code: int) -> None:
    async with run(ToolUse("Bash", {"command": "echo > started; tail -f /dev/null"})) as (cli, _):
        await exists(workspace / "started")
        cli.process.send_signal(number)
        assert await cli.exit_code() == code
        with anyio.fail_after(30):
            while processes_in(workspace):
                await anyio.sleep(0.02)


# ── the API's bad days ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("status", "words"), [(400, "the-reason"), (401, "the-reason"), (404, "selected model")])
async def test_an_api_error_ends_the_turn_in_a_result_that_says_so(run: Run, status: int, words: str) -> None:
    never = ScriptStep((Say("never"),), (ApiError(status, "the-reason"),) * 20)
    async with run(never, environment={"CLAUDE_CODE_MAX_RETRIES": "1"}) as (cli, _):
        result = await cli.result()
        code = await cli.finish()
    assert (result["subtype"], result["is_error"]) == ("success", True)
    assert words in result["result"]
    assert result["api_error_status"] == status
    assert code == 1


@pytest.mark.parametrize("status", [429, 500, 529])
async def test_an_error_that_may_pass_is_retried_and_says_so(run: Run, status: int) -> None:
    failures = (ApiError(status, retry_after_seconds=0),) * 2
    async with run(ScriptStep((Say("at last"),), failures)) as (cli, model):
        result = await cli.result()
        assert await cli.finish() == 0
    retries = [frame for frame in cli.out if frame.get("subtype") == "api_retry"]
    assert result["result"] == "at last"
    assert [request.attempt for request in model.conversation()] == [0, 1, 2]
    assert len(retries) == 2


async def test_a_conversation_is_shortened_on_request_and_says_so(run: Run) -> None:
    summary = Say("<summary>nothing much</summary>")
    async with run(Say("first"), summary, Say("second"), hooks=("PreCompact",)) as (cli, model):
        await cli.result()
        await cli.say("/compact")
        boundary = await cli.wait_for(lambda frame: frame.get("subtype") == "compact_boundary")
        await cli.result(2)
        await cli.say("go-on")
        await cli.result(3)
    assert boundary["compact_metadata"]["trigger"] == "manual"
    assert "nothing much" in told(model, step=2)


async def test_an_error_that_stays_ends_the_turn_after_the_retries(run: Run) -> None:
    overloaded = ScriptStep((Say("never"),), (ApiError(529, retry_after_seconds=0),) * 20)
    async with run(overloaded, environment={"CLAUDE_CODE_MAX_RETRIES": "1"}) as (cli, model):
        result = await cli.result()
        code = await cli.finish()
    assert result["is_error"]
    assert code == 1
    assert len(model.conversation()) == 2


async def test_a_stream_that_breaks_is_asked_for_again(run: Run, workspace: Path) -> None:
    async with run(ScriptStep((MARK,), (BrokenStream(),)), Say("done")) as (cli, model):
        result = await cli.result()
    assert (workspace / "ran.txt").exists()
    assert result["result"] == "done"
    assert [request.step for request in model.conversation()] == [0, 0, 1]


async def test_a_hook_of_the_users_settings_has_the_last_word_on_a_calls_input(
    run: Run, tmp_path: Path, workspace: Path
) -> None:
    """Even where ours gives an input too: it answers last. What ran is in the hook after the call; the core compares."""
    changed = {"permissionDecision": "allow", "updatedInput": {"command": "echo ran > changed.txt"}}
    answer = orjson.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **changed}}).decode()
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": f"sleep 1; echo '{answer}'"}]}
    (tmp_path / "home/.claude").mkdir(parents=True)
    (tmp_path / "home/.claude/settings.json").write_bytes(orjson.dumps({"hooks": {"PreToolUse": [hook]}}))
    ours = on("PreToolUse", permissionDecision="allow", updatedInput=MARK.input)
    async with run(MARK, Say("done"), hooks=("PreToolUse", "PostToolUse"), hook=ours) as (cli, _):
        await cli.result()
    asked = [frame["request"]["input"] for frame in cli.out if frame["type"] == "control_request"]
    assert [(request["hook_event_name"], request["tool_input"]["command"]) for request in asked] == [
        ("PreToolUse", MARK.input["command"]),
        ("PostToolUse", "echo ran > changed.txt"),
    ]
    assert [path.name for path in workspace.glob("*.txt")] == ["changed.txt"]


# ── the tools ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_each_tool_that_the_cli_offers_is_known_to_the_reviewer(run: Run) -> None:
    """One that is new is reviewed by what its input looks like; this says that it is there, before a user finds out."""
    async with run(Say("done")) as (cli, model):
        init = await cli.wait_for(lambda frame: frame.get("subtype") == "init")
        await cli.result()
    sent = {tool["name"] for tool in model.conversation()[0].body["tools"]} - {"DeferredToolPlaceholder"}
    assert [name for name in sorted({*init["tools"], *sent}) if not tools.is_known(name)] == []


async def test_a_monitor_runs_its_command_in_a_shell_as_bash_does(run: Run, workspace: Path) -> None:
    monitor = ToolUse("Monitor", {"command": "echo ran > ran.txt", "description": "x", "timeout_ms": 5000})
    async with run(monitor, Say("done")) as (cli, _):
        await cli.wait_for(lambda frame: frame.get("subtype") == "task_notification")
    assert (workspace / "ran.txt").exists()


async def test_a_usage_limit_of_a_login_is_noticed_with_its_reset_and_one_of_a_key_is_not(run: Run) -> None:
    reset = 4_102_444_800
    limit = "anthropic-ratelimit-unified-"
    stated = {"status": "rejected", "reset": str(reset), "representative-claim": "five_hour", "5h-reset": str(reset)}
    failure = ApiError(
        429, retry_after_seconds=3_000, headers=tuple((limit + name, value) for name, value in stated.items())
    )
    never = ScriptStep((Say("never"),), (failure,) * 20)
    token = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": f"sk-ant-oat01-{'a' * 80}"}
    async with run(never, environment=token) as (cli, _):
        ended = await cli.result()
        (notice,) = [message for frame in cli.out if isinstance(message := parse_frame(frame), LimitNotice)]
    assert (notice.rejected, notice.window, notice.resets_at) == (True, "five_hour", reset)
    assert "You've hit your 5-hour limit" in ended["result"]
    async with run(never) as (cli, _):
        ended = await cli.result()
        assert not [frame for frame in cli.out if frame["type"] == "rate_limit_event"]
    assert "API Error: Request rejected (429)" in ended["result"]
