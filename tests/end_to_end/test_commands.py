"""The command line as people and scripts use it, with the real CLI."""

import json
import os
import pty
import re
import select
import signal
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import anyio.to_thread
import pytest

from supervisor.protocol.words import AgentState
from supervisor.rehearsal.scenario import shipped
from supervisor.runtime.journal.lock import take_state_directory
from tests.end_to_end.conftest import Stage
from tests.stages import forked
from tests.stages.daemon import ended, reached, served, until
from tests.support import names_in, processes_in

pytestmark = pytest.mark.real_cli

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


async def chaperon(stage: Stage, *arguments: str) -> subprocess.CompletedProcess[str]:
    return await anyio.to_thread.run_sync(lambda: stage.chaperon(*arguments))


async def test_run_in_a_pipe_serves_itself_prints_plain_lines_and_ends_well(stage: Stage) -> None:
    stage.bash("touch made")
    async with stage.playing():
        done = await chaperon(stage, "run", "make it", "--repo", str(stage.repo))
    assert done.returncode == 0, done.stderr
    assert "allow    Bash touch made" in done.stdout
    assert not COLOUR.search(done.stdout)
    assert (stage.repo / "made").exists()
    assert stage.nobody_is_left()
    assert not stage.base.places.socket.exists()


async def test_a_run_with_a_check_goes_on_in_another_agent_until_the_check_passes_and_serves_itself_for_so_long(
    stage: Stage,
) -> None:
    stage.bash("echo bad > work")
    stage.say("done")
    stage.bash("echo good > work")
    stage.say("now it is")
    async with stage.playing():
        done = await chaperon(stage, "run", "make it", "--verify", "grep -q good work")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^(?:[\d:]+ +)?check +(.*)$", done.stdout, re.MULTILINE) == [
        "`grep -q good work` failed with exit code 1", "`grep -q good work` passed",
    ]  # fmt: skip
    assert "a1-001: done" in done.stdout
    assert stage.nobody_is_left()


async def test_a_run_whose_check_never_passes_exits_with_1_and_says_so(stage: Stage) -> None:
    stage.say("done")
    async with stage.playing():
        stage.base.environ["CHAPERON_VERIFY__ROUNDS"] = "0"
        done = await chaperon(stage, "run", "make it", "--verify", "false")
    assert done.returncode == 1
    assert "is failed: the check `false` failed with exit code 1" in done.stderr


async def test_a_run_follows_the_agent_that_resolves_its_conflict_to_the_end_of_that_one(stage: Stage) -> None:
    repo, go = stage.repo, stage.base.root / "go"
    commit = "git add -A && git -c user.name=A -c user.email=a@x commit -qm work"
    stage.bash(f"until [ -e {go} ]; do sleep 0.05; done; echo agent > work.txt; {commit}")
    stage.say("done")
    stage.bash(f"git merge -q main || true; echo both > work.txt; {commit}")
    stage.say("resolved")
    stage.base.config["merge"] = "auto"
    here = ["git", "-C", str(repo)]
    await anyio.run_process([*here, "branch", "-M", "main"])
    async with stage.playing(), served(stage.base) as (daemon, _):
        process = stage.start("run", "make it", "--workspace", "new")
        try:
            await until(lambda: any(summary.calls for summary in daemon.board.summaries()))
            (repo / "work.txt").write_text("person\n")
            for words in (["add", "-A"], ["commit", "-qm", "person"], ["checkout", "-q", "--detach"]):
                await anyio.run_process([*here, *words])
            go.touch()
            out, err = await anyio.to_thread.run_sync(lambda: process.communicate(timeout=50))
        finally:
            process.kill()
            process.wait()
        second = daemon.board.summary("a2")
    shown = await anyio.run_process([*here, "show", "main:work.txt"])
    assert shown.stdout == b"both\n"
    assert f"chaperon: Agent a2 goes on in {second.workspace}: an agent resolves it: " in err
    assert (process.returncode, second.state) == (0, AgentState.DONE), err
    assert out.count("chaperon diff a2") == 1, "it ends with the summary of the second one alone"
    assert "chaperon diff a1" not in out


async def test_run_as_json_prints_the_journals_lines(stage: Stage) -> None:
    async with stage.playing():
        done = await chaperon(stage, "run", "hello", "--json")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert (records[0]["kind"], records[-1]["after"]) == ("task_submitted", "done")


async def test_a_run_whose_turn_fails_exits_with_1(stage: Stage) -> None:
    stage.base.cli("begin()\ndone(is_error=True, result='API Error: 401')\nhear()")
    stage.cli = stage.base.command
    async with stage.playing():
        done = await chaperon(stage, "run", "hello")
    assert done.returncode == 1
    assert "failed" in done.stdout


async def test_run_with_a_daemon_lets_it_do_the_work_and_data_has_the_contracts_fields(stage: Stage) -> None:
    stage.bash("touch made")
    async with stage.playing(), served(stage.base) as (daemon, _):
        done = await chaperon(stage, "run", "make it")
        assert done.returncode == 0, done.stderr
        assert daemon.board.summary("a1").state == "done"
        shown = json.loads((await chaperon(stage, "show", "a1", "--json")).stdout)
        assert shown.keys() >= {"agent", "state", "task", "workspace", "session_id"}
        assert (shown["agent"], shown["state"], shown["task"]) == ("a1", "done", "make it")
        (listed,) = json.loads((await chaperon(stage, "ps", "--json")).stdout)
        assert listed == shown
        assert "a1" in (await chaperon(stage, "ps")).stdout
        assert (await chaperon(stage, "show", "nobody")).returncode == 1
        (undo,) = [line.split()[1:] for line in done.stdout.splitlines() if line.split()[:1] == ["undo"]]
        assert (stage.base.repo / "made").exists()
        undone = await chaperon(stage, *undo[1:], "--yes")
        assert undone.returncode == 0, undone.stderr
        assert not (stage.base.repo / "made").exists()
        assert (await chaperon(stage, "run", " ")).returncode == 2
        detached = await chaperon(stage, "run", "again", "--detach")
        assert detached.stdout == "a2\n"
        await ended(daemon, "a2")


def on_a_terminal(stage: Stage, presses: int) -> tuple[int, str]:
    """`chaperon run` under a pseudo-terminal on which Ctrl+C is pressed once a tool call runs; its exit code and output."""
    ours, theirs = pty.openpty()
    process = stage.start("run", "sleep", stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    shown, pressed = "", 0
    try:
        while data := read(ours):
            shown += data
            running = "sleep" in names_in(stage.repo)
            if (
                pressed < presses
                and ("allow" in shown if not pressed else "Ctrl+C again" in shown)
                and (pressed or running)
            ):
                os.write(ours, b"\x03")
                pressed += 1
        return process.wait(20), shown
    finally:
        os.close(ours)
        process.kill()
        process.wait()


def read(terminal: int) -> str:
    """What was printed, waiting shortly for it; nothing once the other side has closed."""
    if not select.select([terminal], [], [], 0.05)[0]:
        return "\0"
    try:
        return os.read(terminal, 65536).decode(errors="replace")
    except OSError:
        return ""


@pytest.mark.parametrize("presses", [1, 2])
async def test_ctrl_c_stops_the_agent_in_order_and_twice_at_once(stage: Stage, presses: int) -> None:
    # A tool that ignores being asked, so that the second time has something to hurry.
    stage.bash("trap '' INT TERM; sleep 300 & sleep 300; sleep 300")
    async with stage.playing():
        stage.base.environ["CHAPERON_STOP__INTERRUPT_SECONDS"] = "1" if presses == 1 else "20"
        code, shown = await anyio.to_thread.run_sync(on_a_terminal, stage, presses)
    assert code == 1
    assert COLOUR.search(shown), "a terminal is coloured"
    assert "in order; Ctrl+C again ends it at once" in shown
    assert ("stopping agent a1 at once" in shown) == (presses == 2)
    assert "stopped" in COLOUR.sub("", shown)
    assert stage.nobody_is_left()


async def test_ctrl_c_while_a_workspace_is_set_up_ends_that_and_leaves_nothing(stage: Stage) -> None:
    program, begun, folder = (stage.base.root / name for name in ("set-up", "begun", "workspaces"))
    program.write_text(f"#!/bin/sh\ntouch half-made {begun}\nsleep 600\n")
    program.chmod(0o755)
    async with stage.playing():
        about = {"SET_UP": program, "FOLDER": folder}
        stage.base.environ |= {f"CHAPERON_WORKSPACES__{name}": str(path) for name, path in about.items()}
        process = stage.start("run", "go", "--workspace", "new")
        try:
            await until(begun.exists)
            process.send_signal(signal.SIGINT)
            _, told = await anyio.to_thread.run_sync(lambda: process.communicate(timeout=50))
        finally:
            process.kill()
    assert process.returncode == 130, told
    assert "given up before an agent was started" in told
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    assert processes_in(folder) == []


async def test_a_run_whose_reader_goes_away_leaves_no_agent(stage: Stage) -> None:
    stage.bash("tail -f /dev/null")
    async with stage.playing():
        process = stage.start("run", "sleep")
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            with anyio.fail_after(50):
                while "tail" not in names_in(stage.repo):  # by then all is printed: no write meets the closed pipe
                    await anyio.sleep(0.02)
            process.stdout.close()
            await anyio.to_thread.run_sync(lambda: process.wait(50))
        finally:
            process.kill()
            process.stderr.close()
    assert stage.nobody_is_left()


async def test_without_a_daemon_commands_exit_with_3_and_say_how_to_start_one(stage: Stage) -> None:
    async with stage.playing():
        for arguments in (["ps"], ["show", "a1"], ["tail"], ["run", "x", "--detach"]):
            done = await chaperon(stage, *arguments)
            assert done.returncode == 3, (arguments, done.stderr)
            assert "chaperon serve" in done.stderr


async def test_a_second_daemon_exits_with_75_and_names_the_first(stage: Stage) -> None:
    async with stage.playing():
        stage.base.places.state.mkdir(parents=True, mode=0o700)
        with await anyio.to_thread.run_sync(take_state_directory, stage.base.places.state):
            done = await chaperon(stage, "serve")
    assert done.returncode == 75, done.stderr
    assert f"in use by the daemon with pid {os.getpid()}" in done.stderr


async def test_wrong_usage_and_a_wrong_configuration_exit_with_2_and_name_the_place(stage: Stage) -> None:
    async with stage.playing():
        assert (await chaperon(stage, "no-such-command")).returncode == 2
        (stage.base.root / "wrong.yaml").write_text("revewer:\n  enabled: true\n")
        for command in (["serve"], ["run", "x"]):
            done = await chaperon(stage, "--config", str(stage.base.root / "wrong.yaml"), *command)
            assert done.returncode == 2, done.stderr
            assert "wrong.yaml:1:1" in done.stderr
            assert "reviewer" in done.stderr
        for words, says in (([""], "The prompt is empty"), (["x", "--repo", "/"], "'/' is not in a git worktree")):
            done = await chaperon(stage, "run", *words)
            assert (done.returncode, says in done.stderr) == (2, True), done.stderr
    assert not stage.base.places.state.exists()


async def test_people_steer_an_agent_by_commands(stage: Stage) -> None:
    stage.bash("until [ -e go ]; do read -t 0.1; done; echo slept")
    stage.bash("touch made")
    async with stage.playing() as model, served(stage.base) as (daemon, _):
        await daemon.submit(stage.base.submission(), by="test")
        await model.wait_for_step(0)
        assert (await chaperon(stage, "say", "a1", "mind", "the", "gap")).returncode == 0
        assert "a1 is paused" in (await chaperon(stage, "pause", "a1")).stdout
        refused = await chaperon(stage, "pause", "a1")
        assert (refused.returncode, "cannot be paused" in refused.stderr) == (1, True)
        assert "a1 is running" in (await chaperon(stage, "resume", "a1")).stdout
        (stage.repo / "go").touch()
        await ended(daemon)
        told = (await chaperon(stage, "tail", "--agent", "a1")).stdout
    assert "mind the gap" in stage.told()
    assert "say      by" in told


async def test_serve_is_a_daemon_that_ends_in_order_and_leaves_agents_to_the_next(stage: Stage) -> None:
    stage.bash("touch made", first_byte_seconds=1.5)
    async with stage.playing():
        process = stage.start("serve", stdout=None, stderr=None)
        try:
            await until(stage.base.places.socket.exists)
            assert (await chaperon(stage, "run", "x", "--detach")).returncode == 0
            await until(lambda: "agent_launched" in stage.base.kinds())
        finally:
            process.terminate()
            code = await anyio.to_thread.run_sync(lambda: process.wait(20))
        assert code == 0
        assert stage.base.kinds()[-1] == "daemon_stopped"
        async with served(stage.base) as (daemon, _):
            await ended(daemon)
    assert (stage.repo / "made").exists()


async def test_a_run_whose_daemon_is_killed_says_how_to_go_on(stage: Stage) -> None:
    stage.bash("until [ -e go ]; do sleep 0.1; done")
    async with stage.playing():
        daemon = stage.start("serve", stdout=None, stderr=None)
        try:
            await until(stage.base.places.socket.exists)
            run = stage.start("run", "x", program="tests.stages.hurried_run")
            await until(lambda: "review_made" in stage.base.kinds())
        finally:
            daemon.kill()
            daemon.wait()
        _, told = await anyio.to_thread.run_sync(lambda: run.communicate(timeout=50))
        assert run.returncode == 3
        assert "Agent a1 lives on" in told
        (stage.repo / "go").touch()
        async with served(stage.base) as (again, _):
            await ended(again)
    assert again.board.summary("a1").state == "done"


async def test_an_agent_that_a_killed_run_left_is_named_by_the_next_run(stage: Stage) -> None:
    stage.base.cli('begin()\nwhile not os.path.exists("go"):\n    time.sleep(0.05)\ndone()\nhear()')
    stage.cli = stage.base.command
    async with stage.playing():
        killed = stage.start("run", "first", stdout=None, stderr=None)
        await until(lambda: ("state_changed", "running") in [(one["kind"], one.get("after")) for one in journal(stage)])
        killed.kill()
        killed.wait()
        second = stage.start("run", "second")
        try:
            assert second.stderr is not None
            assert "No daemon is running" in await anyio.to_thread.run_sync(second.stderr.readline)
            told = await anyio.to_thread.run_sync(second.stderr.readline)
            (stage.repo / "go").touch()
            _, rest = await anyio.to_thread.run_sync(lambda: second.communicate(timeout=50))
        finally:
            second.kill()
    assert second.returncode == 0, rest
    assert f"Agent a1 of an earlier run is still alive (running, in {stage.repo})" in told
    assert "chaperon stop a1" in told
    async with served(stage.base) as (daemon, _):
        await ended(daemon)


def journal(stage: Stage) -> list[dict[str, Any]]:
    files = sorted(stage.base.places.journal.glob("*.jsonl"))
    lines = [line for file in files for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return [json.loads(line) for line in lines if '"kind"' in line]


def subprocess_of_its_own(*arguments: str, home: Path, cli: Path) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "CHAPERON_AGENT__COMMAND": str(cli)}
    return forked.run("supervisor.cli", *arguments, seconds=100, environ=environ)


@pytest.mark.timeout(300)
def test_the_demo_ends_well_and_leaves_nothing(real_claude: Path) -> None:
    """Its HOME is below this repository: in /tmp the reviewer takes every file for one to be thrown away."""
    with TemporaryDirectory(dir=Path(__file__).parent, prefix=".home-") as home:
        the_demo(Path(home), real_claude)


def the_demo(home: Path, cli: Path) -> None:
    done = subprocess_of_its_own("demo", home=home, cli=cli)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "everything as expected" in done.stdout
    assert list((home / ".local/share" / "chaperon").iterdir()) == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", sorted(set(shipped()) - {"demo"}))
def test_a_shipped_scenario_passes_as_a_command(name: str, tmp_path: Path, real_claude: Path) -> None:
    done = subprocess_of_its_own("rehearse", name, "--json", home=tmp_path, cli=real_claude)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["passed"] is True
    assert {each["id"]: each["decision"] for each in told["steps"]} == told["decisions"]
    assert all(each["step"] and each["call"] >= 1 for each in told["steps"])


async def test_nothing_of_the_run_is_in_the_users_home(stage: Stage, tmp_path: Path) -> None:
    stage.bash("touch made")
    async with stage.playing(), served(stage.base) as (daemon, _):
        await daemon.submit(stage.base.submission(), by="test")
        await reached(daemon, daemon.board.summary("a1").state)
        await ended(daemon)
    assert list((tmp_path / "home").iterdir()) == []
