"""A stand-in for the CLI: speaks the wire as the real one does, and runs a tool only when its hook allows it.

Its plan is a JSON list of commands in the file `plan.json` of its working directory. What it runs it notes in `ran.log`, so that a
test sees on disk what passed the gate. It has no clock and no chance in it.
"""

import json
import sys
from pathlib import Path
from typing import Any

Frame = dict[str, Any]


def say(frame: Frame) -> None:
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


def hear() -> Frame:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    frame: Frame = json.loads(line)
    return frame


def take(message: Frame) -> None:
    """Note a message, and say that it is taken up, as the CLI does before the model's next call."""
    with Path("heard.log").open("a") as log:
        log.write(json.dumps(message) + "\n")
    if message.get("uuid"):
        say({"type": "command_lifecycle", "command_uuid": message["uuid"], "state": "started"})


def ask(request_id: str, event: str, **given: object) -> Frame:
    """Call a hook and wait for its answer; other lines meanwhile are messages, which are taken up."""
    say(
        {
            "type": "control_request",
            "request_id": request_id,
            "request": {"subtype": "hook_callback", "callback_id": event, "input": {"hook_event_name": event, **given}},
        }
    )
    while (line := hear()).get("response", {}).get("request_id") != request_id:
        take(line)
    with Path("answers.log").open("a") as log:
        log.write(json.dumps([request_id, line["response"]]) + "\n")
    output: Frame = line["response"]["response"].get("hookSpecificOutput", {})
    return output


def run(number: int, command: str) -> None:
    call, where = f"toolu_{number}", str(Path.cwd())
    given: Frame = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": call, "cwd": where}
    use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
    say({"type": "assistant", "uuid": f"u{number}", "message": {"id": f"msg_{number}", "content": [use]}})
    verdict = ask(f"pre-{number}", "PreToolUse", **given)
    allowed = verdict.get("permissionDecision") == "allow"
    if allowed:
        given["tool_input"] = verdict.get("updatedInput", given["tool_input"])
        with Path("ran.log").open("a") as log:
            log.write(given["tool_input"]["command"] + "\n")
        ask(f"post-{number}", "PostToolUse", **given, tool_response={"stdout": "done"})
    text = "done" if allowed else f"PreToolUse:Bash hook error: {verdict.get('permissionDecisionReason')}"
    result = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": not allowed}
    say({"type": "user", "uuid": f"r{number}", "message": {"role": "user", "content": [result]}})


def main() -> None:
    initialize = hear()
    answer = {"subtype": "success", "request_id": initialize["request_id"], "response": {}}
    say({"type": "control_response", "response": answer})
    prompt = hear()["message"]["content"]
    ask("prompt", "UserPromptSubmit", prompt=prompt)
    say({"type": "system", "subtype": "init", "session_id": "stand-in", "cwd": str(Path.cwd()), "tools": []})
    for number, command in enumerate(json.loads(Path("plan.json").read_text())):
        run(number, command)
    say({"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "num_turns": 1})
    while True:
        hear()


main()
