"""An attached CLI without a CLI: a process that sends hooks as one does, and says how long each took.

usage: python -I -S hook_session.py SPECIFICATION, a JSON object: `root`, `folder` of the relay's settings, `workspace`,
`name`, `calls`, `pause` in seconds, and `ways`: by name a command, or null for HTTP, or the port of another server on
loopback.

It says `ready`, and begins with a line on its input. At its end it prints by way the seconds of each gate's answer, and
how many calls were not let run.
"""

import http.client
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LATER = "2999-01-01T00:00:00.000Z"
"""A time of lines in a session file that is after the first look at it."""


def main(spec: dict[str, Any]) -> None:
    """Be one session."""
    sys.path.append(spec["root"])
    from supervisor.runtime.attached import relay_settings
    from supervisor.runtime.shim import process_tree

    settings = relay_settings.read(Path(spec["folder"]))
    assert settings is not None
    token = settings.token(f"p-{os.getpid()}-{process_tree.start_ticks(os.getpid())}")
    connection = http.client.HTTPConnection(relay_settings.LOOPBACK, settings.port)
    said = Path(spec["workspace"]).with_name(f"{spec['name']}.jsonl")
    about = {"session_id": spec["name"], "cwd": spec["workspace"], "permission_mode": "default"}
    about["transcript_path"] = str(said)

    ports = {port for port in spec["ways"].values() if isinstance(port, int)}
    others = {port: http.client.HTTPConnection(relay_settings.LOOPBACK, port) for port in ports}

    def send(event: str, more: dict[str, Any], to: http.client.HTTPConnection = connection) -> bytes:
        address = settings.address(event, "block", 60.0).partition(str(settings.port))[2]
        body = json.dumps({**about, "hook_event_name": event, **more})
        to.request("POST", address, body, {"authorization": f"Bearer {token}"})
        return to.getresponse().read()

    send("UserPromptSubmit", {"prompt": f"Work, {spec['name']}."})
    print("ready", flush=True)
    sys.stdin.readline()
    taken: dict[str, list[float]] = {way: [] for way in spec["ways"]}
    refused = 0
    for number in range(spec["calls"]):
        for way, command in spec["ways"].items():
            time.sleep(spec["pause"] * random.uniform(0.5, 1.5))
            call = {"tool_name": "Bash", "tool_input": {"command": f"touch part-{way[:4].strip()}-{number}.txt"}}
            call["tool_use_id"] = f"{spec['name']}-{way}-{number}"
            with said.open("a") as file:  # as a CLI does, before it asks
                file.write(json.dumps(reply(call)) + "\n")
            began = time.perf_counter()
            if command is None or isinstance(command, int):
                answer = send("PreToolUse", call, connection if command is None else others[command])
            else:
                body = json.dumps({**about, "hook_event_name": "PreToolUse", **call}).encode()
                done = subprocess.run(["/bin/sh", "-c", command], input=body, stdout=subprocess.PIPE, check=False)
                answer = done.stdout if done.returncode == 0 else b'"deny"'
            taken[way].append(time.perf_counter() - began)
            refused += b'"deny"' in answer
            send("PostToolUse", {**call, "tool_response": {"stdout": f"made {number}", "stderr": ""}})
    print(json.dumps({"taken": taken, "refused": refused}), flush=True)
    sys.stdin.readline()  # its process stays until all are done, as a CLI does at its prompt


def reply(call: dict[str, Any]) -> dict[str, Any]:
    """Return the line of a session file with which the model makes a call."""
    use = {"type": "tool_use", "id": call["tool_use_id"], "name": "Bash", "input": call["tool_input"]}
    usage = {"input_tokens": 10, "output_tokens": 50, "cache_read_input_tokens": 20_000}
    message = {
        "id": f"m-{call['tool_use_id']}",
        "role": "assistant",
        "model": "a-model",
        "content": [use],
        "usage": usage,
    }
    return {"type": "assistant", "uuid": f"l-{call['tool_use_id']}", "timestamp": LATER, "message": message}


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
