"""The metrics of the daemon at one moment, gathered for their text."""

import os
import pickle
from collections.abc import Iterator
from typing import Protocol

import anyio.lowlevel

from supervisor.core.fold.summary import DAY
from supervisor.core.limits import LIMITED, share
from supervisor.core.session import Session
from supervisor.runtime.daemon_parts import JournalParts, TimeParts
from supervisor.runtime.exporters.delivery import Exporting
from supervisor.runtime.metrics.metrics import Counted, Metrics, Sample

AGENTS_AT_A_TIME = 20
"""Agents that are looked at before others get their turn in the loop: 50 microseconds each."""


class MeasuredParts(JournalParts, TimeParts, Protocol):
    """The parts of the daemon whose state is measured."""

    metrics: Metrics
    """Counters of events."""
    exporting: list[Exporting]
    """Exporters to other systems."""


async def gather(daemon: MeasuredParts) -> bytes:
    """Return the daemon's state as bytes for `exposition`.

    Sessions are read in the loop, which changes them, a few at a time.
    """
    for seconds in daemon.journal.take_sync_seconds():
        daemon.metrics.observe("chaperon_journal_sync_seconds", seconds)
    samples = list(_of_daemon(daemon))
    for number, session in enumerate(daemon.board.live()):
        samples += _of_agent(daemon, session)
        if number % AGENTS_AT_A_TIME == 0:
            await anyio.lowlevel.checkpoint()
    return pickle.dumps(Counted(daemon.metrics, tuple(samples), os.getpid()))


def _of_agent(daemon: MeasuredParts, session: Session) -> Iterator[Sample]:
    known, agent = session.summary, session.summary.agent
    yield "chaperon_agents", (known.state,), 1
    yield "chaperon_agent_memory_bytes", (agent,), known.memory_mb * 2**20
    yield "chaperon_agent_cpu_seconds_total", (agent,), known.cpu_seconds
    yield "chaperon_agent_processes", (agent,), known.processes
    if known.cost_usd is not None:
        yield "chaperon_agent_cost_usd_total", (agent,), known.cost_usd
    yield from (("chaperon_issues_open", (type_,), 1) for type_ in session.open_issues)
    usage, limits = session.controller.usage(daemon.mono()), session.controller.limits.limits
    for each in LIMITED:
        if part := share(each, usage, limits):
            yield "chaperon_limit_used_ratio", (agent, each.limit), round(part, 4)


def _of_daemon(daemon: MeasuredParts) -> Iterator[Sample]:
    waiting = sum(len(session.approvals) for session in daemon.board.live())
    yield "chaperon_approvals_waiting", (), waiting
    costs = daemon.board.costs
    yield from (("chaperon_tokens_total", (kind,), count) for kind, count in costs.tokens.items())
    yield "chaperon_cost_usd_total", (), costs.cost_usd
    yield "chaperon_cost_usd_today", (), costs.by_day.get(int(daemon.wall() // DAY), 0.0)
    yield from (
        ("chaperon_export_waiting", (one.name,), daemon.journal.last - one.position) for one in daemon.exporting
    )
    yield "chaperon_journal_lag_events", (), daemon.journal.last - daemon.journal.last_synced
