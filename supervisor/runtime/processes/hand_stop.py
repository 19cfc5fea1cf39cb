"""Stops of agents without their daemon, which hangs or has gone: from the records of their shims alone.

Each stop is noted beside the shim's record before processes are ended, so that the daemon, once it is back, takes the
end as a person's stop and starts nothing again.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from host.durable import replace_file
from host.plain_files import read_plain
from supervisor.protocol.identity import Identity
from supervisor.runtime.processes.earlier_life import launches
from supervisor.runtime.processes.identity import cli_is_running, is_running, read_identity
from supervisor.runtime.processes.leftovers import end_everything, find_leftovers

NOTE = "stopped.json"
"""The note of a stop, in the directory of a launch."""

MOST_BYTES = 8_192
"""The longest note that is read, in bytes: a name and a reason."""


@dataclass(frozen=True, slots=True)
class HandStop:
    """A person's stop, as it is noted."""

    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class HandStopped:
    """The outcome for one agent."""

    agent: str
    ended: int
    """How many processes were ended."""
    left: int
    """How many could not be."""


def stop_by_hand(agents: Path, stop: HandStop) -> Iterator[HandStopped]:
    """End every agent of whom a process lives, and yield the outcome of each. Blocks, some milliseconds an agent.

    Args:
        agents: The directory that has one directory an agent.
        stop: The person, and the reason.
    """
    folders = sorted(agents.iterdir()) if agents.is_dir() else []
    for folder in folders:
        for launch in launches(folder):
            identity = read_identity(launch)
            if identity is not None and _lives(identity):
                with suppress(OSError):  # on a full disk it is ended all the same
                    replace_file(launch / NOTE, json.dumps(asdict(stop)).encode())
                cleared = end_everything(identity)
                yield HandStopped(folder.name, len(cleared.ended), cleared.left)


def noted_stop(launch: Path) -> HandStop | None:
    """Return the stop that is noted in a launch's directory; None without one.

    Programs of the agent may be able to write there.
    """
    try:
        facts = json.loads(read_plain(launch / NOTE, MOST_BYTES, links=False))
        by, reason = facts["by"], facts["reason"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return HandStop(by[:100], reason[:1_000]) if isinstance(by, str) and isinstance(reason, str) else None


def _lives(identity: Identity) -> bool:
    return is_running(identity) or cli_is_running(identity) or bool(find_leftovers(identity))
