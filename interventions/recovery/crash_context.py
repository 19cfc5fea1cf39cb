"""The message to an agent that continues after a crash: the known facts, so that it need not guess."""

from collections.abc import Sequence
from dataclasses import dataclass

from interventions.texts import fields
from monitors.contract.actions import PastCall

MOST_FILES = 12
"""Files and items that are named; the rest is counted. The workspace has the truth, and git status shows it."""

LOOK_FIRST = (
    "What ran when it ended may be half done. Look at the workspace as it is now (git status, git diff), run the tests if "
    "there are any, and go on from where the work stands; do not begin again what is done."
)


OUTPUT_LOST = (
    "The process that read its output was killed with it, so the end of that output is lost: its last steps may have run "
    "although this conversation does not show them."
)


@dataclass(frozen=True, slots=True)
class LastAttempt:
    """Facts about the attempt that crashed."""

    number: int
    """Number of the attempt, from 1."""
    how: str
    """How it ended. Example: `signal 9`."""
    turns: int = 0
    history: Sequence[PastCall] = ()
    """Its latest steps, oldest first."""
    files_modified: Sequence[str] = ()
    uncommitted: Sequence[str] | None = None
    """Files with uncommitted changes, in order; None if that is not known."""
    done: Sequence[str] = ()
    """Items that its own to-do list has as done."""
    still_open: Sequence[str] = ()
    """Items that its list has as open."""
    tests: str = ""
    """The last test result. Example: `4 of 6 pass (pytest)`."""
    last_commit: str = ""
    """Example: `abc123 feat: add auth module`."""
    unanswered: Sequence[str] = ()
    """Calls that were let through and never came back, oldest first: they may have run, whole or in part."""
    output_lost: bool = False
    """Whether the end of its output is lost, since the process that read it was killed."""
    same_session: bool = True
    """Whether the conversation goes on, or begins anew."""


def context(prompt: str, last: LastAttempt) -> str:
    """The message with which the next attempt begins."""
    lines = [
        f"{fields.OPENING}This task was under way before and its agent ended early ({last.how}).",
        *([] if last.same_session else [f"What was asked: {fields.cut(prompt, 4_000)}"]),
        f"Attempts before this one: {last.number}.",
        *([OUTPUT_LOST] if last.output_lost else []),
        *_workspace(last),
        *_log(last),
        LOOK_FIRST,
    ]
    return "\n".join(lines)


def _workspace(last: LastAttempt) -> list[str]:
    if last.uncommitted is None:
        return []
    return [f"The workspace has uncommitted changes: {_files(last.uncommitted) or 'no'}."]


def _log(last: LastAttempt) -> list[str]:
    may_have_run = "; ".join(fields.cut(call, 200) for call in last.unanswered)
    rows = (
        ("Turns completed", str(last.turns) if last.turns else ""),
        ("Files modified", _files(last.files_modified)),
        ("Done, by its own list", _files(last.done)),
        ("Still open", _files(last.still_open)),
        ("Tests", last.tests),
        ("Last commit", last.last_commit),
        ("Last actions", "; ".join(f"{step.tool} {fields.cut(step.summary, 100)}" for step in list(last.history)[-3:])),
        ("Let through and never answered, so that they may have run", may_have_run),
    )
    found = [f"- {name}: {value}" for name, value in rows if value]
    return ["What is known of the last attempt:", *found] if found else []


def _files(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_FILES} more" if len(names) > MOST_FILES else ""
    return ", ".join(names[:MOST_FILES]) + more
