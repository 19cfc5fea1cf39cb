"""A person's own Claude in a terminal: what reaches it, what its person sees, and how it ends."""

import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.model_requests import all_that_the_model_was_told
from supervisor.rehearsal.script import Say, ScriptStep, ToolUse
from supervisor.runtime.attached import link
from tests.stages import forked
from tests.stages.attached import Attached, attached
from tests.stages.daemon import until
from tests.stages.hook_crowd import wait_for
from tests.stages.house import ease, throttle
from tests.stages.live import Live, bash
from tests.stages.terminal import TMUX, Terminal, terminal
from tests.support import names_in, real_claude_path

pytestmark = [
    pytest.mark.real_cli,
    pytest.mark.skipif(TMUX is None, reason="tmux is not installed"),
    pytest.mark.timeout(300),
]

MODE = ("--permission-mode", "bypassPermissions")


@asynccontextmanager
async def in_a_terminal(
    base: Path, *steps: Say | ToolUse | ScriptStep, policy: Mapping[str, Any] | None = None
) -> AsyncIterator[tuple[Attached, Terminal]]:
    """A daemon, and a person's CLI at its prompt in an attached repository."""
    async with attached(base, *steps, policy=policy) as stage, anyio.create_task_group() as tasks:
        tasks.start_soon(stage.serve)
        await stage.serving.wait()
        async with terminal(stage.repo, stage.own_environ) as window:
            await window.starts_claude(*MODE)
            yield stage, window
        tasks.cancel_scope.cancel()


def held_until(path: str) -> ToolUse:
    """A call that goes on for as long as this file is not there."""
    return bash(f"while ! test -e {path}; do sleep 0.05; done")


async def asked(live: Live, words: str) -> None:
    """Wait until the CLI asks for a call with these words."""
    await live.event(events.LineReceived, lambda event: "PreToolUse" in str(event.frame) and words in str(event.frame))


async def reviewed(live: Live, words: str) -> None:
    await live.event(events.ReviewMade, lambda event: words in str(event.action.input))


async def pause(live: Live) -> None:
    await live.daemon.request(events.PauseRequested(**live.daemon.stamp("a1"), by="ann", reason="lunch"))


async def resume(live: Live) -> None:
    await live.daemon.request(events.ResumeRequested(**live.daemon.stamp("a1"), by="ann"))


async def test_a_call_in_a_terminal_is_held_changed_or_blocked_and_what_is_said_reaches_model_and_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "home/notes"
    steps = (
        held_until("../one"),
        bash("git push --force origin main"),
        held_until("../two"),
        bash(f"rm -rf {outside}"),
        Say("I end here."),
        Say("As you say."),
    )
    monkeypatch.setattr(link, "SAID_FROM_SECONDS", 0.0)
    async with in_a_terminal(tmp_path, *steps) as (stage, window):
        outside.mkdir(parents=True)
        await window.types("Publish it.")
        live = stage.live
        await reviewed(live, "../one")

        await pause(live)
        (tmp_path / "one").touch()
        await asked(live, "push")
        assert live.daemon.board.summary("a1").reviews == {"allow": 1}
        await live.say("Look at the tests first.")
        await resume(live)
        await window.shows("Chaperon changed this call")
        await window.shows("Chaperon to the model: Look at the tests first.")
        await window.shows("s (paused by ann: lunch).")

        await reviewed(live, "../two")
        await pause(live)
        (tmp_path / "two").touch()
        await asked(live, "rm -rf")
        await live.say("And write it down.")
        await resume(live)
        await window.shows("Chaperon to the model: And write it down.")
        await window.shows("As you say.")
        about = live.daemon.board.summary("a1")
        device = await window.device()
    assert outside.exists()
    assert (about.origin, about.terminal, about.task.prompt) == ("terminal", device, "Publish it.")
    assert about.reviews == {"allow": 2, "modify": 1, "block": 1}
    told = all_that_the_model_was_told(stage.model.conversation()[-1])
    for text in ("--force-with-lease", "Look at the tests first.", "outside", "And write it down."):
        assert text in told


async def test_a_throttled_agents_next_call_waits_in_the_terminal_until_the_limits_ease(tmp_path: Path) -> None:
    steps = bash("echo one > one.txt"), Say("First done."), bash("echo two > two.txt"), Say("Second done.")
    async with in_a_terminal(tmp_path, *steps) as (stage, window):
        await window.types("Begin.")
        await window.shows("First done.")
        throttle(stage.live.daemon, calls_per_minute=1, effort="low", model="small")
        await window.types("Go on.")
        await asked(stage.live, "two.txt")
        assert not (stage.repo / "two.txt").exists()
        ease(stage.live.daemon)
        screen = await window.shows("Second done.")
    assert (stage.repo / "two.txt").exists()
    assert "which only you can: /effort low" in screen
    assert "which only you can: /model small" in screen


async def test_a_rollback_brings_the_files_back_and_shows_the_person_how_to_set_the_conversation_back(
    tmp_path: Path,
) -> None:
    steps = (
        bash("echo good > kept.txt"),
        Say("First done."),
        bash("echo bad > kept.txt; echo more > new.txt"),
        Say("Second done."),
        Say("I look again."),
        Say("From before."),
    )
    async with in_a_terminal(tmp_path, *steps) as (stage, window):
        await window.types("Begin well.")
        await window.shows("First done.")
        made = await stage.live.event(events.CheckpointMade, lambda event: event.reason == "turn")
        await window.types("Now badly.")
        await window.shows("Second done.")
        await until(lambda: stage.live.daemon.board.summary("a1").state is AgentState.IDLE)
        done = await anyio.to_thread.run_sync(lambda: stage.chaperon("rollback", made.name, "--agent", "a1", "--yes"))
        assert done.returncode == 0, done.stderr
        assert (stage.repo / "kept.txt").read_text() == "good\n"
        assert not (stage.repo / "new.txt").exists()

        await window.types("What is there?")
        await window.shows(f"Chaperon set the files back to checkpoint {made.name}")
        await window.shows("type /rewind")
        await window.shows("I look again.")
        told = all_that_the_model_was_told(stage.model.conversation()[-1])
        assert "The files were set back" in told

        await window.types("/rewind")
        await window.shows("(current)")
        await window.presses("Up", "Up")
        await window.shows("❯ Now badly.")  # noqa: RUF001 - the CLI's own mark
        await window.presses("Enter")
        await window.shows("1. Restore conversation")
        await window.presses("Enter")
    assert "Now badly." in told


async def test_a_session_that_is_compacted_goes_on_as_the_same_agent_with_nothing_counted_twice(tmp_path: Path) -> None:
    more = (Say(f"Reply {number}.") for number in range(8))
    async with in_a_terminal(tmp_path, bash("echo one > one.txt"), Say("First done."), *more) as (stage, window):

        def about() -> Summary:
            return stage.live.daemon.board.summary("a1")

        await window.types("Begin.")
        await window.shows("First done.")
        await until(lambda: about().state is AgentState.IDLE)
        await window.types("/compact")
        await stage.live.event(events.LineReceived, lambda event: "PreCompact" in str(event.frame))
        await window.shows("Compacted")
        before = about().cost_usd or 0.0
        await window.types("Go on.")
        await until(lambda: about().turns == 2)
        await window.types("And on.")  # a reply is read with the hook that follows upon it
        await until(lambda: about().turns == 3)
        [agent] = stage.live.daemon.board.summaries()
        frames = [event.frame for event in await stage.live.events(events.LineReceived) if event.frame]
    replies = [frame["message"]["id"] for frame in frames if frame["type"] == "assistant"]
    assert len(replies) == len(set(replies)), "lines from before were read again"
    assert agent.reviews == {"allow": 1}
    assert agent.cost_usd
    assert agent.cost_usd > before


async def test_an_emergency_stop_ends_the_process_tree_and_tells_the_terminal(tmp_path: Path) -> None:
    steps = (
        bash("(sleep 1000 &); touch begun.txt"),
        ToolUse("Write", {"file_path": str(tmp_path / "state/snapshot.json"), "content": "x"}),
        Say("Never."),
    )
    async with in_a_terminal(tmp_path, *steps) as (stage, window):
        await window.types("Begin.")
        await stage.live.state(AgentState.STOPPED)
        screen = await window.shows("chaperon stopped this agent, a1:")
        ended = await stage.live.events(events.TreeEnded)
        incidents = await stage.live.events(events.InterventionChosen)
        await until(lambda: not {"sleep", "claude"} & set(names_in(stage.repo)))
    assert [one.intervention.kind for one in incidents] == ["emergency_stop"]
    assert [event.left for event in ended] == [0]
    assert "claude --resume" in screen.partition("chaperon stopped this agent")[2]
    assert "Never." not in screen


async def test_with_the_daemon_killed_a_call_in_a_terminal_waits_then_is_denied_and_never_let_through(
    tmp_path: Path,
) -> None:
    waits = bash("touch ../begun; while ! test -e ../one; do sleep 0.05; done")
    steps = waits, bash("echo two > two.txt"), Say("I end here.")
    async with attached(tmp_path, *steps, arguments=("--local", "--wait", "3")) as stage:
        with forked.Program(
            ["supervisor.cli", "serve"], cwd=stage.base, env=stage.environ, stdout=subprocess.DEVNULL
        ) as daemon:
            try:
                await anyio.to_thread.run_sync(wait_for, tmp_path / "run/hooks.sock")
                async with terminal(stage.repo, stage.own_environ) as window:
                    await window.starts_claude(*MODE)
                    await window.types("Begin.")
                    await until((tmp_path / "begun").exists)
                    daemon.send_signal(signal.SIGKILL)
                    daemon.wait()
                    (tmp_path / "one").touch()
                    await window.shows("I end here.")
                    told = all_that_the_model_was_told(stage.model.conversation()[-1])
            finally:
                daemon.kill()
    assert not (stage.repo / "two.txt").exists()
    assert "daemon of chaperon was away for 3 s" in told


async def test_one_journal_tells_of_agents_of_three_origins_in_one_repository(tmp_path: Path) -> None:
    steps = (
        bash("touch launched.txt"),
        Say("First done."),
        bash("touch attached.txt"),
        Say("Second done."),
        bash("touch program.txt"),
        Say("Third done."),
    )
    async with in_a_terminal(tmp_path, *steps) as (stage, window):
        live = stage.live
        await live.submit("Launched work.")
        await live.state(AgentState.DONE)
        await window.types("Work in a terminal.")
        await window.shows("Second done.")
        done = await anyio.to_thread.run_sync(lambda: stage.chaperon("exec", "--", *stage.claude()))
        await until(lambda: [one.state for one in live.daemon.board.summaries()].count(AgentState.DONE) == 2)
        agents = list(live.daemon.board.summaries())
        reviews = await live.events(events.ReviewMade)
    assert done.stdout == "Third done.\n"
    assert {(one.origin, one.task.prompt) for one in agents} == {
        ("", "Launched work."),
        ("terminal", "Work in a terminal."),
        ("sdk", "Go."),
    }
    assert {one.workspace for one in agents} == {str(stage.repo)}
    names = {one.origin: one.agent for one in agents}
    assert [(one.agent, one.action.input["command"]) for one in reviews] == [
        (names[""], "touch launched.txt"),
        (names["terminal"], "touch attached.txt"),
        (names["sdk"], "touch program.txt"),
    ]
    assert {path.name for path in stage.repo.glob("*.txt")} == {"launched.txt", "attached.txt", "program.txt"}


async def test_a_claude_that_chaperon_stands_in_for_has_terminal_keys_and_exit_code_of_its_own(tmp_path: Path) -> None:
    link = tmp_path / "bin/claude"
    link.parent.mkdir()
    link.symlink_to(Path(sys.executable).with_name("chaperon"))
    async with (
        attached(tmp_path, bash("touch one.txt"), Say("I end here.")) as stage,
        anyio.create_task_group() as tasks,
    ):
        await anyio.to_thread.run_sync(lambda: stage.chaperon("detach"))
        tasks.start_soon(stage.serve)
        await stage.serving.wait()
        environ = {**stage.environ, "PATH": f"{link.parent}:{real_claude_path().parent}:{stage.environ['PATH']}"}
        async with terminal(stage.repo, environ) as window:
            await window.starts_claude(*MODE, command="claude")
            await window.types("Begin.")
            await window.shows("I end here.")
            assert stage.live.daemon.board.summary("a1").terminal == await window.device()
            await window.types("/exit")
            await stage.live.state(AgentState.DONE)
            await window.types("echo code=$?.")
            await window.shows("code=0.")
        tasks.cancel_scope.cancel()
    assert (stage.repo / "one.txt").exists()
