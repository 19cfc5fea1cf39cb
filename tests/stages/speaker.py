"""A CLI that says what a test has it say: its hooks connect to the daemon's socket of hooks by themselves."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HOOK = """\
import json, socket, sys
from concurrent.futures import ThreadPoolExecutor
def post(one):
    id_, body, event = one
    data = body.encode(errors="surrogateescape")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(120)
        connection.connect(sys.argv[1])
        head = f"POST /v1/hooks HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\nchaperon-request: {id_}\\r\\nchaperon-event: {event}\\r\\ncontent-length: {len(data)}\\r\\n\\r\\n"
        connection.sendall(head.encode() + data)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    head, _, rest = answer.partition(b"\\r\\n\\r\\n")
    return [int(head[9:12] or 0), rest.decode()]
for line in sys.stdin:
    with ThreadPoolExecutor(64) as pool:
        print(json.dumps(list(pool.map(post, json.loads(line)))), flush=True)
"""
"""The process of a hook: it asks whatever its line has, at once."""

CLI = """\
import subprocess, sys
hooks = [subprocess.Popen([sys.executable, "-I", "-S", "-c", *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
for line in sys.stdin.buffer:
    hook = hooks[int(line[:1])]
    hook.stdin.write(line[1:])
    hook.stdin.flush()
    sys.stdout.buffer.write(hook.stdout.readline())
    sys.stdout.buffer.flush()
for hook in hooks:
    hook.stdin.close()
    hook.wait()
"""
"""The process of the CLI, with two hooks, by number."""

Answer = tuple[int, Any]


class Speaker:
    """A CLI that runs."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._number = 0

    @property
    def pid(self) -> int:
        """The process of the CLI."""
        return self._process.pid

    def say(self, hook: Mapping[str, Any] | str, id_: str = "", by: int = 0, event: str = "") -> Answer:
        """Send one hook, and return the status and the answer."""
        [answer] = self.say_at_once([hook], id_, by, event)
        return answer

    def say_at_once(
        self, hooks: Sequence[Mapping[str, Any] | str], id_: str = "", by: int = 0, event: str = ""
    ) -> list[Answer]:
        """Send hooks by as many connections as there are.

        Args:
            hooks: The hooks.
            id_: The id of all; without it each has one of its own.
            by: The process that sends them: 0 or 1.
            event: What the entry of the settings is of; empty: it is not said.
        """
        asked = []
        for hook in hooks:
            self._number += 1
            asked.append([id_ or f"s{self._number}", hook if isinstance(hook, str) else json.dumps(hook), event])
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{by}{json.dumps(asked)}\n")
        self._process.stdin.flush()
        answers = json.loads(self._process.stdout.readline())
        return [(status, json.loads(text) if status == 200 else text) for status, text in answers]


@contextmanager
def speaker(socket: Path, workspace: Path) -> Iterator[Speaker]:
    """The CLI in a workspace; it ends with the block."""
    command = [sys.executable, "-I", "-S", "-c", CLI, HOOK, str(socket)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=workspace) as process:
        try:
            yield Speaker(process)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
