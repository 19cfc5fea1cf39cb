"""Looking at the trees of live agents, and telling only what is new."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, cast

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from supervisor.core.board import Board
from supervisor.protocol import events
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.processes.bounds.resources import Figures
from supervisor.runtime.services.sampling import AT_LEAST_EVERY_SECONDS, Sampling, Target, _Watched
from supervisor.runtime.shim import process_tree
from tests.stages.house import bash, house, say
from tests.stages.session import Play

if TYPE_CHECKING:
    from supervisor.runtime.journal.journal import Journal

IDLE = Figures(memory_mb=200.0, cpu_seconds=1.0, processes=4, open_files=60, io_bytes=1_000, disk_mb=0.0)


def watched() -> _Watched:
    return _Watched(told=IDLE, told_at=100.0)


def test_the_first_look_is_told() -> None:
    assert Sampling._is_news(_Watched(), IDLE, 100.0)


@pytest.mark.parametrize(
    "figures",
    [
        IDLE,
        Figures(215.0, 9.0, 4, 60, 9_000, 0.0),
        Figures(231.0, 1.0, 5, 100, 1_000, 0.0),
    ],
    ids=["the same", "more time and bytes", "a little more of all"],
)
def test_a_look_that_says_little_new_is_kept_for_later(figures: Figures) -> None:
    assert not Sampling._is_news(watched(), figures, 105.0)
    assert Sampling._is_news(watched(), figures, 100.0 + AT_LEAST_EVERY_SECONDS)


@pytest.mark.parametrize(
    "figures",
    [
        Figures(233.0, 1.0, 4, 60, 1_000, 0.0),
        Figures(160.0, 1.0, 4, 60, 1_000, 0.0),
        Figures(200.0, 1.0, 6, 60, 1_000, 0.0),
        Figures(200.0, 1.0, 4, 120, 1_000, 0.0),
    ],
    ids=["more memory", "less memory", "more processes", "more files"],
)
def test_a_look_that_differs_is_told_at_once(figures: Figures) -> None:
    assert Sampling._is_news(watched(), figures, 105.0)


def sampling(daemon: Daemon) -> Sampling:
    return Sampling(daemon.board, daemon.journal, daemon.checkpoint_manager.operations, daemon.happened, Clock())


@pytest.mark.real_cli
async def test_what_an_agents_tree_holds_is_in_the_journal_and_the_summary_and_gone_at_its_end(tmp_path: Path) -> None:
    holds = """python3 -c 'import time; kept = bytearray(90 << 20); open("up", "w"); time.sleep(30)'"""
    async with house(tmp_path, bash(holds), say("Done.")) as made:
        (made.workspace / "big.bin").write_bytes(b"x" * (3 << 20))
        await made.submit()
        await made.process("bytearray")
        while not (made.workspace / "up").exists():
            await made.process("bytearray")
        await sampling(made.daemon).look()
        # The daemon looks by itself as well, so this look may not have been the first or the last.
        seen = await made.until(events.ResourcesSeen, lambda event: event.memory_mb > 150 and event.processes >= 2)
        summary = made.daemon.board.summary("a1")
        assert summary.memory_mb > 150
        assert summary.processes >= 2
        assert seen.cpu_seconds > 0
        assert summary.disk_mb == pytest.approx(3, abs=0.1)
        await made.daemon.request(events.StopRequested(**made.daemon.stamp("a1"), by="test", force=True))
        await made.ended()
        ended = made.daemon.board.summary("a1")
        assert (ended.memory_mb, ended.processes) == (0, 0)
        assert ended.peak_memory_mb >= seen.memory_mb


class Accepting:
    """A journal with room."""

    accepting = True


async def test_others_get_their_turn_between_what_is_told_of_two_agents() -> None:
    board, told, turns = Board(lambda submitted: Play().make(submitted)), list[int](), 0
    with subprocess.Popen(["sleep", "60"]) as child:
        for number in range(5):
            play = Play()
            stamp = {**play.stamp(), "agent": f"a{number}"}
            board.see(2 * number + 1, events.TaskSubmitted(**stamp, task=play.task, workspace="/repo", session_id="s"))
            launched = events.AgentLaunched(**stamp, shim_pid=os.getpid(), cli_pid=child.pid, containment="", number=1)
            board.see(2 * number + 2, launched)
        looked = Sampling(board, cast("Journal", Accepting()), lambda _: 0, lambda _: told.append(turns), Clock())

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(others)
            await looked.look()
            tasks.cancel_scope.cancel()
        child.kill()
    assert len(set(told)) == 5


async def test_who_is_whose_child_is_looked_up_once_for_all_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    board, looks, told = Board(lambda submitted: Play().make(submitted)), list[str](), list[events.AnyEvent]()
    everybody = process_tree.all_children

    def counted() -> dict[int, list[int]]:
        looks.append("everybody")
        return everybody()

    def of_one(pid: int) -> list[int]:
        looks.append(f"children of {pid}")
        return []

    def until_child(pid: int) -> None:
        while pid not in everybody():
            pass

    monkeypatch.setattr(process_tree, "all_children", counted)
    monkeypatch.setattr(process_tree, "children", of_one)
    with contextlib.ExitStack() as ending:
        for number in range(4):
            shell = ending.enter_context(subprocess.Popen(["sh", "-c", "sleep 60; true"], start_new_session=True))
            ending.callback(os.killpg, shell.pid, signal.SIGKILL)
            play = Play()
            stamp = {**play.stamp(), "agent": f"a{number}"}
            board.see(2 * number + 1, events.TaskSubmitted(**stamp, task=play.task, workspace="/repo", session_id="s"))
            launched = events.AgentLaunched(**stamp, shim_pid=shell.pid, cli_pid=shell.pid, containment="", number=1)
            board.see(2 * number + 2, launched)
            await anyio.to_thread.run_sync(until_child, shell.pid)
        await Sampling(board, cast("Journal", Accepting()), lambda _: 0, told.append, Clock()).look()
    assert looks == ["everybody"]
    assert [event.processes for event in told if isinstance(event, events.ResourcesSeen)] == [1, 1, 1, 1]


def test_agents_in_control_groups_are_found_there_and_no_other_process_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cgroup.procs").write_text(f"{os.getpid()}\n")
    monkeypatch.setattr(process_tree, "all_children", lambda: pytest.fail("the machine's processes were looked at"))
    looks = Sampling(
        Board(lambda submitted: Play().make(submitted)),
        cast("Journal", Accepting()),
        lambda _: 0,
        lambda _: None,
        Clock(),
    )
    looks._watched["a1"] = _Watched()
    assert looks._pass([Target("a1", 1, True, tmp_path, None)])["a1"].processes == 1


@pytest.mark.real_cli
async def test_a_look_at_nobody_tells_nothing(tmp_path: Path) -> None:
    async with house(tmp_path) as made:
        before = made.daemon.journal.last
        await sampling(made.daemon).look()
        assert made.daemon.journal.last == before
