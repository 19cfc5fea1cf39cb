"""The message to an agent that continues after a crash: the known facts, so that it need not guess.

The facts are of agents' making. So each is one line, is cut, has what may be a secret hidden, and has what acts on a
terminal spelled out.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from interventions import sanitise
from interventions.texts import fields
from monitors.contract.actions import PastCall
from monitors.contract.anyjson import ACTING

MAX_CONTEXT = fields.MAX_TEXT
"""Longest message, in characters, without the task's own prompt; of more facts, the last ones are left out."""

CUTS = (400, 200, 100)
"""Longest fact, in characters: the first of these at which all facts fit. At the last one, all those fit by which a
crash is retraced."""

MAX_READ = 8_000
"""Characters of a fact in which secrets are looked for before it is cut: a cut secret is not recognised."""

MOST_FILES = 12
"""Files and items that are named; the rest is counted. The workspace has the truth, and git status shows it."""

MOST_ENDS = 3
"""Earlier attempts whose ends are told, the last ones: by the third, an agent sees what repeats."""

_ACTS = re.compile(rf"[\x00-\x1f\ud800-\udfff{ACTING}]")

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
    ends: Sequence[str] = ()
    """How the attempts up to this one ended, oldest first; empty if that is told by `how` alone."""
    started: str = ""
    """When it began. Example: `2026-01-15T10:00:00Z`."""
    turns: int = 0
    """How many turns it completed."""
    during_turn: int = 0
    """Number of the turn during which it ended, from 1; 0 if that is not known."""
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
    stderr: str = ""
    """The end of its standard error, if it crashed."""
    same_session: bool = True
    """Whether the conversation goes on, or begins anew."""


def context(prompt: str, last: LastAttempt) -> str:
    """The message with which the next attempt begins."""
    asked = [] if last.same_session else [f"What was asked: {prompt}"]
    opening, *facts = _fitting(last, MAX_CONTEXT - len(LOOK_FIRST) - 1)
    return "\n".join([opening, *asked, *facts, LOOK_FIRST])


def _fitting(last: LastAttempt, most: int) -> list[str]:
    """The lines of facts, cut or left out so that they have at most so many characters."""
    for cut in CUTS:
        lines = list(_facts(last, cut))
        if sum(len(line) + 1 for line in lines) <= most:
            return lines
    while sum(len(line) + 1 for line in lines) > most:
        lines.pop()
    return lines


def _facts(last: LastAttempt, cut: int) -> Iterator[str]:
    """Yield what is known, the most needed first."""
    how = _shortened(last.how, cut)
    yield f"{fields.OPENING}This task was under way before and its agent ended early ({how})."
    yield f"Attempts before this one: {last.number}."
    ends = last.ends[-MOST_ENDS:]
    for number, end in enumerate(ends, last.number - len(ends) + 1):
        yield f"- Attempt {number} ended: {_shortened(end, cut)}"
    if last.output_lost:
        yield OUTPUT_LOST
    if last.uncommitted is not None:
        yield f"The workspace has uncommitted changes: {_names(last.uncommitted, cut) or 'no'}."
    rows = [f"- {name}: {value}" for name, value in _rows(last, cut) if value]
    if rows:
        yield "What is known of the last attempt:"
        yield from rows


def _rows(last: LastAttempt, cut: int) -> Sequence[tuple[str, str]]:
    may_have_run = "; ".join(_shortened(call, cut) for call in last.unanswered)
    actions = "; ".join(f"{step.tool} {_shortened(step.summary, min(cut, 100))}" for step in list(last.history)[-3:])
    return (
        ("Started", _shortened(last.started, cut)),
        ("Turns completed", str(last.turns) if last.turns else ""),
        ("Ended during turn", str(last.during_turn) if last.during_turn else ""),
        ("Let through and never answered, so that they may have run", fields.cut(may_have_run, cut)),
        ("Files modified", _names(last.files_modified, cut)),
        ("Tests", _shortened(last.tests, cut)),
        ("Last commit", _shortened(last.last_commit, cut)),
        ("Its standard error ended with", _end(last.stderr, cut)),
        ("Done, by its own list", _names(last.done, cut)),
        ("Still open", _names(last.still_open, cut)),
        ("Last actions", actions),
    )


def _names(names: Sequence[str], most: int) -> str:
    """The first names, as many as fit, and how many more there are."""
    told: list[str] = []
    for name in names[:MOST_FILES]:
        plain = _shortened(name, most)
        if told and len(", ".join([*told, plain])) > most:
            break
        told.append(plain)
    more = f" and {len(names) - len(told)} more" if len(names) > len(told) else ""
    return ", ".join(told) + more


def _shortened(fact: str, most: int) -> str:
    return fields.cut(_plain(fact[:MAX_READ]), most)


def _end(text: str, most: int) -> str:
    plain = _plain(text[-MAX_READ:])
    return plain if len(plain) <= most else "…" + plain[1 - most :]


def _plain(fact: str) -> str:
    """A fact as one line, without secrets and without characters that act."""
    line = " ".join(sanitise.text(fact).split())
    return _ACTS.sub(lambda found: found[0].encode("unicode_escape").decode(), line)
