"""The real CLI driven directly over its wire, without chaperon: what the contract tests and the recordings use."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import orjson
from anyio.abc import Process

from supervisor.rehearsal.script import ToolUse
from tests.support import cli_environment, kill_tree, real_claude_path

Frame = dict[str, Any]
Answer = Callable[[Frame], Mapping[str, Any] | None]
"""What to answer a hook or a permission request; None gives no answer."""

STREAM_JSON = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")

MARK = ToolUse("Bash", {"command": "echo ran > ran.txt; echo the-output", "description": "leave a mark"})
"""A call that leaves a file when it runs."""

SECONDS = 60.0
"""The longest that a test waits for the CLI; runs take 1 to 3 s on an idle machine."""


@dataclass
class Cli:
    """One running CLI: every line both ways is kept, and requests of the CLI are answered by `hook` and `permission`."""

    process: Process
    hook: Answer
    permission: Answer
    out: list[Frame] = field(default_factory=list)
    both: list[tuple[str, bytes]] = field(default_factory=list)
    """Every line with its direction: `in` or `out`."""
    ended: bool = False
    _changed: anyio.Event = field(default_factory=anyio.Event)

    async def send(self, frame: Mapping[str, Any]) -> None:
        """Write one line to the CLI."""
        await self.send_line(orjson.dumps(frame))

    async def send_line(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.both.append(("in", line))
        await self.process.stdin.send(line + b"\n")

    async def initialize(self, *events: str, timeout: float | None = 30, request_id: str = "init") -> None:
        """Register a hook for each event."""
        extra = {} if timeout is None else {"timeout": timeout}
        hooks = {event: [{"matcher": None, "hookCallbackIds": [event], **extra}] for event in events}
        await self.request("initialize", request_id, hooks=hooks)

    async def request(self, subtype: str, request_id: str, **body: Any) -> None:
        request = {"subtype": subtype, **body}
        await self.send({"type": "control_request", "request_id": request_id, "request": request})

    async def say(self, text: str, **more: Any) -> None:
        """Say something to the model."""
        message = {"role": "user", "content": text}
        await self.send({"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "", **more})

    async def answer(self, request_id: str, response: Mapping[str, Any]) -> None:
        body = {"subtype": "success", "request_id": request_id, "response": response}
        await self.send({"type": "control_response", "response": body})

    async def answer_error(self, request_id: str, error: str) -> None:
        body = {"subtype": "error", "request_id": request_id, "error": error}
        await self.send({"type": "control_response", "response": body})

    async def close_input(self) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.aclose()

    async def wait_for(self, fits: Callable[[Frame], bool], *, count: int = 1) -> Frame:
        """Wait for the frame that fits (the `count`-th of those) and return it."""
        with anyio.fail_after(SECONDS):
            while True:
                found = [frame for frame in self.out if fits(frame)]
                if len(found) >= count:
                    return found[count - 1]
                assert not self.ended, f"the CLI ended first; it had said {[kind(frame) for frame in self.out]}"
                await self._changed.wait()

    async def result(self, count: int = 1) -> Frame:
        """Wait for the end of the turn."""
        return await self.wait_for(lambda frame: frame["type"] == "result", count=count)

    async def exit_code(self) -> int:
        """Wait for the CLI to end by itself."""
        with anyio.fail_after(SECONDS):
            return await self.process.wait()

    async def finish(self) -> int:
        """Close the CLI's input after its turn, and return its exit code."""
        await self.close_input()
        return await self.exit_code()

    async def read(self) -> None:
        """Take in every line, and answer what the CLI asks."""
        assert self.process.stdout is not None
        pending = bytearray()
        async for chunk in self.process.stdout:
            pending += chunk
            *lines, rest = bytes(pending).split(b"\n")
            pending = bytearray(rest)
            for line in lines:
                await self._take(line)
        self.ended = True
        self._wake()

    async def _take(self, line: bytes) -> None:
        frame = orjson.loads(line)
        self.both.append(("out", line))
        self.out.append(frame)
        self._wake()
        if frame["type"] != "control_request":
            return
        reply = self.hook if frame["request"]["subtype"] == "hook_callback" else self.permission
        response = reply(frame["request"])
        if response is not None:
            try:
                await self.answer(frame["request_id"], response)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return  # the test closed the CLI's input

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def kind(frame: Frame) -> str:
    """The frame's type, with its subtype."""
    return f"{frame['type']}/{frame['subtype']}" if "subtype" in frame else str(frame["type"])


def event_of(request: Frame) -> str:
    """Which hook it is that the CLI asks."""
    return str(request.get("input", {}).get("hook_event_name", request.get("subtype")))


def on(event: str, **output: Any) -> Answer:
    """Answer this hook with this output, and others with nothing."""

    def answer(request: Frame) -> Mapping[str, Any]:
        is_this = event_of(request) == event
        return {"hookSpecificOutput": {"hookEventName": event, **output}} if is_this else {}

    return answer


def say_nothing(_: Frame) -> Mapping[str, Any]:
    return {}


def allow(request: Frame) -> Mapping[str, Any]:
    return {"behavior": "allow", "updatedInput": request["input"]}


@asynccontextmanager
async def running_cli(
    home: Path,
    workspace: Path,
    model_url: str,
    *,
    mode: str = "bypassPermissions",
    arguments: Sequence[str] = (),
    hook: Answer = say_nothing,
    permission: Answer = allow,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[Cli]:
    """Run the CLI in a group of its own; whatever it left running is ended with it."""
    command = [str(real_claude_path()), *STREAM_JSON, "--permission-mode", mode, "--permission-prompt-tool", "stdio"]
    process = await anyio.open_process(
        [*command, *arguments],
        cwd=workspace,
        env=cli_environment(home, model_url, **(environment or {})),
        start_new_session=True,
        stderr=None,
    )
    async with anyio.create_task_group() as group:
        cli = Cli(process, hook, permission)
        group.start_soon(cli.read)
        try:
            yield cli
        finally:
            kill_tree(process.pid, workspace)
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await process.aclose()
