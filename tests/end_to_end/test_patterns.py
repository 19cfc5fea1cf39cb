"""The real CLI plays a script in which a pattern shows, and the transcript that it wrote raises just that pattern."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from monitors.contract.issues import Issue
from monitors.contract.tasks import Limits, Task
from monitors.detectors import DetectorSettings, make_detectors
from monitors.review import make_reviewer
from supervisor.config.model import Config
from supervisor.core.replay.journal_replay import rerun
from supervisor.core.replay.transcript_replay import Replay, replay
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.script import ModelScript, Say, ScriptStep, ScriptTokens, ToolUse
from supervisor.runtime.assembly.detectors import MakeDetectors
from supervisor.runtime.journal.reader import read_records
from tests.stages.live import live, make_repository
from tests.support import cli_environment, kill_tree, real_claude_path

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(240)]

PROMPT = "Mend the login form: a wrong password shows a message, and the session token expires."


def bash(*commands: str) -> ScriptStep:
    """One reply that asks for these commands."""
    return ScriptStep(
        tuple(
            ToolUse("Bash", {"command": command, "description": f"step {number}"})
            for number, command in enumerate(commands)
        )
    )


def fails(text: str) -> str:
    return f"echo {text!r} >&2; exit 1"


def spread(commands: list[str]) -> list[ScriptStep]:
    """Ten commands a reply."""
    return [bash(*commands[start : start + 10]) for start in range(0, len(commands), 10)]


def reads(paths: list[str]) -> list[ScriptStep]:
    uses = [ToolUse("Read", {"file_path": path}) for path in paths]
    return [ScriptStep(tuple(uses[start : start + 10])) for start in range(0, len(uses), 10)]


Steps = Callable[[Path], list[ScriptStep]]

SCRIPTS: dict[str, Steps] = {
    "repetitive_errors": lambda _: [bash(f"cat missing_{n}.txt") for n in range(3)],
    "repetition": lambda _: [bash("ls -a")] * 3,
    "no_progress": lambda _: [bash(f"date +%N; echo {n % 2}") for n in range(12)],
    "text_loop": lambda _: [ScriptStep((Say("I will try it once more. " * 80),))],
    "scope_creep": lambda w: [ScriptStep((ToolUse("Write", {"file_path": f"{w}/lib/{n}.py", "content": "x"}),)) for n in range(3)],
    "resource_spiral": lambda _: [ScriptStep((ToolUse("Bash", {"command": f"echo {n}"}),), tokens=ScriptTokens(input=30_000)) for n in range(4)],
    "goal_drift": lambda _: spread([*(f"echo login password {n}" for n in range(30)), *(f"echo invoice shipment {n}" for n in range(20))]),
    "exploration_wandering": lambda w: reads([f"{w}/d{n * 5 % 18}/f.py" for n in range(70)]),
    "hallucination": lambda _: [bash("frobnicate_x --all"), *(bash(f"python3 -m no_such_{n}") for n in "abc")],
    "blocked_on_human": lambda _: [bash(fails("sudo: a terminal is required to read the password")), bash(f"cd . && {fails('sudo: a password is required')}")],
    "test_tampering": lambda w: [
        ScriptStep((ToolUse("Write", {"file_path": f"{w}/tests/test_a.py", "content": "def test_a():\n    assert f()\n"}),)),
        bash("echo '1 failed, 3 passed in 0.10s'; exit 1"),
        ScriptStep((ToolUse("Edit", {"file_path": f"{w}/tests/test_a.py", "old_string": "def test_a", "new_string": "@pytest.mark.skip\ndef test_a"}),)),
    ],
}  # fmt: skip

SCRIPTS |= {
    "error_exploration_loop": lambda w: [*SCRIPTS["exploration_wandering"](w), *SCRIPTS["repetitive_errors"](w)],
    "confused_state": lambda w: [*SCRIPTS["scope_creep"](w), *SCRIPTS["hallucination"](w)],
    "runaway_execution": lambda _: [
        replace(step, tokens=ScriptTokens(input=30_000)) for step in [bash("echo again")] * 4
    ],
}

TASKS: dict[str, dict[str, Any]] = {
    "scope_creep": {"expected_paths": ("src/**",)},
    "confused_state": {"expected_paths": ("src/**",)},
    "resource_spiral": {"limits": Limits(max_token_usage=100_000)},
    "runaway_execution": {"limits": Limits(max_token_usage=100_000)},
}


async def played(steps: list[ScriptStep], tmp_path: Path) -> tuple[Path, list[bytes], list[bytes]]:
    """Run the CLI over the steps; the workspace, the transcript's lines and what was printed."""
    workspace, home = tmp_path / "shop", tmp_path / "home"
    for number in range(18):
        (workspace / f"d{number}").mkdir(parents=True)
        (workspace / f"d{number}" / "f.py").write_text(f"part = {number}\n")
    args = ["-p", PROMPT, "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions"]
    async with ScriptedModel(ModelScript(tuple(steps))) as model:
        environment = cli_environment(home, model.url)
        printed = await _output([str(real_claude_path()), *args], workspace, environment)
    [transcript] = (home / ".claude" / "projects").rglob("*.jsonl")
    return workspace, transcript.read_bytes().splitlines(), printed


async def _output(argv: list[str], workspace: Path, environment: dict[str, str]) -> list[bytes]:
    process = await anyio.open_process(
        argv, cwd=workspace, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        chunks = [chunk async for chunk in process.stdout]
        await process.wait()
    finally:
        kill_tree(process.pid, workspace)
    return b"".join(chunks).splitlines()


def raised(lines: list[bytes], task: Task) -> Replay:
    return replay(lines, None, make_detectors(DetectorSettings(), task))


def types(result: Replay) -> set[str]:
    return {seen.issue.type for seen in result.issues if not seen.issue.closed}


@pytest.mark.parametrize("pattern", SCRIPTS)
async def test_a_scripted_run_raises_its_pattern_from_the_transcript_and_from_the_wire(
    pattern: str, tmp_path: Path
) -> None:
    workspace, transcript, printed = await played(SCRIPTS[pattern](tmp_path / "shop"), tmp_path)
    task = Task("t", PROMPT, str(workspace), **TASKS.get(pattern, {}))
    from_transcript, from_wire = raised(transcript, task), raised(printed, task)
    assert pattern in types(from_transcript)
    assert types(from_transcript) == types(from_wire)
    assert from_transcript.damaged == from_wire.damaged == 0
    assert from_transcript.actions == from_wire.actions


async def test_a_healthy_run_of_sixty_steps_raises_nothing(tmp_path: Path) -> None:
    commands = [f"echo 'look at login part {n}'; wc -l d{n % 18}/f.py" for n in range(36)]
    written = [
        ScriptStep((ToolUse("Write", {"file_path": f"{tmp_path}/shop/src/login_{n}.py", "content": f"x = {n}\n"}),))
        for n in range(6)
    ]
    tested = bash("echo '7 passed in 0.11s'")
    steps = [*reads([f"{tmp_path}/shop/d{n}/f.py" for n in range(17)]), *spread(commands), *written, tested]
    workspace, transcript, _ = await played(steps, tmp_path)
    result = raised(transcript, Task("t", PROMPT, str(workspace)))
    assert result.actions == 60
    assert [seen.issue.sentence for seen in result.issues] == []


async def test_a_supervised_run_gives_the_same_issues_live_from_its_journal_and_from_the_shims_file(
    tmp_path: Path,
) -> None:
    steps = [bash("ls -a")] * 3 + [bash(f"cat missing_{n}.txt") for n in range(3)] + [Say("All tests pass. " * 60)]
    make_repository(tmp_path / "repo", {"README.md": "shop\n"})
    async with live(tmp_path, steps, {"audit": {"store": "full"}}) as stage:
        await stage.submit(PROMPT)
        await stage.state(AgentState.DONE)
        workspace = stage.daemon.board.summary("a1").workspace
    journal = [(record.n, record.event) for record in read_records(tmp_path / "state" / "journal")]
    seen = [event.issue for _, event in journal if isinstance(event, events.IssueSeen)]
    assert {issue.type for issue in seen} == {"repetition", "repetitive_errors", "text_loop"}

    make = MakeDetectors.of(Config())
    (run,) = rerun(journal, None, lambda one: make(one.task, one.workspace))  # type: ignore[arg-type]
    assert [_events_of(at.issue) for at in run.result.issues] == [_events_of(issue) for issue in seen]

    [printed] = (tmp_path / "state" / "agents").rglob("out*")
    lines = printed.read_bytes().splitlines()
    task = Task("t", PROMPT, workspace)
    from_shim = replay(lines, make_reviewer(), make(task))
    place = {
        number: line for line, number in enumerate((n for n, one in journal if isinstance(one, events.LineReceived)), 1)
    }
    assert from_shim.damaged == 0
    assert [(at.issue.type, at.issue.closed, at.at_event) for at in from_shim.issues] == [
        (at.issue.type, at.issue.closed, place[at.at_event]) for at in run.result.issues
    ]


def _events_of(issue: Issue) -> tuple[object, ...]:
    return issue.type, issue.key, issue.closed, issue.severity, issue.began, issue.evidence
