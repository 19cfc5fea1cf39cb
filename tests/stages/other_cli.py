"""Another agent's CLI without one: a process that starts the hooks of its settings file, as that CLI does."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from supervisor.runtime.attached.adapters.other_cli import adapter

PROGRAM = """\
import json, subprocess, sys
for line in sys.stdin:
    asked = json.loads(line)
    body = asked["body"].encode(errors="surrogateescape")
    done = subprocess.run(["bash", "-c", asked["command"]], input=body, capture_output=True)
    print(json.dumps([done.returncode, done.stdout.decode(), done.stderr.decode()]), flush=True)
"""


@dataclass(frozen=True)
class Heard:
    """What a CLI makes of a hook's end, by its documentation."""

    runs: bool
    reason: str
    answer: Any


class OtherCli:
    """A CLI that has been started."""

    def __init__(self, name: str, settings: Path, process: "subprocess.Popen[str]") -> None:
        self._name, self._settings, self._process = name, settings, process

    def command(self, event: str) -> str:
        """The command in its settings for an event."""
        [entry] = json.loads(self._settings.read_text())["hooks"][event]
        [hook] = entry.get("hooks", [entry])
        return str(hook["command"])

    def send(self, hook: Mapping[str, Any] | str, event: str = "", command: str = "") -> Heard:
        """Start the hook of an event, and do with its answer what the CLI does."""
        body = hook if isinstance(hook, str) else json.dumps(hook)
        event = event or str(json.loads(body)["hook_event_name"])
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"command": command or self.command(event), "body": body}) + "\n")
        self._process.stdin.flush()
        code, out, error = json.loads(self._process.stdout.readline())
        return HEARD[self._name](code, out, error, adapter(self._name).EVENTS[event] == "PreToolUse")


def _gemini(code: int, out: str, error: str, gate: bool) -> Heard:
    text = out.strip() or error.strip()
    try:
        answer = json.loads(text) if text else {}
    except ValueError:
        answer = {"decision": "deny" if code not in (0, 1) else "allow", "reason": text}
    return Heard(answer.get("decision") not in ("deny", "block"), str(answer.get("reason", "")), answer)


def _cursor(code: int, out: str, error: str, gate: bool) -> Heard:
    try:
        answer = json.loads(out)
    except ValueError:
        return Heard(not gate, error, {})
    # A question is taken and not enforced: the call runs.
    passes = answer.get("permission", "" if gate else "allow") in ("allow", "ask")
    runs = not code and passes and answer.get("continue", True)
    return Heard(bool(runs), str(answer.get("agent_message", "")), answer)


HEARD = {"gemini": _gemini, "cursor": _cursor}


@contextmanager
def other_cli(name: str, settings: Path, workspace: Path) -> Iterator[OtherCli]:
    """The CLI in a workspace; it is ended behind the block."""
    command = [sys.executable, "-I", "-S", "-c", PROGRAM]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=workspace, start_new_session=True
    ) as process:
        try:
            yield OtherCli(name, settings, process)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
