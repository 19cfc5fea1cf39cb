"""The list of all agents as JSON: rows that changed are written anew, and others get their turn between rows.

The loop that answers the gate writes it, since sessions change there. Written whole, sixty agents at work held that
loop for 10 ms, and four thousand ended ones for most of a second.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from collections.abc import Set as AbstractSet

import anyio.lowlevel

from supervisor.core.board import Board
from supervisor.core.fold.summary import Summary
from supervisor.runtime.daemon.summary_json import written as summary_row

WRITTEN_AT_ONCE = 10
"""Rows that are written before others get their turn: 30 to 60 microseconds each."""

LOOKED_AT_ONCE = 500
"""Agents that are looked at before others get their turn: a quarter of a millisecond."""

MOST_ROWS = 20_000
"""Rows of one answer: 100 MB of agents that have ended."""

SENT_BYTES = 64 * 1024
"""Rows that are sent at once, in bytes: what the kernel takes in one call."""

KEPT_BYTES = 32 * 1024 * 1024
"""Rows that are kept, in bytes: those of 5,000 agents. Others are written again each time."""


class AgentRows:
    """Writes the list, and keeps each row until its agent changes. Used from one event loop.

    Args:
        board: Gives the agents.
        kept_bytes: Most bytes of rows to keep.
    """

    def __init__(self, board: Callable[[], Board], kept_bytes: int = KEPT_BYTES) -> None:
        self._board = board
        self._room = kept_bytes
        self._kept: dict[str, tuple[int, bytes]] = {}

    async def parts(
        self,
        wanted: Callable[[Summary], bool] = lambda _: True,
        names: AbstractSet[str] = frozenset(),
        after: str | None = None,
        limit: int = MOST_ROWS,
    ) -> AsyncIterator[bytes]:
        """Yield the list of the agents wanted, oldest first. Each row is its agent's at the time when it is written.

        Args:
            wanted: Whether an agent is.
            names: Only agents of these names; all if it is empty. A name that no agent has is passed over.
            after: Only agents that were submitted after this one; it must be known.
            limit: Most rows.
        """
        part, size, written, rows = [b"["], 1, 0, 0
        for looked, agent in enumerate(self._asked(names, after), 1):
            known = self._board().known(agent)
            if known is not None and known.removed_at is None and wanted(known):
                row, anew = self.row(agent)
                written += anew
                part += [b",", row] if rows else [row]
                size += len(row) + 1
                rows += 1
            if size >= SENT_BYTES or written >= WRITTEN_AT_ONCE:
                yield b"".join(part)
                part, size, written = [], 0, 0
                await anyio.lowlevel.checkpoint()
            elif looked % LOOKED_AT_ONCE == 0:
                await anyio.lowlevel.checkpoint()
            if rows == limit:
                break
        part.append(b"]")
        yield b"".join(part)

    def _asked(self, names: AbstractSet[str], after: str | None) -> Sequence[str]:
        """Return the agents to look at, in the order in which they were submitted."""
        board = self._board()
        if names:
            known = [summary for name in names if (summary := board.known(name)) is not None]
            return [summary.agent for summary in sorted(known, key=lambda summary: summary.first_event)]
        if after is None:
            return board.names()
        return board.names()[board.names().index(after) + 1 :]

    def row(self, agent: str) -> tuple[bytes, bool]:
        """Return an agent's row, and whether it was written for this."""
        version = self._board().version(agent)
        kept, row = self._kept.get(agent, (-1, b""))
        if kept == version:
            return row, False
        self._room += len(row)
        row = summary_row(self._board().summary(agent))
        self._kept.pop(agent, None)
        if len(row) <= self._room:
            self._room -= len(row)
            self._kept[agent] = version, row
        return row, True
