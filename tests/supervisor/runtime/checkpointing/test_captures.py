"""Captures and restores of live agents, with real git and a stand-in that does what it is told."""

import errno
import shutil
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from checkpoints.restore.restore import Restorer
from checkpoints.workspace.notes import Listener, NoteQueue, NoteQueues
from monitors.contract.errors import UsageError
from supervisor.protocol import events
from supervisor.protocol.rollbacks import RollbackRequest
from supervisor.protocol.words import AgentState
from supervisor.runtime.checkpointing import manager
from supervisor.runtime.checkpointing.captures import TURNS_ENDS
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.services.people.rollbacks import make, preview, roll_back
from tests.stages.cli_program import write_cli
from tests.stages.daemon import PATIENCE_SECONDS, Base, ended, reached, served, until

TURNS = Path(__file__).parents[3] / "stages" / "turns.py"


@asynccontextmanager
async def idle(base: Base) -> AsyncIterator[Daemon]:
    """A daemon with an agent that has ended its first turn, which made a file."""
    write_cli(base.command, TURNS.read_text())
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(prompt="do: echo one > one.txt", keep_open=True), by="test")
        await reached(daemon, AgentState.IDLE)
        await until(lambda: "turn" in [event.reason for event in base.events(events.CheckpointMade)])
        yield daemon


async def wants_back(daemon: Daemon, base: Base, reason: str, id_: str = "r1") -> None:
    """Ask for the first checkpoint that was made for this reason."""
    target = next(event.name for event in base.events(events.CheckpointMade) if event.reason == reason)
    await daemon.request(events.RollbackRequested(**daemon.stamp("a1"), id=id_, checkpoint=target, by="test"))


async def test_the_end_of_a_turn_waits_while_others_are_captured_and_what_a_person_asks_for_does_not(
    base: Base,
) -> None:
    write_cli(base.command, TURNS.read_text())

    def made() -> set[str]:
        return {event.reason for event in base.events(events.CheckpointMade)}

    async with served(base) as (daemon, _):
        for other in range(TURNS_ENDS):
            await daemon.checkpointing._turns_ends.acquire_on_behalf_of(other)
        await daemon.submit(base.submission(prompt="do: echo one > one.txt", keep_open=True), by="test")
        await reached(daemon, AgentState.IDLE)
        await daemon.request(events.CheckpointRequested(**daemon.stamp("a1"), id="c1", name="mine", note="", by="test"))
        await until(lambda: "person" in made())
        assert "turn" not in made()
        daemon.checkpointing._turns_ends.release_on_behalf_of(0)
        await until(lambda: "turn" in made())


@pytest.fixture
def hung_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event]]:
    """A restore reaches the disk (the first is set) and hangs there until the second is set."""
    reached, answers = threading.Event(), threading.Event()

    def hang(_: str) -> None:
        reached.set()
        answers.wait(PATIENCE_SECONDS)

    monkeypatch.setattr(manager, "Restorer", partial(Restorer, step=hang))
    yield reached, answers
    answers.set()


async def test_a_forced_stop_goes_through_while_a_restore_hangs_on_its_disk(
    base: Base, hung_disk: tuple[threading.Event, threading.Event]
) -> None:
    at_disk, answers = hung_disk
    async with idle(base) as daemon:
        await wants_back(daemon, base, "start")
        await until(at_disk.is_set)
        await daemon.request(events.StopRequested(**daemon.stamp("a1"), by="test", force=True))
        assert (await ended(daemon)).state is AgentState.STOPPED
        assert not base.events(events.CheckpointRestored)
        answers.set()
        await until(lambda: bool(base.events(events.CheckpointRestored)))
    assert not (base.repo / "one.txt").exists()
    assert base.kinds().count("agent_launched") == 1


@pytest.mark.slow
async def test_a_rollback_takes_the_files_back_ends_the_agent_and_launches_it_again(base: Base) -> None:
    async with idle(base) as daemon:
        (base.repo / "two.txt").write_text("two\n")
        await wants_back(daemon, base, "turn")
        await until(lambda: base.kinds().count("agent_launched") == 2)
        await reached(daemon, AgentState.IDLE)
        assert ((base.repo / "one.txt").exists(), (base.repo / "two.txt").exists()) == (True, False)
    order = ("rollback_requested", "tree_frozen", "checkpoint_restored", "tree_ended", "agent_exited")
    assert [kind for kind in base.kinds() if kind in order][:5] == list(order)


async def test_a_checkpoint_that_is_not_there_leaves_the_agent_as_it_was(base: Base) -> None:
    async with idle(base) as daemon:
        await daemon.request(events.RollbackRequested(**daemon.stamp("a1"), id="r1", checkpoint="none", by="test"))
        await until(lambda: bool(base.events(events.RestoreFailed)))
        await daemon.request(
            events.SayRequested(**daemon.stamp("a1"), id="s1", text="do: echo two > two.txt", by="test")
        )
        await until((base.repo / "two.txt").exists)
    assert [incident["type"] for incident in base.incidents()] == ["rollback_failed"]


async def test_no_file_is_set_back_under_another_agent(base: Base) -> None:
    async with idle(base) as daemon:
        await daemon.submit(base.submission(prompt="hello", name="a2", keep_open=True), by="test")
        await reached(daemon, AgentState.IDLE, "a2")
        await wants_back(daemon, base, "start")
        await until(lambda: bool(base.events(events.RestoreFailed)))
        assert (base.repo / "one.txt").exists()
    (failed,) = base.events(events.RestoreFailed)
    assert "a2 works in the same workspace; no file was changed" in failed.error


async def test_what_would_be_done_is_said_of_the_agent_that_it_would_be_done_to(base: Base) -> None:
    async with idle(base) as daemon:
        kept = base.events(events.CheckpointMade)[0].name
        assert (await preview(daemon, kept, "")).agent == "a1"
        await daemon.put_down("a1", "its time is over")
        await daemon.submit(base.submission(prompt="hello", name="a2", keep_open=True), by="test")
        await reached(daemon, AgentState.IDLE, "a2")
        theirs = await preview(daemon, kept, "")
        assert (theirs.agent, theirs.live) == ("a2", True)
        for ask in (preview(daemon, kept, "a1"), roll_back(daemon, "a1", RollbackRequest(checkpoint=kept), "ann")):
            with pytest.raises(UsageError, match="Agent a2 works in"):
                await ask
        await daemon.put_down("a2", "its time is over")
        alone = await preview(daemon, kept, "a1")
        assert (alone.agent, alone.live) == ("a1", False)
        assert {change.path for change in alone.plan.lost} >= {"one.txt"}


async def test_what_the_configuration_lists_is_captured_although_it_is_ignored_and_what_is_too_large_is_named(
    base: Base,
) -> None:
    base.config = {"checkpoints": {"also": [".env"], "max_file_mb": 1}}
    (base.repo / ".gitignore").write_text(".env\n")
    (base.repo / ".env").write_text("first\n")
    (base.repo / "large").write_bytes(bytes(2**20 + 1))
    async with idle(base) as daemon:
        kept = (await daemon.checkpoint_manager.stores.all()).checkpoints[0]
        assert [one.path for one in kept.skipped] == ["large"]
        (base.repo / ".env").write_text("second\n")
        await daemon.put_down("a1", "its time is over")
        await roll_back(daemon, "a1", RollbackRequest(checkpoint=kept.name), "ann")
    assert (base.repo / ".env").read_text() == "first\n"
    assert (base.repo / "large").exists()


async def test_a_workspace_that_cannot_be_watched_is_told_of_once(base: Base) -> None:
    async with idle(base) as daemon:
        daemon.checkpoint_manager.places[str(base.repo)].capturer.watcher._give_up(
            "The kernel refuses to watch more than 3 folders."
        )
        for name in ("one", "two"):
            await make(daemon, "a1", name, "", "ann")
        await until(lambda: bool(base.incidents()))
    (told,) = base.incidents()
    assert told["type"] == "workspace_unwatched"
    assert "cannot be watched. The kernel refuses to watch more than 3 folders." in told["summary"]


async def test_many_workspaces_that_cannot_be_watched_are_one_incident(
    base: Base, caplog: pytest.LogCaptureFixture
) -> None:
    """Their cause is one, a limit of the kernel: 873 agents made 873 incidents."""
    async with idle(base) as daemon:
        daemon.checkpoint_manager._queues = NoInstance()
        for number in range(3):
            other = base.root / f"other{number}"
            shutil.copytree(base.repo, other)
            await daemon.submit(base.submission(prompt="done", repository=str(other), name=f"b{number}"), by="test")
        await until(lambda: caplog.text.count("cannot be watched. The kernel refuses another watcher") == 3)
    assert [each["type"] for each in base.incidents()] == ["workspace_unwatched"]


class NoInstance(NoteQueues):
    """A kernel whose instances are used up, by programs that are none of ours."""

    def join(self, listener: Listener) -> NoteQueue:  # noqa: ARG002 - as the one that it stands for
        raise OSError(errno.EMFILE, "Too many open files")
