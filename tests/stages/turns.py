"""A stand-in for the CLI that does what it is told: `do: COMMAND` runs the command when its hook allows it; else it says ok.

Each message is a turn. How it was started, and what it was told, it notes in HOME. It has no clock and no chance in it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

Frame = dict[str, Any]
LOG = Path(os.environ["HOME"]) / "told.jsonl"


def note(**facts: object) -> None:
    with LOG.open("a") as log:
        log.write(json.dumps(facts) + "\n")


def argument(name: str) -> str:
    return next((value.split("=", 1)[1] for value in sys.argv if value.startswith(f"--{name}=")), "")


SESSION = argument("session-id")


def say(frame: Frame) -> None:
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


def hear() -> Frame:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    frame: Frame = json.loads(line)
    return frame


said: list[str] = []


def ask(request_id: str, event: str, **given: object) -> Frame:
    body = {"subtype": "hook_callback", "callback_id": event, "input": {"hook_event_name": event, **given}}
    say({"type": "control_request", "request_id": request_id, "request": body})
    while (line := hear()).get("response", {}).get("request_id") != request_id:
        if line["type"] == "user":
            said.append(line["message"]["content"])
    output: Frame = line["response"]["response"].get("hookSpecificOutput", {})
    return output


def turn(number: int, text: str) -> None:
    mark = f"{SESSION}-{number}"
    note(told=text)
    ask(f"prompt-{mark}", "UserPromptSubmit", prompt=text)
    say({"type": "system", "subtype": "init", "session_id": SESSION, "cwd": str(Path.cwd()), "tools": []})
    if text.startswith("do: "):
        command = text.removeprefix("do: ").partition("\n\n")[0]  # chaperon may have said more
        use = {"type": "tool_use", "id": f"toolu-{mark}", "name": "Bash", "input": {"command": command}}
        say({"type": "assistant", "uuid": f"call-{mark}", "message": {"id": f"m-{mark}", "content": [use]}})
        given = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"toolu-{mark}"}
        if ask(f"pre-{mark}", "PreToolUse", cwd=str(Path.cwd()), **given).get("permissionDecision") == "allow":
            note(ran=command)
            subprocess.run(["/bin/sh", "-c", command], check=True)
        result = {"type": "tool_result", "tool_use_id": f"toolu-{mark}", "content": "done", "is_error": False}
        say({"type": "user", "uuid": f"result-{mark}", "message": {"role": "user", "content": [result]}})
    reply = [{"type": "text", "text": "ok"}]
    say({"type": "assistant", "uuid": f"reply-{mark}", "message": {"id": f"r-{mark}", "content": reply}})
    say({"type": "result", "subtype": "success", "is_error": False, "result": "ok", "num_turns": 1})


def main() -> None:
    note(session=SESSION, resume=argument("resume"), at=argument("resume-session-at"))
    answer = {"subtype": "success", "request_id": hear()["request_id"], "response": {}}
    say({"type": "control_response", "response": answer})
    number = 0
    while True:
        if not said:
            line = hear()
            if line["type"] != "user":
                continue
            said.append(line["message"]["content"])
        number += 1
        turn(number, said.pop(0))


main()
