"""A model that is asked whether an agent is stuck: the real CLI against the scripted model, and stand-ins that fail."""

from pathlib import Path

import anyio
import pytest

from monitors.patterns.model_judge import JudgeSettings
from supervisor.config.model import Agent
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.script import ModelScript, ScriptStep
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.service import run_daemon
from supervisor.runtime.services.judging import Ask, CliJudge, JudgeReply, Judging
from tests.stages.daemon import Base, ended, reached, served, until
from tests.stages.live import Live, bash, make_repository, setup
from tests.support import kill_tree

EAGER = JudgeSettings(enabled=True, first_after_steps=1, every_steps=1, most_questions=2)
ANSWER = '{"stuck": true, "confidence": 0.95, "sentence": "It sleeps and sleeps."}'
WAITS = "python3 -c 'import time; time.sleep(300)'"
ASKS_AND_WAITS = """
begin()
hook = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_1"}
request = {"subtype": "hook_callback", "callback_id": "pre", "input": hook}
say({"type": "control_request", "request_id": "call", "request": request})
while True:
    hear()
"""


def program(base: Base, text: str) -> Path:
    """A CLI that knows its version and does what the text says when it is asked."""
    base.cli(text, greeting="import sys, time\n")
    return base.command


def judge(base: Base, seconds: float = 60.0) -> CliJudge:
    settings = JudgeSettings(enabled=True, timeout_seconds=seconds)
    return CliJudge(settings, Agent(command=str(base.command)), base.setup().environ, base.root / "judge")


def judging_of(daemon: Daemon, ask: Ask) -> Judging:
    return Judging(daemon.board, daemon.journal, daemon.happened, Clock(), EAGER, ask)


@pytest.mark.real_cli
async def test_a_model_that_finds_an_agent_stuck_is_an_issue_like_any_other(tmp_path: Path) -> None:
    make_repository(tmp_path / "repo", {"README.md": "x\n"})
    script = ModelScript((ScriptStep((bash(WAITS),)),), side_text=ANSWER)
    async with ScriptedModel([script]) as model:
        started = setup(tmp_path, model.url)
        async with run_daemon(started) as daemon:
            stage = Live(daemon, model, tmp_path)
            try:
                await stage.submit("Wait for the build.")
                await stage.event(events.ReviewMade)
                ask = CliJudge(EAGER, started.config.agent, started.environ, tmp_path / "judge")
                await judging_of(daemon, ask).look()
                seen = await stage.event(events.IssueSeen, lambda event: event.issue.type == "judged_stuck")
                assert "It sleeps and sleeps." in seen.issue.sentence
                assert daemon.board.summary("a1").asked.questions == 1
                (asked,) = [call for call in model.requests if "You judge whether" in str(call.messages)]
                assert "1. Bash (ran): python3 -c" in str(asked.messages)
                assert asked.tools == ()
            finally:
                await stage.stop()
                kill_tree(0, tmp_path)


async def test_an_agent_is_asked_about_within_its_budget_and_only_once_more_is_done(base: Base) -> None:
    base.cli(ASKS_AND_WAITS)
    asked: list[str] = []

    async def ask(question: str) -> JudgeReply:
        asked.append(question)
        return JudgeReply(ANSWER, cost_usd=0.01)

    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(prompt="mend it"), by="test")
        await until(lambda: daemon.board.summary("a1").reviews == {"allow": 1})
        await reached(daemon, AgentState.RUNNING)
        judging = judging_of(daemon, ask)
        await judging.look()
        await judging.look()
        assert len(asked) == 1
        assert "mend it" in asked[0]
        known = daemon.board.summary("a1")
        assert (known.asked.questions, known.asked.cost_usd, known.issues) == (1, 0.01, {"judged_stuck": 1})


async def test_a_question_that_fails_is_noted_and_raises_nothing(base: Base) -> None:
    base.cli(ASKS_AND_WAITS)

    async def ask(question: str) -> JudgeReply:
        return JudgeReply("I cannot say.")

    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await until(lambda: daemon.board.summary("a1").reviews == {"allow": 1})
        await judging_of(daemon, ask).look()
        assert daemon.board.summary("a1").issues == {}
    (answered,) = base.events(events.JudgeAnswered)
    assert "I cannot say." in answered.problem
    assert answered.stuck is None


async def test_by_default_nobody_is_asked(base: Base) -> None:
    base.plan(*["echo again"] * 4)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
    assert base.events(events.JudgeAnswered) == []


async def test_an_answer_that_takes_too_long_is_given_up(base: Base) -> None:
    program(base, "time.sleep(600)")
    assert "no answer within 0.2 s" in (await judge(base, seconds=0.2)("Is it stuck?")).error


async def test_a_question_that_is_given_up_leaves_no_process(base: Base) -> None:
    program(
        base, 'import os\nopen("pid.new", "w").write(str(os.getpid()))\nos.rename("pid.new", "pid")\ntime.sleep(600)'
    )
    noted = base.root / "judge" / "pid"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(judge(base), "Is it stuck?")
        await until(noted.exists)
        tasks.cancel_scope.cancel()
    await until(lambda: not Path("/proc", noted.read_text()).exists())


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        (
            """print('{"result": "' + sys.stdin.read() + '", "total_cost_usd": 0.25}')""",
            JudgeReply("Is it stuck?", 0.25),
        ),
        ("""print('{"result": "no credit", "is_error": true}')""", JudgeReply(error="the CLI says: no credit")),
        ("print('oops')", JudgeReply(error="the CLI printed no result: b'oops\\n'")),
        ("print('[1]')", JudgeReply(error="the CLI printed no result: b'[1]\\n'")),
    ],
)
async def test_what_the_cli_prints_is_read(base: Base, says: str, expected: JudgeReply) -> None:
    program(base, says)
    assert await judge(base)("Is it stuck?") == expected


async def test_a_cli_that_is_not_there_is_told(base: Base) -> None:
    base.command.unlink()
    assert "could not be run" in (await judge(base)("Is it stuck?")).error
