#!/usr/bin/env python3
"""A recorded agent: speaks the wire as the CLI does, at a real one's pace, and notes how long each decision took.

usage: fleet_agent.py …      (the arguments of the CLI, which are passed over)

Its plan is `fleet.json` in its working directory; its times go to `taken.json` there: of each decision when it was asked for, on the clock that all processes share and nobody sets, and the seconds that it took. Its output is recorded lines of the real CLI with the ids made its own. Standard library only, so that 200 of them fit beside the daemon.
"""

import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

Frame = dict[str, Any]

COMMANDS = (
    "ls -la src/part{n}",
    "python3 -m pytest tests/test_{n}.py -x 2>&1 | tail -20",
    "git add -A && git commit -m 'Mend sum {n}'",
    "cd src && grep -rn 'def main{n}' . | head",
    "rm -rf /home/somebody/else{n}",
)
"""Each is another one each time: who does the same again and again is stopped."""


def say(frame: Frame) -> None:
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


def hear() -> Frame:
    line = sys.stdin.readline()
    if not line:
        os._exit(0)  # to take the interpreter down costs 8 ms of processor, which are not the daemon's
    frame: Frame = json.loads(line)
    return frame


def ask(request_id: str, event: str, **given: object) -> tuple[Frame, float]:
    """Call a hook; returns its answer and the seconds until it was here."""
    body = {"subtype": "hook_callback", "callback_id": event, "input": {"hook_event_name": event, **given}}
    began = time.perf_counter()
    say({"type": "control_request", "request_id": request_id, "request": body})
    while (line := hear()).get("response", {}).get("request_id") != request_id:
        pass
    return line["response"]["response"], time.perf_counter() - began


def call(number: int, pause: float) -> tuple[float, float]:
    """One tool call, as the CLI makes it: the model's line, the hooks, the result. Returns when it asked, and how long that took."""
    command, id_ = COMMANDS[number % len(COMMANDS)].replace("{n}", str(number)), f"toolu_{number}"
    given = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": id_, "cwd": str(Path.cwd())}
    use = {"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": command}}
    usage = {"input_tokens": 12, "output_tokens": 90, "cache_read_input_tokens": 20_000}
    say(
        {
            "type": "assistant",
            "uuid": f"u{number}",
            "message": {"id": f"msg_{number}", "content": [use], "usage": usage},
        }
    )
    began = time.perf_counter()
    answer, seconds = ask(f"pre-{number}", "PreToolUse", **given)
    allowed = answer.get("hookSpecificOutput", {}).get("permissionDecision") == "allow"
    if allowed:
        time.sleep(pause / 2)
        ask(f"post-{number}", "PostToolUse", **given, tool_response={"stdout": "x" * 2000})
    text = "x" * 2000 if allowed else "PreToolUse:Bash hook error: not here"
    result = {"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": not allowed}
    say({"type": "user", "uuid": f"r{number}", "message": {"role": "user", "content": [result]}})
    return began, seconds


def main() -> None:
    if "--version" in sys.argv:
        sys.stdout.write("2.1.329 (Claude Code)\n")
        return
    plan = json.loads(Path("fleet.json").read_text())
    random.seed(plan["seed"])
    say(
        {
            "type": "control_response",
            "response": {"subtype": "success", "request_id": hear()["request_id"], "response": {}},
        }
    )
    ask("prompt", "UserPromptSubmit", prompt=hear()["message"]["content"])
    say({"type": "system", "subtype": "init", "session_id": f"s{plan['seed']}", "cwd": str(Path.cwd()), "tools": []})
    os.close(os.open(plan["gate"], os.O_RDONLY))  # waits until all are here
    taken = []
    for number in range(plan["calls"]):
        pause = random.uniform(0.5, 1.5) * plan["pause"]
        time.sleep(pause / 2)
        taken.append(call(number, pause))
    Path("taken.json").write_text(json.dumps(taken))
    say({"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "num_turns": 1})
    while True:
        hear()


main()
