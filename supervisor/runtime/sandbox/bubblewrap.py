"""The words for bubblewrap (`bwrap`), which starts a program among mounts and namespaces of its own. Pure.

Mounts are made in their order, so that a later one lies over an earlier one. Everything else is fixed: namespaces of
users, processes, System V objects, the host's name and control groups; no capability; and the end of all with the
process that started it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

MountKind = Literal["read", "write", "devices", "memory", "link", "processes"]
"""How a path inside is made: of a path outside, to read or to write, with its device files or without; as an empty file
system in memory; as a link; or as the view of the processes inside."""

HOST_NAME = "agent"
"""The host's name inside: agents need not know that of the machine."""


@dataclass(frozen=True, slots=True)
class Mount:
    """One path inside."""

    kind: MountKind
    target: str
    """The path inside."""
    source: str = ""
    """The path outside, or a link's text; empty for the same path."""


@dataclass(frozen=True, slots=True)
class Walls:
    """The reach of one agent's processes."""

    mounts: tuple[Mount, ...]
    folder: str
    """The working directory."""
    own_network: bool
    """Whether the network has nothing but a loopback of its own."""
    memory_bytes: int
    """Size of each file system in memory, at most."""


_OPTIONS = {"read": "--ro-bind", "write": "--bind", "devices": "--dev-bind"}


def words(program: str, walls: Walls) -> list[str]:
    """Return the command up to the `--` behind which the program to start stands."""
    namespaces = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    network = ["--unshare-net"] if walls.own_network else []
    bounds = ["--die-with-parent", "--new-session", "--hostname", HOST_NAME, "--cap-drop", "ALL"]
    mounts = [word for mount in walls.mounts for word in _mount(mount, walls.memory_bytes)]
    return [program, *namespaces, *network, *bounds, *mounts, "--chdir", walls.folder, "--"]


def _mount(mount: Mount, memory_bytes: int) -> Iterator[str]:
    match mount.kind:
        case "memory":
            yield from ("--size", str(memory_bytes), "--tmpfs", mount.target)
        case "processes":
            yield from ("--proc", mount.target)
        case "devices" if not mount.source:
            yield from ("--dev", mount.target)
        case "link":
            yield from ("--symlink", mount.source, mount.target)
        case kind:
            yield from (_OPTIONS[kind], mount.source or mount.target, mount.target)


def read(paths: Iterable[str]) -> tuple[Mount, ...]:
    """Return mounts of paths to read, each in its place."""
    return tuple(Mount("read", path) for path in paths)
