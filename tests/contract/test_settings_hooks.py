"""What the real CLI makes of the answers of a settings file's command hook: what attached agents stand on."""

import json
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.model_requests import tool_results
from supervisor.rehearsal.script import Say
from tests.stages.live import bash, script
from tests.support import cli_environment, real_claude_path

pytestmark = pytest.mark.real_cli

CHANGED = {"command": "touch changed.txt", "description": "x"}


class Place:
    """A workspace whose CLI has one hook for each event, which answers as told and keeps what it was given."""

    def __init__(self, base: Path, **answers: Any) -> None:
        self.home, self.workspace = base / "home", base / "home/workspace"
        (self.workspace / ".claude").mkdir(parents=True)
        hooks = {event: [{"hooks": [self._hook(event, answers.get(event, {}))]}] for event in ("PreToolUse", "Stop")}
        self.settings = self.workspace / ".claude/settings.local.json"
        self.settings.write_text(json.dumps({"hooks": hooks}))
        trusted = {"projects": {str(self.workspace): {"hasTrustDialogAccepted": True}}}
        (self.home / ".claude.json").write_text(json.dumps(trusted))

    def _hook(self, event: str, answer: Any) -> dict[str, Any]:
        parents = f"ps -o comm= -p $PPID >> {self.home / 'parents'}"
        line = f"cat > {self.home / event}.txt; {parents}; cat <<'X'\n{json.dumps(answer)}\nX"
        return {"type": "command", "command": line}

    async def play(self, mode: str = "bypassPermissions") -> list[str]:
        """Have the model call the shell once; returns what it was told of that."""
        async with ScriptedModel([script(bash("touch asked.txt"), Say("done"))]) as model:
            command = [str(real_claude_path()), "-p", "Go.", "--permission-mode", mode]
            with anyio.fail_after(60):
                environ = cli_environment(self.home, model.url)
                await anyio.run_process(command, cwd=self.workspace, env=environ, check=False)
            return [result.text for result in tool_results(model.requests[-1]).values()]

    @property
    def made(self) -> set[str]:
        return {path.name for path in self.workspace.glob("*.txt")}


def pre(**output: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **output}}


async def test_the_end_of_a_turn_alone_lets_the_call_run(tmp_path: Path) -> None:
    place = Place(tmp_path, PreToolUse={"continue": False, "stopReason": "over"})
    await place.play()
    assert place.made == {"asked.txt"}


async def test_the_end_of_a_turn_with_a_denial_does_not(tmp_path: Path) -> None:
    denied = pre(permissionDecision="deny", permissionDecisionReason="over")
    place = Place(tmp_path, PreToolUse={"continue": False, "stopReason": "over", **denied})
    await place.play()
    assert place.made == set()


async def test_a_changed_input_counts_without_a_grant(tmp_path: Path) -> None:
    place = Place(tmp_path, PreToolUse=pre(updatedInput=CHANGED))
    await place.play()
    assert place.made == {"changed.txt"}


async def test_a_changed_input_without_a_grant_is_still_asked_of_the_person(tmp_path: Path) -> None:
    place = Place(tmp_path, PreToolUse=pre(updatedInput=CHANGED))
    told = await place.play("default")
    assert place.made == set()
    assert any("approval" in text or "permission" in text for text in told)


async def test_a_hooks_shell_is_a_child_of_the_cli_and_is_given_the_session_file(tmp_path: Path) -> None:
    place = Place(tmp_path)
    await place.play()
    assert set((place.home / "parents").read_text().split()) == {"claude"}
    given = orjson.loads((place.home / "PreToolUse.txt").read_bytes())
    assert {"session_id", "transcript_path", "cwd", "tool_name", "tool_input", "tool_use_id"} <= given.keys()
    said = orjson.loads((place.home / "Stop.txt").read_bytes())
    assert said["last_assistant_message"] == "done"


UNHEARD: dict[str, Any] = {"type": "http", "url": "http://127.0.0.1:9/", "timeout": 5}
"""A hook by HTTP to a port at which no program listens: 9, `discard`, which only root may take."""


@pytest.mark.parametrize(
    ("hook", "runs"),
    [
        ({**UNHEARD, "onFailure": "block"}, False),
        (UNHEARD, True),
        ({"type": "command", "command": "exit 1", "onFailure": "block"}, False),
        ({"type": "command", "command": "exit 1"}, True),
        ({"type": "command", "command": "exit 2"}, False),
    ],
    ids=["http, block", "http", "command, block", "command", "exit code 2"],
)
async def test_a_hook_that_fails_blocks_its_call_as_its_kind_and_its_settings_say(
    tmp_path: Path, hook: dict[str, Any], runs: bool
) -> None:
    place = Place(tmp_path)
    place.settings.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}))
    await place.play()
    assert place.made == ({"asked.txt"} if runs else set())


@pytest.mark.parametrize("spoilt", ["// a comment\n", ","], ids=["a comment", "a comma at the end"])
async def test_of_settings_with_a_comment_or_a_comma_at_the_end_nothing_is_taken(tmp_path: Path, spoilt: str) -> None:
    place = Place(tmp_path, PreToolUse=pre(permissionDecision="deny", permissionDecisionReason="no"))
    text = place.settings.read_text()
    place.settings.write_text(spoilt + text if spoilt.startswith("//") else f"{text[:-1]}{spoilt}}}")
    await place.play()
    assert place.made == {"asked.txt"}
