"""Lines of the journal that are not what was written there, put aside so that they cost their agents and no others.

A line that is damaged between intact ones is replaced by a `RecordDamaged` of its agent. Lines at the end that are
whole and not signed were written by another program. They are taken off, and a `RecordDamaged` of no agent comes in
their place: what was there before, and about which agents, is not known. The files as they were are kept beside the
journal. What cannot be told to an agent is left to the caller.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from host.durable import Disk, replace_file
from monitors.contract.words import Severity
from supervisor.protocol import records
from supervisor.protocol.events import RecordDamaged
from supervisor.protocol.records import RecordError
from supervisor.runtime.journal.reader import Segment, list_segments
from supervisor.runtime.journal.signing import SigningKey

_BEGINNING = re.compile(rb'\{"n":([0-9]{1,20}),"agent":"([^"\\]+)"')
"""A line's number and its agent, in the part that must be whole if the line is to be its agent's."""

KEPT_SUFFIX = ".damaged"
"""Ending of the files as they were."""


@dataclass(frozen=True, slots=True)
class JournalDamage:
    """Lines that were put aside."""

    kept: tuple[Path, ...]
    """The files that have them."""
    first: int
    """The number of the first."""
    lines: int
    """How many there were."""
    why: str
    """The fault of the first."""
    agents: tuple[str, ...]
    """Agents that they are about; none if that is not known."""


@dataclass(slots=True)
class _Line:
    data: bytes
    n: int
    """Number that belongs in its place."""
    fault: str = ""
    whole: bool = False
    """Whether make and checksum are right."""
    misplaced: bool = False
    """Whether it is a line that was written, in another place: others were taken out, or put in."""
    agent: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class _Change:
    segment: Segment
    end: int
    """How many lines of the file stay, damaged ones replaced."""
    tail: Sequence[_Line] = ()
    """The lines that go."""
    gone: Sequence[Segment] = ()
    """The files that go, behind this one."""
    follows: str = ""
    """The hash that the next file names."""


@dataclass(slots=True)
class _Read:
    header: bytes
    lines: list[_Line] = field(default_factory=list)
    rest: bytes = b""
    """Behind the last newline."""


def damage_words(damage: JournalDamage) -> tuple[str, Severity, str]:
    """Return what is told of damage: what happened, how grave it is, and the way out."""
    lines = f"{damage.lines} lines from number {damage.first} are" if damage.lines > 1 else f"Line {damage.first} is"
    agents = f"Agents that they are about are ended: {', '.join(damage.agents)}."
    if not damage.agents:
        agents = "What was there before is not known, so all agents that lived are ended."
    what = (
        f"{lines} not what was written into the journal (wrong: {damage.why}), and not believed: nothing that a person "
        f"allowed or approved there counts. {agents} As found, they are kept in {', '.join(map(str, damage.kept))}."
    )
    way_out = (
        "If the disk is not at fault, somebody wrote into the state directory: look at what ran as this user, and compare "
        "with records that were sent elsewhere (audit.exporters)."
    )
    return what, Severity.CRITICAL, way_out


def mend(path: Path, disk: Disk, key: SigningKey | None) -> JournalDamage | None:
    """Put aside the damaged lines of a file of the journal, and what was forged behind them.

    Args:
        path: The file.
        disk: Where.
        key: The key of the journal; None if it is not signed.

    Returns:
        What was put aside; None if nothing was changed, since it is a torn tail, or cannot be told to agents.

    Raises:
        OSError: The disk failed.
    """
    segments = list_segments(path.parent)
    segment = next((one for one in segments if one.path == path), None)
    if segment is None or (read := _read(segment, key)) is None:
        return None
    behind = [one for one in segments if one.first > segment.first]
    good = [at for at, line in enumerate(read.lines) if not line.fault]
    later = next((one for one in behind if _has_good(one, key)), None)
    end = len(read.lines) if later is not None else (good[-1] + 1 if good else 0)
    within = [line for line in read.lines[:end] if line.fault]
    if any(not line.agent for line in within):
        return None
    tail = read.lines[end:]
    forged = later is None and key is not None and any(line.whole and line.n > key.since for line in tail)
    if forged:
        tail = [*tail, *(line for one in behind for line in _any_lines(one))]
        return _rewrite(read, _Change(segment, end, tail, behind), disk, key)
    if not within or (behind and behind[0].first != segment.first + len(read.lines)):
        return None
    follows = _first_named(behind)
    return _rewrite(read, _Change(segment, len(read.lines), follows=follows), disk, key)


def _read(segment: Segment, key: SigningKey | None) -> _Read | None:
    """Read a file, and say of each line whether it is what belongs there; None if its lines cannot be told apart."""
    header, *rest = segment.path.read_bytes().split(b"\n")
    try:
        records.check_header(header, segment.first)
    except RecordError:
        return None
    *lines, torn = rest or [b""]
    read = _Read(header, [_look(data, segment.first + at, key) for at, data in enumerate(lines)], torn)
    if any(line.misplaced for line in read.lines):
        return None
    previous = records.line_hash(header)
    for at, line in enumerate(read.lines):
        named = records.named_hash(line.data) if line.whole else ""
        before = read.lines[at - 1] if at else None
        if line.whole and named != previous and (before is None or not before.fault):
            # One of the two is another line than was written. With a key it is known which.
            if key is None or line.n <= key.since:
                return None
            line.fault = line.fault or "chain"
        previous = records.chain_hash(line.data) if line.whole else ""
    return read


def _look(data: bytes, n: int, key: SigningKey | None) -> _Line:
    line = _Line(data, n)
    if found := _BEGINNING.match(data):
        line.agent = found[2].decode(errors="replace") if int(found[1]) == n else ""
        line.at = records.whose_and_when(data)[1]
    try:
        number = records.check(data)
    except RecordError as error:
        line.fault = error.problem
        return line
    line.whole = True
    if number != n and (key is None or n <= key.since or records.is_signed(data, key.key)):
        line.misplaced = True
    elif number != n:
        line.fault = "sequence number"
    elif key is not None and n > key.since and not records.is_signed(data, key.key):
        line.fault = "signature"
    return line


def _has_good(segment: Segment, key: SigningKey | None) -> bool:
    read = _read(segment, key)
    return read is None or any(not line.fault for line in read.lines)


def _any_lines(segment: Segment) -> Sequence[_Line]:
    _, *lines = segment.path.read_bytes().split(b"\n")
    return [_look(data, segment.first + at, None) for at, data in enumerate(lines) if data]


def _first_named(behind: Sequence[Segment]) -> str:
    """Return the hash that the header of the next file names; empty if there is none."""
    if not behind:
        return ""
    with behind[0].path.open("rb") as file:
        try:
            return records.named_hash(file.readline())
        except RecordError:
            return ""


def _rewrite(read: _Read, change: _Change, disk: Disk, key: SigningKey | None) -> JournalDamage:
    """Write the file anew, with what stands for lines that were lost; what was there is kept."""
    path = change.segment.path
    kept = [_free(path)]
    replace_file(kept[0], path.read_bytes(), disk=disk)
    secret = key.key if key is not None else b""
    previous = records.line_hash(read.header)
    new = [read.header + b"\n"]
    lines = read.lines[: change.end]
    for line, following in zip_longest(lines, lines[1:]):
        if not line.fault:
            new.append(line.data + b"\n")
            previous = records.chain_hash(line.data)
            continue
        named = change.follows if following is None else "" if following.fault else records.named_hash(following.data)
        stands = _stands_for(line, line.agent, 1, kept[0], named)
        data, own = records.frame(line.n, records.spell(stands), previous, secret)
        previous = named or own
        new.append(data)
    if change.tail:
        n = change.segment.first + change.end
        stands = _stands_for(change.tail[0], "", len(change.tail), kept[0], "")
        new.append(records.frame(n, records.spell(stands), previous, secret)[0])
    for one in reversed(change.gone):
        kept.append(_free(one.path))
        disk.rename(one.path, kept[-1])
    replace_file(path, b"".join(new) + (b"" if change.tail else read.rest), disk=disk)
    lost = [*(line for line in lines if line.fault), *change.tail]
    agents = () if change.tail else tuple(dict.fromkeys(line.agent for line in lost))
    return JournalDamage(tuple(kept), lost[0].n, len(lost), lost[0].fault, agents)


def _stands_for(line: _Line, agent: str, lines: int, kept: Path, follows: str) -> RecordDamaged:
    why = line.fault or "place"
    about = {"begins": line.n, "lines": lines, "why": why, "kept": str(kept), "follows": follows}
    return RecordDamaged(agent=agent, at=line.at, mono=0.0, **about)  # type: ignore[arg-type]  # each fits its field


def _free(path: Path) -> Path:
    """Return a name for a file as it was."""
    for number in range(1, 10_000):
        name = path.with_name(f"{path.name}{f'-{number}' if number > 1 else ''}{KEPT_SUFFIX}")
        if not name.exists():
            return name
    raise FileExistsError(f"{path}: 10,000 damaged files are kept beside it; look into the disk first")
