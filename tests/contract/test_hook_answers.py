"""What the CLI makes of the answers of a hook, in turns of one session: each start takes half a second of a processor."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from supervisor.protocol.claude import control
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.model_requests import ToolResult, tool_results, what_the_model_was_told
from supervisor.rehearsal.script import ModelScript, ScriptStep, ToolUse
from tests.contract.cli import MARK, Answer, Cli, Frame, event_of, on, running_cli, say_nothing

pytestmark = pytest.mark.real_cli

HOOKS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "AnEventOfTomorrow")

CHANGED = {"command": "echo changed > changed.txt; echo changed-output", "description": "changed"}


def before_by_hand(request: Frame) -> Mapping[str, Any] | None:
    """Leave the question before a call to whoever plays the turn."""
    return None if event_of(request) == "PreToolUse" else {}


async def with_an_error(cli: Cli, request_id: str) -> None:
    await cli.answer_error(request_id, "the reviewer raised")


async def twice_and_to_nobody(cli: Cli, request_id: str) -> None:
    for each in (request_id, request_id, "nobody"):
        await cli.answer(each, {})


@dataclass(frozen=True)
class Turn:
    """The calls of a turn, and how hooks are answered."""

    calls: tuple[ToolUse, ...]
    answer: Answer
    by_hand: Callable[[Cli, str], Awaitable[None]] | None = None


@dataclass(frozen=True)
class Played:
    """What came of a turn."""

    files: set[str]
    """Names of what its calls left."""
    asked: list[Frame]
    """The questions of hooks."""
    told: str
    """What was new to the model behind its calls."""
    results: dict[str, ToolResult]


TURNS = {
    "denied": Turn(
        (MARK,), on("PreToolUse", permissionDecision="deny", permissionDecisionReason="because-of-the-rule")
    ),
    "changed": Turn((MARK,), on("PreToolUse", permissionDecision="allow", updatedInput=CHANGED)),
    "PreToolUse": Turn((MARK,), on("PreToolUse", additionalContext="mind-the-gap")),
    "PostToolUse": Turn((MARK,), on("PostToolUse", additionalContext="mind-the-gap")),
    "both": Turn(
        (MARK,),
        on("PreToolUse", permissionDecision="allow", updatedInput=CHANGED, additionalContext="it-was-changed"),
    ),
    "empty": Turn((MARK,), say_nothing),
    "error": Turn((MARK,), before_by_hand, with_an_error),
    "twice": Turn((MARK,), before_by_hand, twice_and_to_nobody),
    "failed": Turn(
        (ToolUse("Bash", {"command": "echo oh-no >&2; exit 3"}),),
        on("PostToolUseFailure", additionalContext="try-another-way"),
    ),
    "beside": Turn(
        (
            ToolUse("Bash", {"command": "echo oh-no; exit 1", "description": "fail"}),
            ToolUse("Bash", {"command": "sleep 0.5; echo finished", "description": "wait"}),
        ),
        say_nothing,
    ),
    "refused": Turn((ToolUse("Bash", {"command": "sleep 30"}), ToolUse("Read", {"wrong": 1})), say_nothing),
}


async def play(base: Path) -> dict[str, Played]:
    workspace, turn, played = base / "workspace", TURNS["denied"], dict[str, Played]()
    workspace.mkdir()
    scripts = [
        ModelScript((ScriptStep(each.calls),), when=f"The turn {name}.", named_last=True)
        for name, each in TURNS.items()
    ]

    def answer(request: Frame) -> Mapping[str, Any] | None:
        return turn.answer(request)

    async with (
        ScriptedModel(scripts) as model,
        running_cli(base / "home", workspace, model.url, hook=answer) as cli,
    ):
        await cli.initialize(*HOOKS, timeout=control.HOOK_TIMEOUT_SECONDS)
        taken = await cli.wait_for(lambda frame: frame["type"] == "control_response")
        assert taken["response"]["subtype"] == "success"
        for number, (name, turn) in enumerate(TURNS.items()):
            begun = len(cli.out)
            await cli.say(f"The turn {name}.")
            if turn.by_hand is not None:
                asked = await cli.wait_for(is_question, count=len(questions(cli.out[:begun])) + 1)
                await turn.by_hand(cli, asked["request_id"])
            await cli.result(number + 1)
            files = list(workspace.iterdir())
            told = model.conversation(number)[1]
            played[name] = Played(
                {path.name for path in files},
                [frame["request"] for frame in questions(cli.out[begun:])],
                what_the_model_was_told(told),
                {id_: result for id_, result in tool_results(told).items() if id_.startswith(prefix(number))},
            )
            for path in files:
                path.unlink()
        assert await cli.finish() == 0
    return played


def prefix(number: int) -> str:
    """The beginning of the ids of a script's calls."""
    return f"toolu_{number}_" if number else "toolu_0"


def is_question(frame: Frame) -> bool:
    return bool(frame["type"] == "control_request")


def questions(frames: list[Frame]) -> list[Frame]:
    return list(filter(is_question, frames))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Played]:
    return anyio.run(play, tmp_path_factory.mktemp("session"))


def test_a_denied_call_does_not_run_and_the_model_is_told_why(played: dict[str, Played]) -> None:
    turn = played["denied"]
    assert turn.files == set()
    assert "because-of-the-rule" in turn.told
    assert [result.is_error for result in turn.results.values()] == [True]


def test_updated_input_is_what_runs(played: dict[str, Played]) -> None:
    turn = played["changed"]
    assert turn.files == {"changed.txt"}
    assert "changed-output" in turn.told


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
def test_context_added_by_a_hook_reaches_the_next_request(played: dict[str, Played], event: str) -> None:
    turn = played[event]
    assert turn.files == {"ran.txt"}
    assert "mind-the-gap" in turn.told
    assert "the-output" in turn.told


def test_allow_with_context_and_changed_input_does_both(played: dict[str, Played]) -> None:
    assert "changed-output" in played["both"].told
    assert "it-was-changed" in played["both"].told


def test_an_empty_answer_lets_the_call_run_as_its_mode_says(played: dict[str, Played]) -> None:
    assert played["empty"].files == {"ran.txt"}
    assert "the-output" in played["empty"].told


def test_unknown_events_and_a_day_of_patience_are_accepted(played: dict[str, Played]) -> None:
    assert played["empty"].files == {"ran.txt"}, "the session that was asked for both reviews and runs calls"
    assert [event_of(request) for request in played["empty"].asked] == ["PreToolUse", "PostToolUse"]


def test_an_error_answer_lets_the_call_run(played: dict[str, Played]) -> None:
    """The CLI fails open here: a reviewer that raises must be answered with a denial, never with an error."""
    assert played["error"].files == {"ran.txt"}


def test_an_answer_written_twice_or_to_nobody_is_passed_over(played: dict[str, Played]) -> None:
    assert played["twice"].files == {"ran.txt"}


def test_a_failed_call_is_told_by_its_own_event(played: dict[str, Played]) -> None:
    turn = played["failed"]
    assert [event_of(request) for request in turn.asked] == ["PreToolUse", "PostToolUseFailure"]
    assert "oh-no" in turn.asked[1]["input"]["error"]
    assert "try-another-way" in turn.told


def test_parallel_calls_are_each_asked_for_and_a_failing_one_leaves_those_beside_it_alone(
    played: dict[str, Played],
) -> None:
    turn = played["beside"]
    first, second = turn.results.values()
    asked = [request["input"]["tool_use_id"] for request in turn.asked if event_of(request) == "PreToolUse"]
    assert asked == list(turn.results)
    assert (first.is_error, "finished" in second.text) == (True, True)


def test_a_call_that_the_cli_itself_refuses_is_never_asked_of_a_hook(played: dict[str, Played]) -> None:
    """So a call without a review is not one that ran: the CLI checks inputs before its hooks."""
    turn = played["refused"]
    assert [request for request in turn.asked if event_of(request) == "PreToolUse"] == []
    assert [result.is_error for result in turn.results.values()] == [True, True]
