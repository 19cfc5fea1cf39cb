"""What a program of the person tries against a daemon with a user of its own; run by a Python without packages.

It reads `about.json` beside it, and writes what it reached to `reached.json` in its working directory.
"""

import ctypes
import json
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE, PIDFD_GETFD = 0x4206, 438
OF_A_PROCESS = ("mem", "environ", "fd", "cwd", "root", "exe", "io", "maps", "stack", "ns/mnt")


def got(attempt: Callable[..., object], *arguments: Any) -> bool:
    """Whether an attempt got through: no error, and no number that stands for one."""
    try:
        return attempt(*arguments) not in (False, -1)
    except OSError:
        return False


def traced(pid: int) -> bool:
    return bool(LIBC.ptrace(PTRACE_SEIZE, pid, None, None) == 0)


def descriptor_taken(pid: int) -> int:
    return int(LIBC.syscall(PIDFD_GETFD, os.pidfd_open(pid), 0, 0))


def opened(path: str, flags: int = os.O_RDONLY) -> object:
    return list(Path(path).iterdir()) if Path(path).is_dir() else os.open(path, flags)


def on_processes(about: dict[str, Any]) -> Iterator[str]:
    """What can be done to processes, each by its name."""
    for name, pid in about["processes"].items():
        ways: dict[str, tuple[Any, ...]] = {
            "signals": (os.kill, pid, 0),
            "lets go on": (os.kill, pid, signal.SIGCONT),
            "limits": (resource.prlimit, pid, resource.RLIMIT_CORE),
            "traces": (traced, pid),
            "takes a descriptor of": (descriptor_taken, pid),
            "has killed for memory": (opened, f"/proc/{pid}/oom_score_adj", os.O_WRONLY),
            **{f"opens {file} of": (opened, f"/proc/{pid}/{file}") for file in OF_A_PROCESS},
        }
        yield from (f"{way} {name}" for way, attempt in ways.items() if got(*attempt))


def on_files(about: dict[str, Any]) -> Iterator[str]:
    """What can be done to folders and files, each by its name."""
    for name, path in about["folders"].items():
        ways: dict[str, tuple[Any, ...]] = {
            "lists": (os.listdir, path),
            "enters": (os.stat, f"{path}/."),
            "writes into": (os.mkdir, f"{path}/planted"),
            "opens up": (os.chmod, path, 0o777),
            "moves": (os.rename, path, f"{path}.gone"),
        }
        yield from (f"{way} {name}" for way, attempt in ways.items() if got(*attempt))
    for name, path in about["files"].items():
        on_file: dict[str, tuple[Any, ...]] = {
            "reads": (os.open, path, os.O_RDONLY),
            "writes": (os.open, path, os.O_WRONLY),
            "links": (os.link, path, f"linked-{os.getpid()}"),
            "moves": (os.rename, path, f"{path}.gone"),
        }
        yield from (f"{way} {name}" for way, attempt in on_file.items() if got(*attempt))


def on_itself(about: dict[str, Any]) -> Iterator[str]:
    """What it was left by the daemon: users, groups, descriptors, variables."""
    user, group = about["own"]
    ways = {"user": (os.setresuid, -1, user, -1), "group": (os.setresgid, -1, group, -1)}
    yield from (f"becomes chaperon's {way}" for way, attempt in ways.items() if got(*attempt))
    LIBC.setfsgid(group)
    if LIBC.setfsgid(-1) == group:
        yield "becomes chaperon's group for files"
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            target = str(link.readlink())
            if "chaperon" in target or "memfd" in target:
                yield f"holds {target}"
    yield from (f"has the key in {name}" for name, value in os.environ.items() if about["key"] in value)


def by_the_socket(about: dict[str, Any]) -> Iterator[str]:
    """The daemon's own socket, asked."""
    with socket.socket(socket.AF_UNIX) as channel, suppress(OSError):
        channel.connect(about["socket"])
        channel.sendall(b"GET /v1/agents HTTP/1.1\r\nHost: chaperon\r\nConnection: close\r\n\r\n")
        if b" 200 " in channel.recv(4096)[:20]:
            yield "steers by the socket"


def main() -> None:
    about = json.loads(Path(__file__).with_name("about.json").read_text())
    tried = on_itself(about), on_processes(about), on_files(about), by_the_socket(about)
    Path("reached.json").write_text(json.dumps([found for each in tried for found in each]))


if __name__ == "__main__":
    main()
