import re

import pytest

from monitors.contract.errors import ChaperonError, UsageError
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.submission import UnavailableError
from supervisor.runtime.journal.journal import JournalState
from tests.stages.daemon import Base, ended, reached, served, until


async def test_a_prompt_is_refused_before_anything_is_started(base: Base) -> None:
    async with served(base) as (daemon, _):
        with pytest.raises(UsageError, match="The prompt is empty"):
            await daemon.submit(base.submission(prompt=" \n"), by="test")
        with pytest.raises(UsageError, match="The prompt has 1048577 bytes"):
            await daemon.submit(base.submission(prompt="x" * (1024 * 1024 + 1)), by="test")
        assert daemon.board.summaries() == []


async def test_a_full_disk_takes_no_new_task(base: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(base) as (daemon, _):
        monkeypatch.setattr(daemon.journal.reserve, "hold", lambda: False)
        monkeypatch.setattr(daemon.journal._writer, "state", JournalState.FULL)
        lacks = re.escape(f"full: 4 MiB and an inode must be free for {base.places.journal}. No new task")
        with pytest.raises(UnavailableError, match=lacks):
            await daemon.submit(base.submission(), by="test")
        monkeypatch.undo()
        assert daemon.board.summaries() == []


async def test_a_task_that_could_not_be_taken_uses_no_name_up(base: Base) -> None:
    base.cli("begin()\ndone()\nhear()")
    async with served(base) as (daemon, _):
        for _ in range(3):
            with pytest.raises(ChaperonError):
                await daemon.submit(base.submission(name=None, workspace="new", base="no-such-commit"), by="test")
        assert (await daemon.submit(base.submission(name=None), by="test")).agent == "a1"
        await ended(daemon)


async def test_names_are_given_in_turn_and_never_twice(base: Base) -> None:
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(name="a1"), by="test")
        assert (await daemon.submit(base.submission(name=None), by="test")).agent == "a2"
        await ended(daemon)
        await ended(daemon, "a2")
        assert daemon.unwatched() == []


async def test_agents_that_work_in_the_same_files_are_warned_of(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), "ann")
        await reached(daemon, AgentState.RUNNING)
        assert base.incidents() == []
        await daemon.submit(base.submission(name="a2"), "ann")
        await until(lambda: bool(base.incidents()))
    (incident,) = base.incidents()
    assert (incident["type"], incident["agent"], incident["severity"]) == ("workspace_shared", "a2", "low")
    assert "so does a1" in incident["summary"]
