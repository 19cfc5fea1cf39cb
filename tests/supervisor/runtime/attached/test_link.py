"""A link with a session behind it, and the moments in which a hook asks again; without processes, time by hand."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from monitors.contract.words import Decision
from supervisor.protocol import events
from supervisor.protocol.commands import Command, SendLine
from supervisor.runtime.attached.cli_process import CliProcess
from supervisor.runtime.attached.link import SAME_HOOK_SECONDS, HookLink
from supervisor.runtime.processes.shim_events import Accepted, CliOutput
from tests.stages.session import Play, verdict

CALL = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "u1", "tool_input": {"command": "harm"}}


class Stage:
    """A link before a session of which every call of `harm` is blocked; the answer is held until it is let go."""

    def __init__(self, directory: Path) -> None:
        self.play = Play({"harm": verdict(Decision.BLOCK)})
        begun: dict[str, Any] = {
            "task": self.play.task,
            "workspace": "/repo",
            "session_id": "s-1",
            "origin": "terminal",
        }
        self.play.feed(events.TaskSubmitted(**self.play.stamp(), **begun))
        about: dict[str, Any] = {"cli_pid": 2, "cli_start_ticks": 1, "boot_id": "b"}
        self.play.feed(events.AgentAttached(**self.play.stamp(), **about))
        session = self.play.session
        assert session is not None
        self.now = 0.0
        self.link = HookLink("a1", CliProcess(0, 0), directory, 0, lambda: session, 0, lambda: self.now)
        self.held: list[SendLine] = []
        self.late: list[str] | None = None
        """The answers that a hook took and of which the session has not heard; None: it hears at once."""
        self.answers: list[Any] = []

    @property
    def waits(self) -> bool:
        return self.link._session().waits_for("r")

    async def hear(self) -> None:
        async for heard in self.link.events():
            if isinstance(heard, CliOutput):
                for line in heard.data.splitlines():
                    self.take(self.play.line(orjson.loads(line)))
            elif isinstance(heard, Accepted) and self.late is not None:
                self.late.append(heard.key)
            elif isinstance(heard, Accepted):
                self.take(self.play.feed(events.InputAccepted(**self.play.stamp(), key=heard.key)))

    def take(self, commands: list[Command]) -> None:
        self.held += [command for command in commands if isinstance(command, SendLine)]

    def let_go(self) -> None:
        while self.held:
            command = self.held.pop(0)
            self.link.send_line(command.key, command.line)

    async def ask(self, scope: anyio.CancelScope) -> None:
        with scope:
            self.answers.append(await self.link.ask(CALL, "r"))

    @property
    def reviews(self) -> int:
        return len([event for _, event in self.play.journal if isinstance(event, events.ReviewMade)])

    @property
    def denials(self) -> list[bool]:
        return [answer["hookSpecificOutput"]["permissionDecision"] == "deny" for answer in self.answers]


@asynccontextmanager
async def stage(directory: Path) -> AsyncIterator[tuple[Stage, anyio.abc.TaskGroup]]:
    made = Stage(directory)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(made.hear)
            yield made, tasks
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()


async def test_a_hook_that_asks_again_before_its_broken_connection_is_given_up_has_its_answer(tmp_path: Path) -> None:
    broken, again = anyio.CancelScope(), anyio.CancelScope()
    async with stage(tmp_path) as (on, tasks):
        tasks.start_soon(on.ask, broken)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(on.ask, again)
        await anyio.wait_all_tasks_blocked()
        broken.cancel()
        await anyio.wait_all_tasks_blocked()
        on.let_go()
        await anyio.wait_all_tasks_blocked()
        assert on.denials == [True]
        assert on.reviews == 1
        assert not on.waits


async def test_an_answer_that_comes_while_both_connections_are_there_reaches_both(tmp_path: Path) -> None:
    async with stage(tmp_path) as (on, tasks):
        for _ in range(2):
            tasks.start_soon(on.ask, anyio.CancelScope())
            await anyio.wait_all_tasks_blocked()
        on.let_go()
        await anyio.wait_all_tasks_blocked()
        assert on.denials == [True, True]
        tasks.start_soon(on.ask, anyio.CancelScope())
        await anyio.wait_all_tasks_blocked()
        assert on.denials == [True, True, True]
        assert on.reviews == 1


async def test_a_hook_that_asks_again_while_it_waits_for_its_turn_is_handed_on_once(tmp_path: Path) -> None:
    async with stage(tmp_path) as (on, tasks):
        async with on.link._reading:
            for _ in range(2):
                tasks.start_soon(on.ask, anyio.CancelScope())
            await anyio.wait_all_tasks_blocked()
        await anyio.wait_all_tasks_blocked()
        on.let_go()
        await anyio.wait_all_tasks_blocked()
        assert on.denials == [True, True]
        assert on.reviews == 1


async def test_a_hook_that_asks_again_and_has_its_turn_only_after_the_answer_was_taken_is_handed_on_once(
    tmp_path: Path,
) -> None:
    another_is_over = anyio.Event()

    async def another(on: Stage) -> None:
        async with on.link._reading:
            await another_is_over.wait()

    async with stage(tmp_path) as (on, tasks):
        async with on.link._reading:
            tasks.start_soon(on.ask, anyio.CancelScope())
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(another, on)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(on.ask, anyio.CancelScope())
            await anyio.wait_all_tasks_blocked()
        await anyio.wait_all_tasks_blocked()
        on.let_go()
        await anyio.wait_all_tasks_blocked()
        assert on.denials == [True]
        another_is_over.set()
        await anyio.wait_all_tasks_blocked()
        assert on.denials == [True, True]
        assert on.reviews == 1


async def test_a_hook_that_asks_again_before_the_core_heard_that_its_answer_was_taken_is_handed_on_once(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as (on, tasks):
        on.late = []
        tasks.start_soon(on.ask, anyio.CancelScope())
        await anyio.wait_all_tasks_blocked()
        on.let_go()
        await anyio.wait_all_tasks_blocked()
        assert on.late
        assert not on.waits
        tasks.start_soon(on.ask, anyio.CancelScope())
        await anyio.wait_all_tasks_blocked()
        assert on.denials == [True, True]
        assert on.reviews == 1


def test_the_same_words_from_another_source_are_the_same_hook_for_a_minute_alone(tmp_path: Path) -> None:
    on = Stage(tmp_path)
    assert on.link.request_of("stop", "own", "1") == "1"
    on.now += SAME_HOOK_SECONDS
    assert on.link.request_of("stop", "project", "2") == "1"
    on.now += 3_600
    assert on.link.request_of("stop", "project", "2") == "1", "it asks again, however long its answer takes"
    assert on.link.request_of("stop", "another", "3") == "3", "the person has attached anew"


async def test_a_request_that_a_daemon_before_had_from_another_source_stays_itself(tmp_path: Path) -> None:
    async with stage(tmp_path) as (on, tasks):
        tasks.start_soon(on.ask, anyio.CancelScope())
        await anyio.wait_all_tasks_blocked()
        assert on.link.request_of("call", "project", "s") == "s"
        assert on.link.request_of("call", "own", "r") == "r"
        on.let_go()


def test_a_hook_that_comes_by_two_settings_files_is_one_and_what_comes_twice_by_one_is_two(tmp_path: Path) -> None:
    request_of = Stage(tmp_path).link.request_of
    assert [request_of("prompt", "own", "1"), request_of("prompt", "project", "2")] == ["1", "1"]
    assert request_of("prompt", "project", "2") == "1", "it asks again"
    assert [request_of("prompt", "project", "3"), request_of("prompt", "own", "4")] == ["3", "3"]
    assert request_of("another prompt", "own", "5") == "5"
    assert [request_of("said by who names no source", "", str(one)) for one in range(400)] == list(map(str, range(400)))
    for number in range(1_000):
        request_of(str(number), "own", "x")
    assert request_of("prompt", "own", "6") == "6"


@pytest.mark.parametrize("order", ["own own project project", "own project own project", "project own own project"])
def test_two_equal_calls_at_once_by_two_settings_files_are_two(tmp_path: Path, order: str) -> None:
    request_of = Stage(tmp_path).link.request_of
    found = [request_of("touch x", source, f"{number}") for number, source in enumerate(order.split())]
    assert {found.count(one) for one in found} == {2}
    assert len(set(found)) == 2
    again = [request_of("touch x", source, f"{number}") for number, source in enumerate(order.split())]
    assert again == found, "each asks again"


@pytest.mark.parametrize("connections", [1, 2])
async def test_a_hook_that_each_of_its_connections_gave_up_is_given_up_once(tmp_path: Path, connections: int) -> None:
    scopes = [anyio.CancelScope() for _ in range(connections)]
    async with stage(tmp_path) as (on, tasks):
        for scope in scopes:
            tasks.start_soon(on.ask, scope)
            await anyio.wait_all_tasks_blocked()
        for scope in scopes:
            scope.cancel()
        await anyio.wait_all_tasks_blocked()
        frames = [event.frame for _, event in on.play.journal if isinstance(event, events.LineReceived)]
        assert [frame for frame in frames if frame and frame["type"] == "control_cancel_request"] == [
            {"type": "control_cancel_request", "request_id": "r"}
        ]
