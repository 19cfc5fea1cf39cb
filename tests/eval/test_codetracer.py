"""Sessions that others recorded, read from a terminal's recording and from printed lines."""

import json
from pathlib import Path
from typing import Any

from tests.eval.codetracer import End, measured, report, sessions


def lines(text: str, *, failed: bool = False) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number in range(4):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "ls"}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
        said = {"id": f"m{number}", "type": "message", "role": "assistant", "model": "m", "content": [call]}
        found.append({"type": "assistant", "message": said, "session_id": "s"})
        found.append({"type": "user", "message": {"role": "user", "content": [result]}})
    return [*found, {"type": "result", "is_error": failed}]


def recorded(folder: Path, shown: list[dict[str, Any]], solved: bool | None) -> None:
    typed = "".join(json.dumps(line) + "\r\n" for line in shown)
    events = [[0.1, "o", typed[:70]], [0.2, "i", "x"], [0.3, "o", typed[70:]]]
    (folder / "sessions").mkdir(parents=True)
    cast = [json.dumps({"version": 2}), *map(json.dumps, events), '[0.4, "o", "cut']
    (folder / "sessions/agent.cast").write_text("\n".join(cast))
    (folder / "results.json").write_text(json.dumps({"is_resolved": solved}))


def printed(folder: Path, shown: list[dict[str, Any]], reward: float) -> None:
    (folder / "agent").mkdir(parents=True)
    (folder / "agent/claude-code.txt").write_text("\n".join(["warning", *map(json.dumps, shown)]))
    verdict = {"verifier_result": {"rewards": {"reward": reward}}, "exception_info": None}
    (folder / "result.json").write_text(json.dumps(verdict))


def test_sessions_are_told_apart_by_model_and_end_and_counted_beside_the_peers_rules(tmp_path: Path) -> None:
    of = tmp_path / "data/traj/claude_code/claude_code_m1"
    recorded(of / "a/a.1", lines("same"), solved=True)
    recorded(of / "b/b.1", lines("same"), solved=False)
    recorded(of / "c/c.1", lines("same", failed=True), solved=False)
    recorded(of / "d/d.1", [], solved=None)
    printed(tmp_path / "data/traj/m2/e", lines("same"), reward=0.0)
    assert [(one.model, one.end) for one in sessions(tmp_path)] == [
        ("m1", End.SOLVED),
        ("m1", End.UNSOLVED),
        ("m1", End.CHANNEL_FAILED),
        ("m1", End.CHANNEL_FAILED),
        ("m2", End.UNSOLVED),
    ]
    found = measured(sessions(tmp_path))
    assert found["m1"][End.SOLVED].ours["repetition"] == 1
    assert found["m1"][End.CHANNEL_FAILED].sessions == 2
    assert "| ours: repetition | 1 = 100% | 1 = 100% | 1 = 50% |" in report(found)
