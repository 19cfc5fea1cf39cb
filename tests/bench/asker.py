#!/usr/bin/env python3
"""A stand-in for the CLI that measures how long its hooks take to be answered: calls that write, read and delete, in turns."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def say(frame: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


def hear() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    frame: dict[str, Any] = json.loads(line)
    return frame


def ask(request_id: str, event: str, **given: object) -> float:
    """Milliseconds until the answer."""
    body = {"subtype": "hook_callback", "callback_id": event, "input": {"hook_event_name": event, **given}}
    started = time.perf_counter()
    say({"type": "control_request", "request_id": request_id, "request": body})
    while hear().get("response", {}).get("request_id") != request_id:
        pass
    return (time.perf_counter() - started) * 1000


def main() -> None:
    if "--version" in sys.argv:
        sys.stdout.write("2.1.329 (Claude Code)\n")
        return
    answer = {"subtype": "success", "request_id": hear()["request_id"], "response": {}}
    say({"type": "control_response", "response": answer})
    prompt = hear()["message"]["content"]
    wanted = json.loads(prompt)
    ask("prompt", "UserPromptSubmit", prompt=prompt)
    say({"type": "system", "subtype": "init", "session_id": "s", "cwd": str(Path.cwd()), "tools": []})
    took: dict[str, list[float]] = {"writes": [], "reads": [], "deletes": []}
    for number in range(len(took) * wanted["calls"]):
        kind = tuple(took)[number % len(took)]
        path = f"{Path.cwd()}/out{number // len(took) % 10}.txt"
        tool, given = {
            "writes": ("Write", {"file_path": path, "content": str(number)}),
            "reads": ("Read", {"file_path": path}),
            "deletes": ("Bash", {"command": f"rm {path}"}),
        }[kind]
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": given}
        say({"type": "assistant", "uuid": f"u{number}", "message": {"id": f"m{number}", "content": [use]}})
        about = {"tool_name": tool, "tool_input": given, "tool_use_id": f"toolu_{number}", "cwd": str(Path.cwd())}
        took[kind].append(ask(f"pre-{number}", "PreToolUse", **about))
        if kind == "writes":
            Path(path).write_text(str(number))
        if kind == "deletes":
            Path(path).unlink()
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "done", "is_error": False}
        say({"type": "user", "uuid": f"r{number}", "message": {"role": "user", "content": [result]}})
        time.sleep(wanted["pause"])
    (Path(os.environ["HOME"]) / "asked.json").write_text(json.dumps(took))
    say({"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "num_turns": 1})
    while True:
        hear()


main()
