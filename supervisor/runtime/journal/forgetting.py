"""Records of a forgotten agent taken out of the journal, whose chain and signatures stay whole.

A record of the agent is replaced by one that says nothing but that. It names the hash of the line in whose place it
stands, so that the lines behind it, and what was sent elsewhere, compare as before. Records of others that name the
agent are written again with another word in its place. Each file is replaced whole, the oldest first.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host.durable import REAL_DISK, Disk, replace_file
from monitors.contract import anyjson
from monitors.masking import MARK
from supervisor.protocol import records
from supervisor.protocol.events import RecordForgotten
from supervisor.protocol.records import RecordError
from supervisor.runtime.journal.index import index_path
from supervisor.runtime.journal.mending import KEPT_SUFFIX
from supervisor.runtime.journal.reader import Segment, list_segments
from supervisor.runtime.journal.signing import SigningKey
from supervisor.runtime.protection.seals import SEALED, UNSEALED, RecordSeals, SealedRecordError

FORGOTTEN = "forgotten"
"""The word in the place of the agent's name, of its sessions, and of its branch."""

TORN_SUFFIX = ".torn"

_SESSION = re.compile(rb'session_id\\?":\\?"([0-9a-f]{8}-[0-9a-f-]{27})')
"""A session in a record, or in a line of the CLI within one."""

AGENT_KEYS = frozenset({"agent", "agents", "worker", "from_agent", "successor"})
"""Keys under which records have names of agents."""

LISTED_AGENTS = frozenset({"carried_out", "agent_states"})
"""Keys of tables whose keys, or whose lists, are names of agents."""


@dataclass(frozen=True, slots=True)
class ForgottenWords:
    """The words by which an agent is known."""

    agent: str
    unique: tuple[str, ...] = ()
    """Words that mean nothing else: its sessions, its branch, the workspace that was made for it."""

    def anywhere(self, data: bytes) -> bool:
        """Whether some bytes may name the agent."""
        return self._quoted in data or any(word.encode() in data for word in self.unique)

    @property
    def _quoted(self) -> bytes:
        return b'"%b"' % self.agent.encode()

    def taken_out(self, value: Any, key: str = "") -> Any:
        """Return JSON values without the agent's name where names of agents stand, and without its own words."""
        match value:
            case str():
                if value == self.agent and key in AGENT_KEYS | LISTED_AGENTS:
                    return FORGOTTEN
                for word in self.unique:
                    if word in value:
                        value = re.sub(rf"{re.escape(word)}(?![\w-]|\.\w)", FORGOTTEN, value)
                return value
            case Mapping():
                inner = key if key in LISTED_AGENTS else ""
                return {
                    each: self.taken_out(one, inner or each)
                    for each, one in value.items()
                    if not (each == self.agent and key in LISTED_AGENTS)
                }
            case list() | tuple():
                return [self.taken_out(one, key) for one in value]
        return value


def forget_records(
    directory: Path,
    words: ForgottenWords,
    key: SigningKey | None,
    before: int,
    disk: Disk = REAL_DISK,
    seals: RecordSeals = UNSEALED,
) -> int:
    """Take an agent's records out of the files of a journal that grow no more; return how many went. Blocks.

    Args:
        directory: The journal's directory.
        words: The words by which the agent is known.
        key: The key of the journal; None if it is not signed.
        before: The number of a record; files that begin with it or later are left alone.
        disk: Another, in tests.
        seals: Opens lines, and seals those that are written again.

    Raises:
        OSError: A file could not be written. Those before it are done, and the journal can be read.
    """
    gone = 0
    for segment in list_segments(directory):
        if segment.first < before:
            gone += _forget_in(segment, words, key, disk, seals)
    for path in sorted(directory.iterdir()):
        if path.name.endswith((TORN_SUFFIX, KEPT_SUFFIX)):
            _drop_lines(path, words, disk, seals)
    return gone


def only_of(directory: Path, agent: str, seals: RecordSeals = UNSEALED) -> tuple[set[str], set[str]]:
    """Return the sessions and the marks of masked values that records of an agent have, and no other's. Blocks."""
    own, others = (set[bytes](), set[bytes]()), (set[bytes](), set[bytes]())
    for segment in list_segments(directory):
        for line in segment.path.read_bytes().split(b"\n"):
            sessions, marks = own if records.agent_of(line) == agent else others
            line = _plain(line, seals)
            sessions.update(_SESSION.findall(line))
            marks.update(found.group() for found in MARK.finditer(line))
    of_own, of_others = ([{one.decode() for one in each} for each in some] for some in (own, others))
    return of_own[0] - of_others[0], of_own[1] - of_others[1]


def forget_lines(path: Path, of_agent: Callable[[dict[str, Any]], bool], words: ForgottenWords, disk: Disk) -> None:
    """Take an agent's lines out of a file of JSON lines, and its words out of the others. Blocks.

    Raises:
        OSError: It could not be written; what was there stands.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    if not words.anywhere(data):
        return
    kept = []
    for line in data.splitlines(keepends=True):
        try:
            read = anyjson.decode(line)
        except ValueError:
            kept += [] if words.anywhere(line) else [line]
            continue
        if not (isinstance(read, dict) and of_agent(read)):
            kept.append(anyjson.dumps(words.taken_out(read)) + b"\n" if words.anywhere(line) else line)
    replace_file(path, b"".join(kept), disk=disk)


def _plain(line: bytes, seals: RecordSeals) -> bytes:
    """Return a line in the clear; one that cannot be opened as it is, since the next start says what is to be said."""
    try:
        return seals.opened(line)
    except SealedRecordError:
        return line


def _forget_in(segment: Segment, words: ForgottenWords, key: SigningKey | None, disk: Disk, seals: RecordSeals) -> int:
    data = segment.path.read_bytes()
    if not words.anywhere(data) and SEALED not in data:
        return 0
    index = index_path(segment.path)
    if index.exists():
        disk.unlink(index)
    header, *lines = data.split(b"\n")
    gone = 0
    new = [header]
    for line in lines:
        named = words.anywhere(_plain(line, seals))
        stands, own = _in_place_of(line, words, key, seals) if named else (line, False)
        new.append(stands)
        gone += own
    if (changed := b"\n".join(new)) != data:
        replace_file(segment.path, changed, disk=disk)
    return gone


def _in_place_of(line: bytes, words: ForgottenWords, key: SigningKey | None, seals: RecordSeals) -> tuple[bytes, bool]:
    """Return what stands in the place of a line, and whether the line was one of the agent's.

    What is not a whole line, signed as it must be, is left: the next start says what is to be said of it.
    """
    try:
        n = records.check(line)
    except RecordError:
        return line, False
    signed = key is not None and n > key.since
    if signed and key is not None and not records.is_signed(line, key.key):
        return line, False
    agent, at = records.whose_and_when(line)
    if agent == words.agent:
        body = records.spell(RecordForgotten(agent="", at=float(int(at)), mono=0.0))
    else:
        plain = _plain(line, seals)
        fields = anyjson.loads(plain) if anyjson.has_escapes(plain) else anyjson.decode(plain)
        kind = fields.pop("kind", "")
        for name in ("n", "f", "m", "p", "c"):
            fields.pop(name, None)
        kept = words.taken_out(fields)
        if kept == fields:
            return line, False
        body = seals.event(anyjson.dumps({**kept, "kind": kind}))
    secret = key.key if signed and key is not None else b""
    return _framed(n, body, line, secret), agent == words.agent


def _framed(n: int, body: bytes, line: bytes, secret: bytes) -> bytes:
    made, _ = records.frame(n, body, records.named_hash(line), secret, records.chain_hash(line))
    return made.removesuffix(b"\n")


def _drop_lines(path: Path, words: ForgottenWords, disk: Disk, seals: RecordSeals) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if not words.anywhere(_plain(line, seals))]
    if len(kept) < len(lines):
        replace_file(path, b"".join(kept), disk=disk)
