"""The events that a shim tells of its agent over a connection, and the record of the end."""

import json
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from supervisor.runtime.shim import wire


@dataclass(frozen=True, slots=True)
class CliOutput:
    """Output of the CLI at this offset. Offsets follow on one another without gap or overlap."""

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Errors:
    """Error output of the CLI at this offset of `err.log`."""

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    """The line of this key will be written to the CLI once, unless the agent ends first."""

    key: str


@dataclass(frozen=True, slots=True)
class Frozen:
    """Every process of the agent is frozen, so many microseconds after the request."""

    micros: int
    id: str = ""
    """Of the freeze that this answers; empty from a shim of an older version."""


@dataclass(frozen=True, slots=True)
class TreeKilled:
    """The tree was killed, in so many microseconds; so many processes could not be."""

    micros: int
    left: int


@dataclass(frozen=True, slots=True)
class Fault:
    """Something went wrong that the shim lives with."""

    text: str
    """For people; nothing is decided by it."""
    kind: str = ""
    """Of those in `wire`, or one that a newer shim knows; empty from a shim of an older version."""
    id: str = ""
    """Of the freeze that this answers, if it answers one."""
    key: str = ""
    """Of the line that this answers, if it answers one."""


@dataclass(frozen=True, slots=True)
class ExitRecord:
    """How an agent's CLI ended. It exists once the whole tree has gone and all output is in `out.log`."""

    agent: str
    error: str | None = None
    """The reason why the CLI could not be started, or why the shim ended it; None if it ended by itself or by a
    command."""
    code: int | None = None
    """Exit code; None if a signal ended it or it never ran."""
    signal: int | None = None
    """The signal that ended it."""
    user_seconds: float = 0.0
    system_seconds: float = 0.0
    max_rss_kib: int = 0
    """The CLI's peak resident memory; the tools it waited for count where they were larger."""
    started_at: float = 0.0
    """Unix time."""
    ended_at: float = 0.0
    """Unix time."""
    seconds: float = 0.0
    """The duration of its run, by a clock that is never set."""
    oom: bool = False
    """Whether the kernel killed in its cgroup for memory."""
    out_size: int = 0
    """Bytes of output, all of them in `out.log`."""
    stderr_dropped: int = 0
    """Bytes of error output over the cap of `err.log`."""
    stderr_tail: str = ""
    """The end of the error output, up to 4 KiB."""
    lines_taken: int = 0
    """Lines accepted for its input."""
    lines_written: int = 0
    """Of those, the lines that its input pipe took whole."""
    ended_with_it: tuple[str, ...] = field(default=())
    """Processes that were alive when the tree was ended, as `PID NAME`; the CLI itself is not among them."""
    left: int = 0
    """Processes that could not be ended; 0 unless the kernel holds one."""


@dataclass(frozen=True, slots=True)
class Exited:
    """The CLI ended, all of its output was delivered, and nothing follows."""

    record: ExitRecord


ShimEvent = CliOutput | Errors | Accepted | Frozen | TreeKilled | Fault | Exited


def decode(kind: int, payload: bytes) -> ShimEvent | None:
    """The event of a frame; None for a kind that a newer shim may send."""
    if kind == wire.OUTPUT:
        (offset,) = wire.OFFSET.unpack_from(payload)
        return CliOutput(offset, payload[wire.OFFSET.size :])
    if kind == wire.ERRORS:
        (offset,) = wire.OFFSET.unpack_from(payload)
        return Errors(offset, payload[wire.OFFSET.size :])
    if kind == wire.EXITED:
        return Exited(exit_record(json.loads(payload)))
    if kind in _FACTS:
        return _FACTS[kind](**_known(_FACTS[kind], json.loads(payload)))
    return None


def _known(kind: type, facts: dict[str, Any]) -> dict[str, Any]:
    """The facts that a class has fields for, without those that a newer shim adds."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in facts.items() if name in names}


_FACTS: dict[int, type[Accepted | Frozen | TreeKilled | Fault]] = {
    wire.ACCEPTED: Accepted,
    wire.FROZEN: Frozen,
    wire.ENDED: TreeKilled,
    wire.FAULT: Fault,
}


def exit_record(facts: object) -> ExitRecord:
    """Return the record, without what a newer shim may say beside it.

    Raises:
        ValueError: The facts are no record: a program of the agent may have written them.
    """
    return _exit_records().validate_python(facts)


@cache
def _exit_records() -> TypeAdapter[ExitRecord]:
    return TypeAdapter(ExitRecord)
