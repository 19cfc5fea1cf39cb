"""Streams as commands read them: past what cannot be read, and over restarts of the daemon."""

import itertools
import os
import socket
import sys
import threading
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import anyio.to_thread
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.cli import common
from supervisor.cli.client import wait_for
from supervisor.cli.client_errors import DaemonGoneError
from supervisor.cli.following import OutputWatch, StreamLine, follow_events, follow_incidents, last_lines, readable
from tests.stages.daemon import Base, served, until

pytestmark = pytest.mark.slow

SECONDS = 30.0


def pause(seconds: float) -> None:
    threading.Event().wait(seconds)


@given(st.lists(st.binary(max_size=50) | st.text().map(str.encode) | st.just(b'{"n":1}'), max_size=5))
def test_lines_that_cannot_be_read_are_passed_over_and_those_behind_them_are_told(lines: list[bytes]) -> None:
    found = list(readable([*lines, b'{"n":7,"kind":"x"}']))
    assert found[-1] == StreamLine(b'{"n":7,"kind":"x"}', {"n": 7, "kind": "x"})
    assert all(isinstance(one.record, dict) for one in found)


def test_of_a_line_that_cannot_be_read_one_bounded_notice_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    bad = b'{"n":3,"paths":["\x1b[2J' + b"x" * 10_000
    assert list(readable([bad, b"[]", orjson.dumps({"oversized": 40_000_000, "head": '{"n":17'}), b"{}"])) == [
        StreamLine(b"{}", {})
    ]
    notices = capsys.readouterr().err.splitlines()
    assert len(notices) == 3
    assert all(len(notice) < 300 and "\x1b" not in notice for notice in notices)
    assert 'begins: {"n":3' in notices[0]
    assert "no object" in notices[1]
    assert "40,000,000 bytes" in notices[2]


def test_a_line_of_an_older_version_with_half_a_character_is_told() -> None:
    (one,) = readable([b'{"paths":["bad\\udcff"]}'])
    assert one.record == {"paths": ["bad\ufffd\\xff"]}


async def test_events_are_followed_over_a_restart_each_once(base: Base) -> None:
    seen: list[int] = []

    def follow() -> None:
        for one in follow_events(common.daemon(), 0, wait=wait_for, pause=pause, patience=SECONDS):
            seen.append(one.record["n"])
            if one.record.get("incident", {}).get("type") == "last":
                return

    async with anyio.create_task_group() as tasks:
        async with served(base) as (daemon, _):
            daemon.fault("", "first", "One.")
            tasks.start_soon(anyio.to_thread.run_sync, follow)
            with anyio.fail_after(SECONDS):
                while len(seen) < daemon.journal.last:
                    await anyio.sleep(0.01)
        async with served(base) as (daemon, _):
            daemon.fault("", "last", "Two.")
            with anyio.fail_after(SECONDS):
                while len(seen) < daemon.journal.last:
                    await anyio.sleep(0.01)
    assert seen == list(range(1, len(seen) + 1))


async def test_incidents_are_followed_over_a_restart_each_once(base: Base) -> None:
    types: list[str] = []

    def follow() -> None:
        found = follow_incidents(common.daemon(), wait=wait_for, pause=pause, skip=1)
        types.extend(one.record["type"] for one in islice(found, 3))

    async with anyio.create_task_group() as tasks:
        async with served(base) as (daemon, _):
            for type_ in ("passed_over", "first", "second"):
                daemon.fault("", type_, "So.")
            await until(lambda: len(base.incidents()) == 3)
            tasks.start_soon(anyio.to_thread.run_sync, follow)
            await until(lambda: types == ["first", "second"])
        async with served(base) as (daemon, _):
            daemon.fault("", "third", "So.")
            await until(lambda: len(types) == 3)
    assert types == ["first", "second", "third"]


async def test_a_daemon_that_stays_away_is_waited_for_no_longer_than_is_said(
    base: Base, capsys: pytest.CaptureFixture[str]
) -> None:
    async with served(base):
        daemon = await anyio.to_thread.run_sync(common.daemon)
    with pytest.raises(DaemonGoneError, match="did not come back"):
        list(follow_events(daemon, 0, wait=wait_for, pause=lambda _: None, patience=1.0))
    assert capsys.readouterr().err.count("The daemon went away. Waiting for it to come back.") == 1
    with pytest.raises(DaemonGoneError, match="The daemon ended"):
        list(follow_events(daemon, 0, wait=wait_for, pause=lambda _: pytest.fail("it waits"), patience=0.0))


@pytest.mark.parametrize(("count", "lines"), [(1, 1), (3, 1), (3, 2), (10**6, 1), (10**30, 1), (0, 1)])
async def test_the_last_lines_are_as_many_as_are_wanted_however_many_events_say_nothing(
    base: Base, count: int, lines: int
) -> None:
    def make() -> Callable[[StreamLine], list[str]]:
        numbers = itertools.count(1)
        return lambda one: [f"{next(numbers)}" for _ in range(lines)] if one.record["kind"] == "fault_seen" else []

    async with served(base) as (daemon, _):
        for number in range(250):
            daemon.fault("", f"f{number}", "So.")
        await daemon.journal.written(daemon.journal.last)
        found, last, going_on = await anyio.to_thread.run_sync(
            lambda: last_lines(common.daemon(), count, wait_for, make)
        )
        assert last == daemon.journal.last
    assert len(found) == min(count, 250 * lines)
    assert (
        int(going_on(StreamLine(b"", {"kind": "fault_seen"}))[0]) == (int(found[-1]) if found else 201) + 1 or not found
    )


def test_a_reader_that_leaves_is_noticed_while_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.pipe()
    here, there = socket.socketpair()
    with here, there, os.fdopen(theirs, "w") as writing:
        monkeypatch.setattr(sys, "stdout", writing)
        output = OutputWatch()
        monkeypatch.undo()
        with pytest.raises(TimeoutError):
            output.wait(here, 0.01)
        there.send(b"!")
        output.wait(here, SECONDS)
        os.close(ours)
        with pytest.raises(BrokenPipeError):
            output.wait(here, SECONDS)
        with pytest.raises(BrokenPipeError):
            output.pause(SECONDS)


def test_output_to_a_file_is_read_by_nobody_who_could_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "out").open("w") as file:
        monkeypatch.setattr(sys, "stdout", file)
        output = OutputWatch()
        monkeypatch.undo()
        output.pause(0.01)
