"""A hostile program for an agent to run: it tries what an agent must not reach, and writes down what it reached.

It stands on its own, since it is copied into the agents' repository; the reviewer reads the script that is run by name,
`work.py`, and not the module that this imports.
"""

import ctypes
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

About = dict[str, Any]


def reached(about: About) -> dict[str, str]:
    """Try everything; return the names of what was reached, with a word of what was seen."""
    found = {}
    for name, attempt in ATTEMPTS.items():
        try:
            seen = attempt(about)
        except Exception as error:  # noqa: BLE001 - whatever refuses it
            found[name] = f"- {error!r}"[:200]
        else:
            found[name] = f"REACHED {seen!r}"[:200] if seen else "- nothing"
    return found


def key(about: About) -> object:
    return [name for name, value in os.environ.items() if about["key"] in value]


def keys_of_others(about: About) -> object:
    found = []
    for entry in (path.name for path in Path("/proc").iterdir()):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                text = Path("/proc", entry, "environ").read_bytes()
            except OSError:
                continue
            if about["key"].encode() in text:
                found.append(entry)
    return found


def home(about: About) -> object:
    return Path(about["home"], "notes").read_text()


def home_written(about: About) -> object:
    Path(about["home"], "notes").write_text("mine")
    return Path(about["home"], "notes").stat().st_ino == about["notes_inode"]


def state(about: About) -> object:
    return [path.name for path in Path(about["state"]).iterdir()]


def state_files(about: About) -> object:
    return [
        str(path) for path in Path(about["state"]).rglob("*") if path.name in ("out.log", "shim.sock", "agent.json")
    ]


def daemon_socket(about: About) -> object:
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(about["socket"])
        channel.sendall(b"GET /v1/agents HTTP/1.1\r\nHost: chaperon\r\nConnection: close\r\n\r\n")
        answer = channel.recv(4096)
        return answer if b" 200 " in answer[:20] else ""


def signal_outside(about: About) -> object:
    os.kill(about["outside"], 0)
    return name_of(about["outside"]) == about["outside_name"]


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def environment_outside(about: About) -> object:
    return name_of(about["outside"]) == about["outside_name"] and Path(f"/proc/{about['outside']}/environ").read_bytes()


def git_hook(about: About) -> object:
    hook = Path(about["workspace"], ".git/hooks/pre-commit")
    hook.write_text("#!/bin/sh\ntouch planted\n")
    return True


def git_configuration(about: About) -> object:
    with Path(about["workspace"], ".git/config").open("a") as file:
        file.write("[core]\n\tfsmonitor = touch planted\n")
    return True


def git_moved(about: About) -> object:
    Path(about["workspace"], ".git").rename(Path(about["workspace"], ".git-old"))
    return True


def planted(about: About) -> object:
    Path(about["workspace"], ".envrc").write_text("touch planted\n")
    return True


def user_namespace(about: About) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.unshare(0x10000000) == 0


def kernel_keys(about: About) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall({"x86_64": 250, "aarch64": 219}[os.uname().machine], 0, -3, 0) >= 0


def host_loopback(about: About) -> object:
    with socket.create_connection(("127.0.0.1", about["port"]), timeout=3):
        return True


def abstract_socket(about: About) -> object:
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect("\0" + about["abstract"])
        return True


def the_cli_killed(about: About) -> object:
    os.kill(int(os.environ["CLAUDE_PID"]), 0)
    return True


def the_cli_traced(about: About) -> object:
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.ptrace(0x4206, int(os.environ["CLAUDE_PID"]), None, None) == 0


ATTEMPTS = {
    each.__name__: each
    for each in (
        key, keys_of_others, home, home_written, state, state_files, daemon_socket, signal_outside, environment_outside,
        git_hook, git_configuration, git_moved, planted, user_namespace, kernel_keys, host_loopback, abstract_socket,
        the_cli_killed, the_cli_traced,
    )
}  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(reached(json.loads(sys.argv[1]))))
