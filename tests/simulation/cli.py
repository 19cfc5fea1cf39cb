"""A simulated Claude CLI: lines in, frames out, no process. It runs a tool only when it was answered that it may."""

from collections import deque
from typing import Any

import orjson

from tests.simulation.minds import Mind, Turn

Frame = dict[str, Any]


class Cli:
    """One process tree.

    Args:
        name: Makes its ids unique.
        mind: What drives it.
    """

    def __init__(self, name: str, mind: Mind) -> None:
        self._name, self._mind = name, mind
        self._keys: set[str] = set()
        self._prompts: deque[str] = deque()
        self._out: deque[Frame] = deque()
        self._asked: tuple[str, str, Turn] | None = None
        self._in_turn = False
        self._n = 0
        self.input_open = True
        self.alive = True
        self.frozen = False
        self.ran: list[str] = []
        """Requests whose tools ran."""

    def write(self, key: str, line: bytes) -> bool:
        """Take a line, once for each key, as the shim does; returns whether it is new."""
        if key in self._keys or not self.alive or not self.input_open:
            return False
        self._keys.add(key)
        frame = orjson.loads(line)
        match frame["type"]:
            case "user":
                self._prompts.append(frame["message"]["content"])
            case "control_request" if frame["request"]["subtype"] == "initialize":
                self._out.append({"type": "control_response", "response": {"subtype": "success", "request_id": "init"}})
            case "control_request":
                self._asked = None
                self._end_turn(error=True)
            case "control_response":
                self._answered(frame["response"])
        return True

    def act(self) -> Frame | None:
        """The next frame, or None where it has nothing to say for now."""
        if self.frozen or not self.alive:
            return None
        if self._out:
            return self._out.popleft()
        if self._asked is not None:
            return None
        if self._prompts:
            self._take_prompt()
        elif self._in_turn:
            self._think()
        return self._out.popleft() if self._out else None

    def _take_prompt(self) -> None:
        prompt = self._prompts.popleft()
        self._n += 1
        hook = {"hook_event_name": "UserPromptSubmit", "prompt": prompt}
        body = {"subtype": "hook_callback", "callback_id": "UserPromptSubmit", "input": hook}
        self._out.append({"type": "control_request", "request_id": f"{self._name}-p{self._n}", "request": body})
        self._mind.told()
        if not self._in_turn:
            self._in_turn = True
            about = {"session_id": f"s-{self._name}", "cwd": "/repo", "claude_code_version": "2.1.329"}
            self._out.append({"type": "system", "subtype": "init", **about})

    def _think(self) -> None:
        turn = self._mind.next()
        self._n += 1
        if turn.ends:
            self._end_turn(error=bool(turn.says), words=turn.says or "done")
        elif turn.says:
            self._say([{"type": "text", "text": turn.says}])
        else:
            self._ask(turn)

    def _say(self, content: list[Any]) -> None:
        usage = {"input_tokens": 100, "output_tokens": 20}
        message = {"id": f"{self._name}-m{self._n}", "role": "assistant", "content": content, "usage": usage}
        self._out.append({"type": "assistant", "message": message})

    def _ask(self, turn: Turn) -> None:
        request, use = f"{self._name}-r{self._n}", f"{self._name}-u{self._n}"
        self._say([{"type": "tool_use", "id": use, "name": turn.tool, "input": turn.input}])
        hook = {"hook_event_name": "PreToolUse", "tool_name": turn.tool, "tool_input": turn.input, "tool_use_id": use}
        body = {"subtype": "hook_callback", "callback_id": "PreToolUse", "input": {**hook, "cwd": "/repo"}}
        self._out.append({"type": "control_request", "request_id": request, "request": body})
        self._asked = (request, use, turn)

    def _answered(self, response: Frame) -> None:
        if self._asked is None or response["request_id"] != self._asked[0]:
            return
        request, use, turn = self._asked
        self._asked = None
        output = response["response"].get("hookSpecificOutput", {})
        if output.get("permissionDecision") == "allow":
            self.ran.append(request)
            self._result(use, turn.result, turn.failed)
        else:
            self._result(use, str(output.get("permissionDecisionReason")), failed=True)

    def _result(self, use: str, text: str, failed: bool) -> None:
        content = [{"type": "tool_result", "tool_use_id": use, "content": text, "is_error": failed}]
        self._out.append({"type": "user", "message": {"role": "user", "content": content}})

    def _end_turn(self, *, error: bool, words: str = "done") -> None:
        if self._in_turn:
            self._in_turn = False
            subtype = "error_during_execution" if error else "success"
            self._out.append({"type": "result", "subtype": subtype, "is_error": error, "result": words})

    @property
    def done(self) -> bool:
        """Whether it would end by itself: its input is closed and nothing is left to do."""
        return not self.input_open and not self._in_turn and not self._prompts and not self._out
