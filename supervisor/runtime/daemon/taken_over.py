"""An account of the work that a daemon took over at its start: how much there was, and what of it is missing."""

from collections.abc import Iterator

from monitors.contract.wording import counted
from supervisor.core.board import Board
from supervisor.protocol.events import EventStamp, WorkTakenOver
from supervisor.protocol.tasks import TaskState
from supervisor.runtime.journal.recovery import JournalRecovery
from supervisor.runtime.processes.adoption import Adopted


def taken_over(board: Board, adopted: Adopted, recovery: JournalRecovery, stamp: EventStamp) -> WorkTakenOver | None:
    """Return what was taken over, once all agents were looked for; None if there was nothing."""
    counts = board.tasks.counts()
    tasks = {str(state): number for state, number in counts.items() if number and not state.over}
    missing = tuple(_missing(board, adopted, recovery))
    if not (adopted.found or tasks or missing):
        return None
    held = sum(counts[state] for state in TaskState if state.held)
    parts = [str(adopted)] if adopted.found else ["took over the work of the daemon before"]
    if tasks:
        parts.append(f"{counted(sum(tasks.values()), 'task')} not over, of which agents have {held}")
    parts.append("; ".join(missing) if missing else "nothing is missing")
    summary = "; ".join(parts)
    said = f"The daemon {summary}."
    return WorkTakenOver(**stamp, summary=said, agents=adopted.counts(), tasks=tasks, missing=missing)


def _missing(board: Board, adopted: Adopted, recovery: JournalRecovery) -> Iterator[str]:
    if adopted.lost:
        yield f"how {counted(adopted.lost, 'agent')} ended is not known"
    if adopted.silent:
        yield f"{counted(adopted.silent, 'agent')} cannot be reached yet"
    if unmade := len(board.unmade):
        yield f"nobody watches over {counted(unmade, 'agent')}, whose settings cannot be read"
    if damage := len(recovery.damage):
        yield f"{counted(damage, 'place')} of the journal were damaged"
    if recovery.torn:
        yield "the last record of the journal was not whole"
