"""Make the recordings again: the real CLI against the scripted model, each case a file of its own.

usage: python -m tests.recordings.record [CASE …]

A line of a recording is `{"direction": "in" | "out", "frame": …}`: `in` is what was written to the CLI, `out` what it said.
Paths, ids, times and durations are replaced, so that nothing of the machine is in them, and a run on another one gives
nearly the same lines. Long lists and texts of the CLI's own description of itself are cut.
"""

import re
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import orjson

from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.script import ApiError, BrokenStream, ModelScript, Say, ScriptStep, ScriptTokens, ToolUse
from tests.contract.cli import Cli, Frame, allow, event_of, running_cli, say_nothing

HERE = Path(__file__).parent

ALL_HOOKS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop", "PreCompact")  # fmt: skip

Drive = Callable[[Cli, ScriptedModel], Awaitable[None]]


def bash(command: str) -> ToolUse:
    return ToolUse("Bash", {"command": command, "description": "a step of the recording"})


async def to_the_end(cli: Cli, _: ScriptedModel) -> None:
    await cli.result()
    await cli.finish()


def pre_tool_use(**output: Any) -> Callable[[Frame], Mapping[str, Any]]:
    """Answer PreToolUse of Bash with this, and everything else with nothing."""

    def answer(request: Frame) -> Mapping[str, Any]:
        if event_of(request) != "PreToolUse" or request["input"].get("tool_name") != "Bash":
            return {}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **output}}

    return answer


async def case(
    *steps: ScriptStep | ToolUse | Say,
    scripts: Sequence[ModelScript] = (),
    drive: Drive = to_the_end,
    hooks: Sequence[str] = ALL_HOOKS,
    **more: Any,
) -> list[tuple[str, bytes]]:
    """Run one case and return its lines."""
    main = ModelScript(tuple(step if isinstance(step, ScriptStep) else ScriptStep((step,)) for step in steps))
    with tempfile.TemporaryDirectory() as scratch:
        workspace, home = Path(scratch) / "workspace", Path(scratch) / "home"
        workspace.mkdir()
        (workspace / "notes.txt").write_text("one\ntwo\n")
        async with (
            ScriptedModel([main, *scripts]) as model,
            running_cli(home, workspace, model.url, **{"hook": say_nothing, **more}) as cli,
        ):
            await cli.initialize(*hooks)
            await cli.say("do the thing")
            await drive(cli, model)
            return [(direction, _placed(line, scratch)) for direction, line in cli.both]


# ── the cases ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def plain() -> list[tuple[str, bytes]]:
    """Bash, Write, Read and Edit, as ordinary work goes."""
    return await case(
        ScriptStep((Say("I look first."), bash("ls"))),
        ToolUse("Write", {"file_path": "new.txt", "content": "hello\n"}),
        ToolUse("Read", {"file_path": "notes.txt"}),
        ToolUse("Edit", {"file_path": "notes.txt", "old_string": "two", "new_string": "three"}),
        ScriptStep((Say("Done."),), tokens=ScriptTokens(input=12, output=7, cache_write=900, cache_read=4000)),
    )


async def failure() -> list[tuple[str, bytes]]:
    """A command that fails, and a call whose input the CLI itself refuses."""
    return await case(bash("echo oh-no >&2; exit 3"), ToolUse("Read", {"wrong": 1}), Say("It failed."))


async def denied() -> list[tuple[str, bytes]]:
    """The gate blocks."""
    output = {"permissionDecision": "deny", "permissionDecisionReason": "Not here; use a scratch directory."}
    return await case(bash("rm -rf /somewhere"), Say("Understood."), hook=pre_tool_use(**output))


async def modified() -> list[tuple[str, bytes]]:
    """The gate changes the input."""
    changed = {"command": "echo changed", "description": "a step of the recording"}
    hook = pre_tool_use(permissionDecision="allow", updatedInput=changed, additionalContext="The command was changed.")
    return await case(bash("echo original"), Say("Fine."), hook=hook)


async def warned() -> list[tuple[str, bytes]]:
    """The gate lets the call run and tells the model something."""
    hook = pre_tool_use(permissionDecision="allow", additionalContext="Mind the gap.")
    return await case(bash("echo careful"), Say("Fine."), hook=hook)


async def said_mid_turn() -> list[tuple[str, bytes]]:
    """A person speaks while a tool runs."""

    async def drive(cli: Cli, model: ScriptedModel) -> None:
        await cli.wait_for(lambda frame: event_of(frame.get("request", {})) == "PreToolUse")
        await cli.say("Turn left now.")
        await to_the_end(cli, model)

    return await case(bash("sleep 0.5; echo slept"), Say("I turned left."), drive=drive)


async def said_with_an_id() -> list[tuple[str, bytes]]:
    """A message that carries an id is written twice, and taken once."""

    async def drive(cli: Cli, model: ScriptedModel) -> None:
        await cli.result()
        for _ in range(2):
            await cli.say("Only once.", uuid="11111111-2222-4333-8444-555555555555")
        await cli.result(2)
        await cli.finish()

    return await case(Say("First."), Say("Second."), drive=drive, hooks=("PreToolUse",))


async def interrupted() -> list[tuple[str, bytes]]:
    """The turn is interrupted while a tool runs, and another one follows."""

    async def drive(cli: Cli, model: ScriptedModel) -> None:
        await cli.wait_for(lambda frame: event_of(frame.get("request", {})) == "PreToolUse")
        await anyio.sleep(0.5)
        await cli.request("interrupt", "interrupt-1")
        await cli.result()
        await cli.say("Do this instead.")
        await cli.result(2)
        await cli.finish()

    return await case(bash("echo begun; tail -f /dev/null"), Say("Instead it is."), drive=drive)


async def hook_cancelled() -> list[tuple[str, bytes]]:
    """The turn is interrupted while the gate has not answered: the CLI takes its question back."""

    async def drive(cli: Cli, model: ScriptedModel) -> None:
        await cli.wait_for(lambda frame: event_of(frame.get("request", {})) == "PreToolUse")
        await cli.request("interrupt", "interrupt-1")
        await to_the_end(cli, model)

    return await case(bash("echo never"), drive=drive, hooks=("PreToolUse",), hook=lambda _: None)


async def parallel() -> list[tuple[str, bytes]]:
    """Two calls at once, of which one fails."""
    return await case(ScriptStep((bash("echo oh-no; exit 1"), bash("sleep 0.4; echo finished"))), Say("One of two."))


async def subagent() -> list[tuple[str, bytes]]:
    """A subagent with a tool call of its own."""
    task = ToolUse("Agent", {"description": "count", "prompt": "count-the-files", "subagent_type": "general-purpose"})
    counting = ModelScript(
        (ScriptStep((bash("ls | wc -l"),)), ScriptStep((Say("There is one file."),))), when="count-the-files"
    )
    return await case(task, Say("One file."), scripts=(counting,))


async def overloaded() -> list[tuple[str, bytes]]:
    """Retries that help: an overload, a rate limit, a broken stream."""
    failures = (ApiError(529), ApiError(429, retry_after_seconds=0), BrokenStream())
    return await case(ScriptStep((Say("At last."),), failures))


async def refused_by_the_api() -> list[tuple[str, bytes]]:
    """A request that the API does not accept: the turn ends in an error."""
    return await case(ScriptStep((Say("never"),), (ApiError(400, "The prompt is too odd."),) * 20))


async def overloaded_for_good() -> list[tuple[str, bytes]]:
    """Retries that do not help."""
    never = ScriptStep((Say("never"),), (ApiError(529),) * 20)
    return await case(never, environment={"CLAUDE_CODE_MAX_RETRIES": "2"})


async def compacted() -> list[tuple[str, bytes]]:
    """The conversation is shortened on request."""

    async def drive(cli: Cli, _: ScriptedModel) -> None:
        await cli.result()
        await cli.say("/compact")
        await cli.result(2)
        await cli.say("go on")
        await cli.result(3)
        await cli.finish()

    summary = Say("<summary>The files were listed.</summary>")
    return await case(bash("ls"), Say("Listed."), summary, Say("Went on."), drive=drive)


async def asked_permission() -> list[tuple[str, bytes]]:
    """The second gate: one call granted and one refused in default mode."""

    def answer(request: Frame) -> Mapping[str, Any]:
        if request["input"].get("command") == "echo one > one.txt":
            return allow(request)
        return {"behavior": "deny", "message": "Not this one."}

    calls = (bash("echo one > one.txt"), bash("echo two > two.txt"), Say("One of two."))
    return await case(*calls, mode="default", permission=answer, hooks=("PreToolUse",))


CASES: Sequence[Callable[[], Awaitable[list[tuple[str, bytes]]]]] = (
    plain, failure, denied, modified, warned, said_mid_turn, said_with_an_id, interrupted, hook_cancelled, parallel, subagent, overloaded,
    refused_by_the_api, overloaded_for_good, compacted, asked_permission,
)  # fmt: skip


# ── what is of this machine ───────────────────────────────────────────────────────────────────────────────────────────

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
OWN_IDS = frozenset({"task_id", "run_id", "agent_id", "taskId", "agentId", "prompt_id"})
NUMBERS = re.compile(r"pid|uptime|end_time|elapsed_time_seconds|.*_ms|.*Ms|.*duration.*", re.IGNORECASE)
OWN_PATHS = ((re.compile(r"/tmp/cc-socks/\d+"), "/tmp/cc-socks/1"), (re.compile(r"/tmp/claude-\d+"), "/tmp/claude-1"))
LONGEST_TEXT, LONGEST_LIST = 120, 3


def _placed(line: bytes, scratch: str) -> bytes:
    """Replace the scratch directory, also in the form in which the CLI names its session folders."""
    slug = re.sub(r"[^A-Za-z0-9]", "-", scratch)
    return line.replace(scratch.encode(), b"/rehearsal").replace(slug.encode(), b"-rehearsal")


class Normal:
    """Replaces what differs from run to run by what does not: the same id always by the same."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._texts: list[tuple[str, str]] = []

    def frame(self, frame: Frame) -> Frame:
        """One frame, normalised."""
        describes = frame.get("subtype") == "init" or "commands" in str(frame.get("response", ""))[:2000]
        normal: Frame = self._value("", cut(frame) if describes else frame)
        return normal

    def _value(self, key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._value(name, item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._value(key, item) for item in value]
        if isinstance(value, str):
            return self._text(key, value)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return 1 if is_number and NUMBERS.fullmatch(key) else value

    def _text(self, key: str, text: str) -> str:
        if key in OWN_IDS and text not in self._ids and not UUID.fullmatch(text):
            self._ids[text] = f"{key}-{len(self._ids) + 1}"
            self._texts.append((text, self._ids[text]))
        for own, normal in self._texts:
            text = text.replace(own, normal)
        for own_path, path in OWN_PATHS:
            text = own_path.sub(path, text)
        text = UUID.sub(lambda found: self._uuid(found[0]), text)
        return TIME.sub("2026-01-01T00:00:00.000Z", text)

    def _uuid(self, uuid: str) -> str:
        return self._ids.setdefault(uuid, f"00000000-0000-4000-8000-{len(self._ids) + 1:012}")


def cut(value: Any) -> Any:
    """Shorten the CLI's description of itself."""
    if isinstance(value, dict):
        return {name: cut(item) for name, item in value.items()}
    if isinstance(value, list):
        return [cut(item) for item in value[:LONGEST_LIST]]
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return value[:LONGEST_TEXT] + "…"
    return value


async def main(names: Sequence[str]) -> None:
    """Record the named cases, or all."""
    for record in CASES:
        name = getattr(record, "__name__", "")
        if names and name not in names:
            continue
        normal = Normal()
        lines = [
            orjson.dumps(
                {"direction": direction, "frame": normal.frame(orjson.loads(line))}, option=orjson.OPT_APPEND_NEWLINE
            )
            for direction, line in await record()
        ]
        path = HERE / f"{name}.jsonl"
        path.write_bytes(b"".join(lines))
        print(f"{path.name}: {len(lines)} lines, {path.stat().st_size} bytes")


if __name__ == "__main__":
    anyio.run(main, sys.argv[1:])
