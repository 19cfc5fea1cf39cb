"""The identity of an agent's processes: from the journal, or as its shim wrote it down, and whether they live.

The journal is believed first. The file lies where programs of the agent can write: it is used if a daemon was killed
before it could journal the launch.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from host.plain_files import read_plain
from supervisor.protocol.identity import Identity
from supervisor.runtime.shim import process_tree

NONCE_VARIABLE = "CHAPERON_AGENT_NONCE"
"""In the environment of every process of an agent, unless it cleared it."""

OWN_GROUP = re.compile(r"/(?:[^/\0]+/)*chaperon-[\w-]+/agents/([^/.\0]+)")
"""A group that `supervisor.runtime.processes.bounds.cgroups` made. Processes in one that a file names are ended."""

MOST_BYTES = 65_536
"""The longest file that is read: half a kilobyte is usual."""


def read_identity(directory: Path) -> Identity | None:
    """Return the identity of a launch's processes, as its shim wrote it down.

    None if it is missing or cannot be read.
    """
    try:
        facts = json.loads(read_plain(directory / "agent.json", MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return checked(facts)


def checked(facts: object) -> Identity | None:
    """Return the identity that such facts describe; None if they describe none.

    A process id below 2 would mean all processes, and a foreign control group all of its processes.
    """
    if not isinstance(facts, Mapping):
        return None
    known: dict[str, Any] = {each.name: facts[each.name] for each in fields(Identity) if each.name in facts}
    known.setdefault("mark", 0)
    known.setdefault("sandbox", "")
    whole = ("shim_pid", "shim_start_ticks", "cli_pid", "cli_start_ticks", "mark")
    if not all(isinstance(known.get(name), int) and known[name] >= 0 for name in whole):
        return None
    if min(known["shim_pid"], known["cli_pid"]) < 2:
        return None
    if not all(isinstance(known.get(name), str) for name in ("agent", "boot_id", "sandbox")):
        return None
    if not all(isinstance(known.get(name), str | None) for name in ("nonce", "cgroup")):
        return None
    if not isinstance(known.get("started_at"), float | int):
        return None
    if known["cgroup"] and not OWN_GROUP.fullmatch(known["cgroup"]):
        known["cgroup"] = None
    return Identity(**known)


def is_running(identity: Identity) -> bool:
    """Whether the shim lives."""
    return is_this_boot(identity) and process_tree.start_ticks(identity.shim_pid) == identity.shim_start_ticks


def cli_is_running(identity: Identity) -> bool:
    """Whether the CLI lives."""
    return is_this_boot(identity) and process_tree.start_ticks(identity.cli_pid) == identity.cli_start_ticks


def is_this_boot(identity: Identity) -> bool:
    """Whether the machine has not been started anew since."""
    return identity.boot_id == process_tree.read("/proc/sys/kernel/random/boot_id").strip()
