from dataclasses import replace
from typing import Any

import orjson
import pytest

from interventions.choice.controller import Controller
from interventions.settings import InterventionSettings
from monitors.contract.actions import Action, ReviewContext, SideEffect
from monitors.contract.words import Decision, Severity
from supervisor.core import gate
from supervisor.core.decisions.decide import SessionSettings
from supervisor.core.session import Session
from supervisor.protocol import events
from supervisor.protocol.claude.messages import CanUseTool, HookCallback, parse_frame
from supervisor.protocol.commands import SendLine
from tests.stages.session import ALLOW, Play, Rules, verdict

TOUCH = SideEffect("file_write", Severity.LOW, True, "writes a")
ACTION = Action("Bash", {"command": "rm x"}, "/repo", "/repo", "u1")


def hook(given: Any) -> HookCallback:
    about = {
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": given,
        "tool_use_id": "u1",
        "cwd": "/sub",
    }
    request = {"subtype": "hook_callback", "callback_id": "pre", "input": about}
    message = parse_frame({"type": "control_request", "request_id": "r1", "request": request})
    assert isinstance(message, HookCallback)
    return message


def permission(given: Any) -> CanUseTool:
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": given, "tool_use_id": "u1"}
    message = parse_frame({"type": "control_request", "request_id": "r1", "request": request})
    assert isinstance(message, CanUseTool)
    return message


def body(line: bytes) -> dict[str, Any]:
    response = orjson.loads(line)["response"]
    assert response["subtype"] == "success", "an error answer would make the CLI run the tool"
    answer: dict[str, Any] = response["response"]
    return answer


def test_a_hooks_action_is_where_the_cli_is() -> None:
    action = gate.action_of(hook({"command": "ls"}), "/repo", "/repo")
    assert action == Action("Bash", {"command": "ls"}, "/sub", "/repo", "u1", "")


def test_a_permission_requests_action_is_in_the_workspace() -> None:
    action = gate.action_of(permission({"command": "ls"}), "/repo", "/repo")
    assert action is not None
    assert action.cwd == "/repo"


@pytest.mark.parametrize("given", [None, "rm", 7, ["rm"], True])
def test_an_input_that_is_no_object_is_no_action_and_its_review_is_a_block(given: Any) -> None:
    assert gate.action_of(hook(given), "/repo", "/repo") is None
    assert gate.malformed("Bash").decision is Decision.BLOCK


@pytest.mark.parametrize("error", [ValueError("x" * 1000), RecursionError(), AssertionError("no"), KeyError("k")])
def test_whatever_a_reviewer_raises_is_a_block_that_names_it(error: Exception) -> None:
    def broken() -> Any:
        raise error

    review = gate.review(Rules({"rm": broken}), ACTION, ReviewContext(None))
    assert (review.decision, review.rule) == (Decision.BLOCK, gate.REVIEWER_FAILED)
    assert type(error).__name__ in review.reasoning
    assert len(review.reasoning) < 500


@pytest.mark.parametrize("permitted", [False, True])
def test_a_block_refuses_at_both_gates_with_the_reason(permitted: bool) -> None:
    answer = body(gate.answer("r1", verdict(Decision.BLOCK, "not yours"), permission=permitted, action=ACTION))
    told = answer if permitted else answer["hookSpecificOutput"]
    assert (told.get("behavior") or told["permissionDecision"]) == "deny"
    assert (told.get("message") or told["permissionDecisionReason"]) == "not yours"


def test_allowing_at_the_first_gate_tells_the_model_nothing() -> None:
    answer = body(gate.answer("r1", ALLOW, permission=False, action=ACTION))["hookSpecificOutput"]
    assert answer["permissionDecision"] == "allow"
    assert "additionalContext" not in answer


def test_the_second_gate_is_given_the_input_back_changed_where_it_was() -> None:
    plain = body(gate.answer("r1", ALLOW, permission=True, action=ACTION))
    changed = verdict(Decision.MODIFY, updated_input={"command": "ls"})
    softer = body(gate.answer("r1", changed, permission=True, action=ACTION))
    assert (plain["updatedInput"], softer["updatedInput"]) == ({"command": "rm x"}, {"command": "ls"})


@pytest.mark.parametrize("asynchronous", [True, False])
def test_in_the_async_mode_only_a_call_that_changes_nothing_is_answered_before_the_journal_has_it(
    asynchronous: bool,
) -> None:
    class Asynchronous(Play):
        def make(self, submitted: events.TaskSubmitted) -> Session:
            controller, settings = (
                Controller(InterventionSettings(), self.task),
                SessionSettings(asynchronous=asynchronous),
            )
            return Session(submitted, Rules(self.rules), [], controller, settings)

    reads, writes = replace(ALLOW, risk=0.0), replace(ALLOW, risk=0.1, side_effects=(TOUCH,))
    play = Asynchronous({"ls": reads, "touch": writes, "rm": verdict(Decision.BLOCK)}).running()
    sent = [command for word in ("ls", "touch", "rm") for command in play.call(word) if isinstance(command, SendLine)]
    assert [line.asynchronous for line in sent] == [asynchronous, False, False]
    assert len([event for _, event in play.journal if isinstance(event, events.ReviewMade)]) == 3
