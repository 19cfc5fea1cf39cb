"""Choose and make the cgroup v2 group in which an agent's processes are born.

    base/                        the group delegated to us
      daemon/                    the daemon and the shims, where limits are wanted: a group that hands on controllers
                                 may hold no process itself
      chaperon-OWNER/agents/     made by us; OWNER tells one state directory's daemon from another's
        NAME/                    the CLI and all it starts; the shim stays outside, for it must outlive the kill

A group gives three things: freezing and killing a whole tree at once, limits that the kernel keeps, and a name by which
the processes of a lost agent are found. Without one, `trees` walks instead.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from host import identity
from host.folders import below
from monitors.contract.errors import ChaperonError
from supervisor.runtime.shim import process_tree

DAEMON_GROUP = "daemon"
"""The leaf that holds the daemon. The service unit has `DelegateSubgroup=daemon` (systemd 254), so that a restart
finds its place although agents of the last run hold groups beside it."""

CONTROLLERS = ("cpu", "memory", "pids")
"""Controllers that limits need."""

CPU_PERIOD_MICROS = 100_000
"""The kernel's own default period of `cpu.max`."""


_GROUP = "cgroup:"
"""How `AgentLaunched.containment` begins where a group holds the tree; the group's path follows."""


def group_in(containment: str) -> str | None:
    """The path of the group that holds an agent's tree, as `AgentLaunched.containment` says; None without one."""
    return containment.removeprefix(_GROUP) if containment.startswith(_GROUP) else None


class ContainmentError(ChaperonError):
    """A group could not be made or given its limits."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Limits of the kernel on an agent's group. None means no limit of that kind."""

    memory_high_bytes: int | None = None
    """Above this the kernel takes memory back and slows the group down."""
    memory_max_bytes: int | None = None
    """Above this the kernel kills in the group."""
    cpu_cores: float | None = None
    """CPU time per time; 1.5 is one and a half cores."""
    pids_max: int | None = None
    """Most processes and threads; above it forks fail."""

    def settings(self) -> dict[str, str]:
        """File of the group to its content."""
        values = {"memory.high": self.memory_high_bytes, "memory.max": self.memory_max_bytes, "pids.max": self.pids_max}
        found = {name: str(value) for name, value in values.items() if value is not None}
        if self.cpu_cores is not None:
            found["cpu.max"] = f"{int(self.cpu_cores * CPU_PERIOD_MICROS)} {CPU_PERIOD_MICROS}"
        return found


@dataclass(frozen=True, slots=True)
class Uncontained:
    """There is no usable cgroup; agents are held by subreaper and walk instead."""

    reason: str
    """A sentence for a person, with the way out."""


@dataclass(frozen=True, slots=True)
class Containment:
    """The place of agents' groups."""

    agents: Path
    """The group above them all."""
    controllers: frozenset[str]
    """Those of `CONTROLLERS` that agents' groups have."""
    why_no_limits: str
    """A sentence for a person where a controller is missing, or nothing."""

    @classmethod
    def find(cls, owner: str) -> "Self | Uncontained":
        """Find our delegated group and make what is above the agents in it.

        Args:
            owner: A short name that is the same each time this state directory's daemon starts. Example: `3fa9c1`.
        """
        own = own_group(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
        if own is None:
            return Uncontained("No cgroup v2 tree is mounted here; agents are held by walking their processes instead.")
        base = own.parent if own.name == DAEMON_GROUP else own
        if not is_delegated(base):
            return Uncontained(
                f"The cgroup {base} is not delegated to this user, so agents are held by walking their processes. "
                "Run chaperon as the systemd service it brings, or by `systemd-run --user --scope -p Delegate=yes`."
            )
        agents = base / f"chaperon-{owner}" / "agents"
        try:
            _make(agents.parent)
            _make(agents)
        except OSError as error:
            return Uncontained(f"The cgroup {agents} could not be made ({error.strerror}); agents are held by walking.")
        if not all((agents / name).exists() for name in ("cgroup.freeze", "cgroup.kill")):
            remove(agents.parent)
            return Uncontained("This kernel's cgroups have no cgroup.kill (Linux 5.14); agents are held by walking.")
        return cls(agents, *_hand_on_controllers(base, agents))

    def make(self, agent: str, ceiling: Ceiling | None = None) -> Path:
        """Make the group of an agent and set its limits, as far as its controllers go.

        Raises:
            ContainmentError: The group exists already or could not be made.
        """
        group = self.agents / agent
        if "/" in agent or "." in agent:
            raise ContainmentError(f"The agent name {agent!r} cannot name a cgroup: it has a slash or a dot.")
        try:
            _make(group, anew=True)
        except OSError as error:
            raise ContainmentError(
                f"The cgroup {group} could not be made ({error.strerror}).",
                way_out="Where an earlier run left it, `remove_stale` clears it away.",
            ) from error
        self.limit(group, ceiling or Ceiling())
        return group

    def limit(self, group: Path, ceiling: Ceiling) -> tuple[str, ...]:
        """Set limits on a group now; the files that could not be set, because their controller is not here."""
        return tuple(
            name for name, value in ceiling.settings().items() if not process_tree.write(f"{group}/{name}", value)
        )

    def remove_stale(self, living: Collection[str]) -> list[str]:
        """End and remove the groups of agents that are not among the living; their names, in order."""
        names = {entry.name for entry in self.agents.iterdir() if entry.is_dir()}
        stale = sorted(names.difference(living))
        for name in stale:
            remove(self.agents / name)
        return stale

    def leave(self) -> bool:
        """Remove the groups that `find` made, if no agent's group is in them; return whether they are gone.

        Ends no process.
        """
        try:
            with identity.own_files():
                self.agents.rmdir()
                self.agents.parent.rmdir()
        except OSError:  # an agent lives on in it, for the next daemon to find
            return False
        return True


def _make(group: Path, *, anew: bool = False) -> None:
    """Make a group; those of a daemon apart are its own user's, and are to be read, by it too as the person.

    Raises:
        OSError: It could not be made, or is there already and must be new.
    """
    with identity.own_files():
        group.mkdir(exist_ok=not anew)
        if identity.is_apart():
            group.chmod(0o755)


def remove(group: Path) -> bool:
    """End the processes of a group and remove it with those below it.

    Returns whether it is gone. Blocks for milliseconds, at most 3 s.
    """
    process_tree.Tree(None, str(group)).end()
    deadline = process_tree.now() + 1.0  # the kernel lets go of a dead process's group a moment after its end
    while not _remove_empty(group) and process_tree.now() < deadline:
        process_tree.pause()
    return not group.exists()


def _remove_empty(group: Path) -> bool:
    try:
        for directory in reversed([group, *below(group, folders_alone=True)]):
            with identity.own_files():
                directory.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


# ── where we are ──────────────────────────────────────────────────────────────────────────────────────────────────────


def own_group(mountinfo: str, membership: str) -> Path | None:
    """Our own group's directory, from the texts of /proc/self/mountinfo and /proc/self/cgroup; None without cgroup v2.

    A mount may show a part of the tree only (its root, the fourth field): our path is then relative to that part.
    """
    path = next((line[3:] for line in membership.splitlines() if line.startswith("0::")), None)
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        if path is None or after.split(" ")[0] != "cgroup2":
            continue
        root, mount = (field.encode().decode("unicode_escape") for field in before.split(" ")[3:5])
        if root == "/" or path == root or path.startswith(root + "/"):
            return Path(mount, path.removeprefix(root).lstrip("/"))
    return None


def is_delegated(group: Path) -> bool:
    """Whether we may make groups below this one.

    For a user, being allowed to write there is it: only delegation gives that away. Root may write anywhere; where
    systemd runs, it must have marked the group or one above it as delegated, else the group is systemd's own.
    """
    if not os.access(group / "cgroup.procs", os.W_OK) or not os.access(group, os.W_OK):
        return False
    if os.geteuid() != 0 or not Path("/run/systemd/system").exists():
        return True
    return any(_is_marked(ancestor) for ancestor in (group, *group.parents))


def _is_marked(group: Path) -> bool:
    for attribute in ("trusted.delegate", "user.delegate"):
        try:
            if os.getxattr(group, attribute) == b"1":
                return True
        except OSError:
            continue
    return False


# ── limits ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _hand_on_controllers(base: Path, agents: Path) -> tuple[frozenset[str], str]:
    """Enable controllers down to the agents' groups; those that are, and why others are not."""
    available = set(process_tree.read(f"{base}/cgroup.controllers").split()).intersection(CONTROLLERS)
    if not available:
        return (
            frozenset(),
            f"The cgroup {base} has none of the controllers {', '.join(CONTROLLERS)}, so agents have no limits.",
        )
    _make_room(base)
    order = " ".join(f"+{name}" for name in sorted(available))
    for group in (base, agents.parent, agents):
        if not process_tree.write(f"{group}/cgroup.subtree_control", order):
            return frozenset(), (
                f"The cgroup {group} does not hand on its controllers, so agents have no limits: it holds processes of "
                f"its own. Run chaperon as a service with Delegate=yes and DelegateSubgroup={DAEMON_GROUP}."
            )
    missing = sorted(set(CONTROLLERS) - available)
    return frozenset(available), f"The controllers {', '.join(missing)} are missing here." if missing else ""


def _make_room(base: Path) -> None:
    """Move ourselves out of the base into a leaf, where we are the only process there.

    Not under systemd: it could not start the unit again while agents live, because a group that hands on controllers
    takes no process.
    """
    alone = process_tree.read(f"{base}/cgroup.procs").split() == [str(os.getpid())]
    if alone and "INVOCATION_ID" not in os.environ:
        leaf = base / DAEMON_GROUP
        _make(leaf)
        process_tree.write(f"{leaf}/cgroup.procs", "0")
