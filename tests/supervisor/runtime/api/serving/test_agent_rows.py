"""The list of agents, written again only if they changed, against one that is written whole each time."""

import json
from dataclasses import replace
from typing import Any

import anyio
import pytest

from monitors.contract import anyjson
from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.runtime.api.serving.agent_rows import LOOKED_AT_ONCE, SENT_BYTES, AgentRows
from supervisor.runtime.daemon.summary_json import SUMMARY, written
from tests.simulation.world import World
from tests.stages.session import Play


def board_of(count: int, words: str = "") -> Board:
    """A board of so many agents that could not be launched."""
    board = Board(lambda submitted: Play().make(submitted))
    for number in range(count):
        play = Play()
        stamp = {**play.stamp(), "agent": f"a{number}"}
        task = replace(play.task, prompt=words or play.task.prompt)
        board.see(2 * number + 1, events.TaskSubmitted(**stamp, task=task, workspace="/repo", session_id="s"))
        board.see(2 * number + 2, events.LaunchFailed(**stamp, error="no CLI"))
    return board


async def listed(rows: AgentRows) -> Any:
    return json.loads(b"".join([part async for part in rows.parts()]))


async def test_agents_are_asked_for_by_name_and_a_name_that_none_has_is_passed_over() -> None:
    rows = AgentRows(lambda: board)
    board = board_of(4)
    parts = [part async for part in rows.parts(names=frozenset({"a3", "a1", "nobody"}))]
    assert [one["agent"] for one in json.loads(b"".join(parts))] == ["a1", "a3"]


@pytest.mark.parametrize(
    ("after", "limit", "names"),
    [(None, 2, "a0 a1"), ("a1", 2, "a2 a3"), ("a2", 9, "a3 a4"), ("a4", 9, ""), (None, 5, "a0 a1 a2 a3 a4")],
)
async def test_a_page_has_so_many_agents_after_one(after: str | None, limit: int, names: str) -> None:
    board = board_of(5)
    parts = [part async for part in AgentRows(lambda: board).parts(after=after, limit=limit)]
    assert [one["agent"] for one in json.loads(b"".join(parts))] == names.split()


async def test_a_page_costs_no_more_if_most_agents_are_not_wanted() -> None:
    board = board_of(1_100)
    looked, turns = 0, 0

    def wanted(_: Summary) -> bool:
        nonlocal looked
        looked += 1
        return looked > 1_050

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(others)
        await anyio.lowlevel.checkpoint()
        before = turns
        parts = [part async for part in AgentRows(lambda: board).parts(wanted, limit=10)]
        assert turns - before >= 1_050 // LOOKED_AT_ONCE, "others had their turn while it was looked for the first"
        tasks.cancel_scope.cancel()
    assert len(json.loads(b"".join(parts))) == 10
    assert looked == 1_060, "none was looked at behind the page"


async def test_an_agent_that_is_forgotten_while_the_list_is_written_is_passed_over() -> None:
    board = board_of(30)
    parts = AgentRows(lambda: board).parts()
    first = await anext(parts)
    board.forget("a25")
    rest = [part async for part in parts]
    assert "a25" not in [one["agent"] for one in json.loads(first + b"".join(rest))]


class Compared(World):
    """A world in which each row is compared with a summary that is written anew, after each event."""

    rows: AgentRows | None = None
    rows_of: Board | None = None
    kept = 0

    def _happened(self, event: events.AnyEvent) -> None:
        super()._happened(event)
        if self.rows is None or self.rows_of is not self.board:
            self.rows, self.rows_of = AgentRows(lambda: self.board), self.board
        for summary in self.board.summaries():
            row, anew = self.rows.row(summary.agent)
            assert row == written(summary), event
            self.kept += not anew


@pytest.mark.parametrize("seed", range(6))
def test_a_row_that_is_kept_is_what_would_be_written_now_after_every_event(seed: int) -> None:
    world = Compared(seed, dice=bool(seed % 2))
    world.run()
    assert world.kept or len(world.agents) == 1


async def test_the_list_is_that_of_all_summaries_in_their_order() -> None:
    board = board_of(30)
    rows = AgentRows(lambda: board)
    whole = json.loads(anyjson.dumps([SUMMARY.dump_python(one, mode="json") for one in board.summaries()]))
    assert [await listed(rows), await listed(rows)] == [whole, whole]
    assert await listed(AgentRows(lambda: board_of(0))) == []


async def test_others_get_their_turn_while_a_long_list_is_written_and_sent() -> None:
    board = board_of(200, "many words " * 100)
    turns, parts = 0, list[bytes]()

    async def others() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    rows = AgentRows(lambda: board)
    for _ in range(2):  # rows that are written, and rows that are kept
        turns, parts = 0, []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(others)
            async for part in rows.parts():
                parts.append(part)
            tasks.cancel_scope.cancel()
        assert turns >= len(parts) - 2 > 3
        assert max(map(len, parts)) < 2 * SENT_BYTES


async def test_rows_beyond_the_bound_are_written_each_time_and_the_list_is_the_same() -> None:
    board = board_of(20)
    one = len(written(board.summary("a0")))
    few = AgentRows(lambda: board, kept_bytes=5 * one)
    assert await listed(few) == await listed(AgentRows(lambda: board))
    again = [few.row(summary.agent)[1] for summary in board.summaries()]
    assert 4 <= again.count(False) <= 6


async def test_bytes_that_are_no_text_and_characters_that_act_are_written_as_everywhere() -> None:
    board = board_of(1, "bad \udcff \u202e name \ufffd\\x")
    summary = board.summary("a0")
    assert written(summary) == anyjson.dumps(SUMMARY.dump_python(summary, mode="json"))
    (row,) = await listed(AgentRows(lambda: board))
    assert row["task"]["prompt"] == json.loads(anyjson.dumps(summary.task.prompt))
