"""Data that is kept for a time only: reports of incidents, and files of the shims of ended agents.

The journal goes on from a durable state once records are older; see `supervisor.runtime.journal.cutting`.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable
from pathlib import Path

import anyio
import anyio.to_thread

from host.folders import below, remove_folder
from monitors.contract.wording import counted
from supervisor.core.board import Board
from supervisor.runtime.clock import Clock, SteadyTime
from supervisor.runtime.incidents.feed import IncidentFeed
from supervisor.runtime.log import log
from supervisor.runtime.processes.earlier_life import launches
from supervisor.runtime.processes.identity import is_running, read_identity
from supervisor.runtime.protection.outputs import remove_printed

DAY_SECONDS = 86_400.0

CONVERSATIONS = "claude"
"""The CLI's own folder, where the agent has one of its own: a checkpoint may lead back to a conversation in it."""


async def forget_what_is_old(
    board: Board,
    incidents: IncidentFeed,
    agents: Path,
    aside: Path,
    clock: Clock,
    cut: Callable[[float], Awaitable[int]],
    report_days: int,
    days: int | None,
) -> None:
    """Remove what is kept no longer, an hour after the start and then once a day.

    What was sealed needs no clock, and goes at the start.

    Args:
        board: All agents.
        incidents: The reports.
        agents: The directory that has one directory an agent.
        aside: The directory of folders of an earlier life.
        clock: Tells the time.
        report_days: How long reports of incidents are kept.
        days: How long anything is kept; None for ever.
        cut: Removes files of the journal that are older than a Unix time; returns how many.
    """
    time = SteadyTime(clock)
    while True:
        over = [one.agent for one in board.summaries() if one.state.ended]
        await anyio.to_thread.run_sync(forget_sealed, agents, over)
        while (left := time.settles_in()) > 0:  # noqa: ASYNC110 - a timer may be early, and the next look is a day away
            await anyio.sleep(left)
        now = time.now()
        await incidents.prune(now, min(report_days, days or report_days))
        if days is not None:
            ended = {one.agent: one.ended_at for one in board.summaries() if one.ended_at is not None}
            old = [agent for agent, at in ended.items() if at < now - days * DAY_SECONDS]
            if forgotten := await anyio.to_thread.run_sync(forget_output, agents, old):
                log.info("removed what %s printed, as audit.retain_days says", counted(len(forgotten), "agent"))
            known = {one.agent for one in board.summaries()}
            await anyio.to_thread.run_sync(forget_strangers, agents, aside, known, now - days * DAY_SECONDS)
            if removed := await cut(now - days * DAY_SECONDS):
                log.info("removed %s of the journal, as audit.retain_days says", counted(removed, "file"))
        await anyio.sleep(DAY_SECONDS)


def forget_sealed(agents: Path, ended: Iterable[str]) -> None:
    """Remove what these agents printed and is sealed: a daemon that was killed at their end had no time for it. Blocks.

    What cannot be removed is logged and tried again the next day.
    """
    for agent in ended:
        try:
            for launch in launches(agents / agent):
                if not _lives(launch):
                    remove_printed(launch)
        except (OSError, ValueError, TypeError) as error:
            log.warning("what agent %s printed could not be removed (%s); it is tried again tomorrow", agent, error)


def forget_output(agents: Path, ended: Iterable[str]) -> list[str]:
    """Remove what the shims of these agents wrote down, and return whose was there. Blocks.

    What cannot be removed is logged and tried again the next day, and what a shim still writes is left alone.
    """
    forgotten = []
    for agent in ended:
        try:
            if _forget(agents / agent):
                forgotten.append(agent)
        except (OSError, ValueError, TypeError) as error:
            log.warning("what agent %s printed could not be removed (%s); it is tried again tomorrow", agent, error)
    return forgotten


def forget_strangers(agents: Path, aside: Path, known: Collection[str], before: float) -> list[str]:
    """Remove folders of an earlier life that were last written before this time; return their names. Blocks.

    What cannot be removed is logged and tried again the next day, and what a shim still writes is left alone.
    """
    strange = [folder for folder in _entries(agents) if folder.name not in known]
    forgotten = []
    for folder in [*strange, *_entries(aside)]:
        try:
            if folder.is_symlink() or not folder.is_dir():
                continue
            newest = max(path.lstat().st_mtime for path in (folder, *below(folder)))
            if newest < before and not any(_lives(launch) for launch in launches(folder)):
                remove_folder(folder)
                forgotten.append(folder.name)
        except (OSError, ValueError, TypeError) as error:
            log.warning("the folder %s of an earlier life could not be removed (%s); it is tried again", folder, error)
    return forgotten


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _forget(directory: Path) -> bool:
    if not directory.exists() or any(_lives(launch) for launch in launches(directory)):
        return False
    old = [path for path in directory.iterdir() if path.name != CONVERSATIONS]
    for path in old:
        if path.is_dir() and not path.is_symlink():
            remove_folder(path)
        else:
            path.unlink()
    if not any(directory.iterdir()):
        directory.rmdir()
    return bool(old)


def _lives(launch: Path) -> bool:
    identity = read_identity(launch)
    if identity is None and (launch / "agent.json").exists():
        raise ValueError(f"{launch / 'agent.json'} cannot be read, so whether its processes live is not known")
    return identity is not None and is_running(identity)
