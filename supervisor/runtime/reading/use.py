"""An agent's use over time: its lines of the journal, folded as the live run folds them."""

import pickle
from contextlib import suppress

import anyio.lowlevel

from monitors.contract import anyjson
from supervisor.core.replay.use import UseHistory
from supervisor.protocol import records
from supervisor.runtime.assembly.settings import own_prices
from supervisor.runtime.reading.jobs import Events, UseOverTime
from supervisor.runtime.reading.journal_lines import JournalLines
from supervisor.runtime.reading.progress import Follower


async def used(wanted: UseOverTime, lines: JournalLines, progress: Follower, reviewer: bytes) -> bytes:
    """Return it as JSON.

    Args:
        wanted: Whose, and up to which event.
        lines: The journal.
        progress: How far it is written.
        reviewer: The configuration, as `ReadPaths` has it.
    """
    config, _ = pickle.loads(reviewer)  # noqa: S301 - from our own daemon
    history = UseHistory(own_prices(config))
    job = Events(0, wanted.last, follow=False, agent=wanted.agent, since=0.0)
    async for part in lines.wanted(job, progress):
        for line in part.split(b"\n"):
            with suppress(records.RecordError):  # the empty end, or a line of a newer version
                record = records.decode(line)
                if not isinstance(record.event, records.UnknownEvent):
                    history.take(record.n, record.event)
        await anyio.lowlevel.checkpoint()
    return anyjson.dumps(history.as_json())
