"""Who an agent's processes are: the file in which its shim wrote it down, and whether they live.

A process is known by pid and start time within one boot, never by its pid alone.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from supervisor.runtime import trees

NONCE_VARIABLE = "CHAPERON_AGENT_NONCE"
"""In the environment of every process of an agent, unless it cleared it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The content of `agent.json`."""

    agent: str
    nonce: str | None
    cgroup: str | None
    boot_id: str
    shim_pid: int
    shim_start_ticks: int
    cli_pid: int
    cli_start_ticks: int
    started_at: float
    mark: int = 0
    """See `supervisor.runtime.marks`; 0 where its processes carry none."""


def read_identity(directory: Path) -> Identity | None:
    """Who runs, or ran, in this directory; None where nobody was started there."""
    try:
        return Identity(**json.loads((directory / "agent.json").read_bytes()))
    except FileNotFoundError:
        return None


def is_running(identity: Identity) -> bool:
    """Whether the shim lives."""
    same_boot = identity.boot_id == trees.read("/proc/sys/kernel/random/boot_id").strip()
    return same_boot and trees.start_ticks(identity.shim_pid) == identity.shim_start_ticks
