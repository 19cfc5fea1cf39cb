"""A check of the whole journal for a person: read only, beside a daemon that runs or without one."""

from dataclasses import dataclass
from pathlib import Path

from supervisor.protocol import records
from supervisor.runtime.journal.reader import JournalDamagedError, read_lines
from supervisor.runtime.journal.signing import SigningKey


@dataclass(frozen=True, slots=True)
class CheckedRecord:
    """The finding."""

    n: int
    """How many lines are as they were written."""
    hash: str
    """The hash of the last of them."""
    key: str
    """The name of the key; empty if the journal is not signed."""
    since: int
    """The number of the last line that counts as it is, without a signature."""
    problem: str = ""
    """The fault of the line behind them; empty if there is none."""


def verify(directory: Path, key: SigningKey | None) -> CheckedRecord:
    """Check each line's make, chain and signature. Blocks; a gigabyte takes some ten seconds.

    Args:
        directory: The journal's directory.
        key: The key; None checks no signatures.
    """
    n, last = 0, records.ORIGIN
    id_, since = (key.id, key.since) if key is not None else ("", 0)
    try:
        for line in read_lines(directory):
            if key is not None and line.n > since and not records.is_signed(line.data, key.key):
                problem = f"Line {line.n}, in {line.path} at byte {line.offset}, is not signed with the key {id_}."
                return CheckedRecord(n, last, id_, since, problem)
            n, last = line.n, records.chain_hash(line.data)
    except JournalDamagedError as error:
        return CheckedRecord(n, last, id_, since, error.what)
    return CheckedRecord(n, last, id_, since)
