"""A real CLI that a person starts in an attached repository, with a daemon and without one."""

import json
import os
import signal
import sys
from pathlib import Path

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread
import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.script import Say
from supervisor.runtime.attached import relay_client
from supervisor.runtime.service import run_daemon
from tests.stages.attached import SECONDS, at_work, attached
from tests.stages.daemon import until
from tests.stages.live import Live, bash, setup
from tests.support import real_claude_path

pytestmark = pytest.mark.real_cli


async def test_a_persons_claude_in_an_attached_repository_is_denied_what_the_policy_denies(tmp_path: Path) -> None:
    outside = tmp_path / "home/notes"
    steps = bash("echo one > one.txt"), bash(f"rm -rf {outside}"), Say("done")
    async with attached(tmp_path, *steps) as stage:
        outside.mkdir(parents=True)
        async with run_daemon(setup(tmp_path, stage.model.url)) as daemon:
            live = Live(daemon, stage.model, tmp_path)
            said = await stage.run_claude()
            await live.state(AgentState.DONE)
            listed = await anyio.to_thread.run_sync(lambda: stage.chaperon("ps", "--json"))
            shown = await anyio.to_thread.run_sync(lambda: stage.chaperon("show", "a1"))
            made = await live.events(events.CheckpointMade)
    assert "done" in said
    assert [one.reason for one in made] == ["start", "turn"]
    assert "1 added: one.txt" in shown.stdout, "what its first call made is known as made by it"
    assert (stage.repo / "one.txt").exists()
    assert outside.exists()
    [agent] = json.loads(listed.stdout)
    assert agent["origin"] == "sdk"
    assert agent["state"] == "done"
    assert agent["task"] == "Go."
    assert agent["reviews"] == {"allow": 1, "block": 1}
    assert any("outside" in text for text in stage.told())


async def test_with_hooks_in_two_settings_files_a_call_is_reviewed_and_counted_once(tmp_path: Path) -> None:
    async with attached(tmp_path, bash("echo one > one.txt"), Say("done")) as stage:
        done = await anyio.to_thread.run_sync(lambda: stage.chaperon("attach", "--project"))
        assert "program" in done.stdout, "the two come by different ways"
        async with run_daemon(setup(tmp_path, stage.model.url)) as daemon:
            live = Live(daemon, stage.model, tmp_path)
            await stage.run_claude()
            await live.state(AgentState.DONE)
            [agent] = daemon.board.summaries()
            lines = [event.frame or {} for event in await live.events(events.LineReceived)]
    assert (agent.reviews, agent.turns) == ({"allow": 1}, 1)
    assert [line["type"] for line in lines].count("user") == 1, "the call comes back once"


async def test_nothing_runs_while_no_daemon_is_there(tmp_path: Path) -> None:
    steps = bash("echo one > one.txt"), Say("done")
    async with attached(tmp_path, *steps, arguments=("--project", "--wait", "1")) as stage:
        await stage.run_claude()
    assert not (stage.repo / "one.txt").exists()
    assert any("daemon of chaperon was away" in text for text in stage.told())


async def test_what_a_person_says_reaches_the_model_with_the_next_call(tmp_path: Path) -> None:
    async with at_work(tmp_path, bash("echo one"), bash("echo two"), Say("done")) as (stage, live, claude):
        await live.event(events.ReviewMade)
        await live.say("Look at the tests first.")
        await claude.wait()
        await live.state(AgentState.DONE)
    assert any("Look at the tests first." in json.dumps(request.messages) for request in stage.model.requests)


async def test_what_is_said_at_the_end_of_a_turn_keeps_the_turn_from_ending(tmp_path: Path) -> None:
    async with at_work(tmp_path, bash("echo one; sleep 1"), Say("done"), Say("as you say")) as (stage, live, claude):
        await live.event(events.ReviewMade)
        await live.say("And write it down.")
        await claude.wait()
    assert "And write it down." in json.dumps(stage.model.requests[-1].messages)


async def test_a_paused_agents_next_call_waits_and_a_resumed_one_runs(tmp_path: Path) -> None:
    steps = bash("echo one > one.txt"), bash("echo two > two.txt"), Say("done")
    async with at_work(tmp_path, *steps) as (stage, live, claude):
        await live.event(events.ReviewMade)
        await live.daemon.request(events.PauseRequested(**live.daemon.stamp("a1"), by="ann"))
        await live.event(
            events.LineReceived, lambda event: "two.txt" in str(event.frame) and "hook" in str(event.frame)
        )
        assert not (stage.repo / "two.txt").exists()
        await live.daemon.request(events.ResumeRequested(**live.daemon.stamp("a1"), by="ann"))
        await claude.wait()
    assert (stage.repo / "two.txt").exists()


async def test_a_stopped_agents_calls_are_refused_and_its_processes_end(tmp_path: Path) -> None:
    async with at_work(tmp_path, bash("tail -f /dev/null"), bash("echo two > two.txt"), Say("done")) as (
        stage,
        live,
        claude,
    ):
        await live.event(events.ReviewMade)
        await live.daemon.request(events.StopRequested(**live.daemon.stamp("a1"), by="ann", force=True))
        await live.state(AgentState.STOPPED)
        await claude.wait()
        ended = await live.events(events.TreeEnded)
    assert [event.left for event in ended] == [0]
    assert not (stage.repo / "two.txt").exists()


async def test_an_orderly_stop_ends_the_turn_at_the_next_call(tmp_path: Path) -> None:
    steps = bash("echo one"), bash("echo two > two.txt"), Say("done")
    async with at_work(tmp_path, *steps) as (stage, live, claude):
        await live.event(events.ReviewMade)
        await live.daemon.request(events.PauseRequested(**live.daemon.stamp("a1"), by="ann"))
        await live.event(
            events.LineReceived, lambda event: "two.txt" in str(event.frame) and "hook" in str(event.frame)
        )
        await live.daemon.request(events.StopRequested(**live.daemon.stamp("a1"), by="ann"))
        await live.state(AgentState.STOPPED)
        await claude.wait()
    assert not (stage.repo / "two.txt").exists()


async def test_a_call_that_waits_as_the_daemon_ends_is_answered_by_the_next_one_and_the_agent_goes_on(
    tmp_path: Path,
) -> None:
    steps = bash("echo one > one.txt"), bash("rm -rf ~/notes"), Say("done")
    (tmp_path / "home/notes").mkdir(parents=True)
    async with at_work(tmp_path, *steps) as (stage, live, claude):
        await live.event(events.ReviewMade)
        await live.daemon.request(events.PauseRequested(**live.daemon.stamp("a1"), by="ann"))
        await live.event(events.LineReceived, lambda event: "rm -rf" in str(event.frame) and "hook" in str(event.frame))
        await stage.restart()
        live = stage.live
        assert live.daemon.runners.adopted.reattached == 1
        await live.daemon.request(events.ResumeRequested(**live.daemon.stamp("a1"), by="ann"))
        await claude.wait()
        await live.state(AgentState.DONE)
        [agent] = live.daemon.board.summaries()
    assert (tmp_path / "home/notes").exists()
    assert agent.reviews == {"allow": 1, "block": 1}
    assert any("outside" in text for text in stage.told())


async def test_a_cli_that_was_killed_is_lost_and_its_agent_waits_for_nothing(tmp_path: Path) -> None:
    async with at_work(tmp_path, bash("tail -f /dev/null"), Say("done")) as (_, live, claude):
        await live.event(events.ReviewMade)
        claude.kill()
        await live.state(AgentState.LOST)


async def relay_of(folder: Path) -> int:
    """The relay's process id; 0 if there is none."""
    return await anyio.to_thread.run_sync(relay_client.process_of, folder)


async def test_after_a_boot_a_session_starts_the_relay_and_its_call_waits_for_the_daemon(tmp_path: Path) -> None:
    folder = tmp_path / "state/attached"
    async with attached(tmp_path, bash("echo one > one.txt"), Say("done")) as stage:
        os.kill(await relay_of(folder), signal.SIGKILL)
        with anyio.fail_after(SECONDS):
            while await relay_of(folder):
                await anyio.lowlevel.checkpoint()
        async with await anyio.open_process(stage.claude(), cwd=stage.repo, env=stage.own_environ) as claude:
            await until(lambda: bool(stage.model.requests))
            assert await relay_of(folder), "its own hook started one"
            async with run_daemon(setup(tmp_path, stage.model.url)) as daemon:
                await claude.wait()
                live = Live(daemon, stage.model, tmp_path)
                await live.state(AgentState.DONE)
                [agent] = daemon.board.summaries()
    assert (stage.repo / "one.txt").exists()
    assert agent.reviews == {"allow": 1}


async def test_who_detaches_while_an_agent_works_keeps_the_session_and_no_later_one_is_watched(tmp_path: Path) -> None:
    steps = bash("echo one > one.txt"), bash("echo two > two.txt"), Say("done"), bash("echo three > 3.txt"), Say("ok")
    async with at_work(tmp_path, *steps) as (stage, live, claude):
        await live.event(events.ReviewMade)
        await live.daemon.request(events.PauseRequested(**live.daemon.stamp("a1"), by="ann"))
        await live.event(
            events.LineReceived, lambda event: "two.txt" in str(event.frame) and "hook" in str(event.frame)
        )
        done = await anyio.to_thread.run_sync(lambda: stage.chaperon("detach", "--local"))
        assert done.returncode == 0, done.stderr
        assert not (stage.repo / "two.txt").exists(), "a call that was held is let go by a detach"
        await live.daemon.request(events.ResumeRequested(**live.daemon.stamp("a1"), by="ann"))
        await claude.wait()
        assert (stage.repo / "two.txt").exists()
        await stage.run_claude()
        assert (stage.repo / "3.txt").exists()
        assert len(live.daemon.board.summaries()) == 1


async def test_an_attached_agents_program_cannot_steer_by_either_socket(tmp_path: Path) -> None:
    main, hooks = tmp_path / "run/chaperon.sock", tmp_path / "run/hooks.sock"
    attack = tmp_path / "attack.py"
    attack.write_text(
        "import os, socket, sys\n"
        "def orphan():\n"
        "    parent = os.getpid()\n"
        "    if os.fork(): os._exit(0)\n"
        "    while os.getppid() == parent: pass\n"
        "    os.setsid()\n"
        "if len(sys.argv) > 1: orphan(); sys.stdout = open(sys.argv[1] + '.new', 'w')\n"
        "def ask(path, method, route, body=b'{}', more=''):\n"
        "    s = socket.socket(socket.AF_UNIX); s.connect(path)\n"
        "    try: s.sendall(f'{method} {route} HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n{more}'\n"
        "              f'content-length: {len(body)}\\r\\n\\r\\n'.encode() + body)\n"
        "    except BrokenPipeError: return 'refused 403'\n"
        "    try: return s.recv(65536).split(b'\\r\\n')[0].decode()\n"
        "    except ConnectionResetError: return 'refused 403'\n"
        f"main, hooks = {str(main)[::-1]!r}[::-1], {str(hooks)[::-1]!r}[::-1]\n"  # which no review sees through
        "print(ask(main, 'GET', '/v1/agents'))\n"
        "print(ask(main, 'POST', '/v1/agents/a1/resume'))\n"
        "print(ask(hooks, 'GET', '/v1/agents'))\n"
        "print(ask(hooks, 'POST', '/v1/agents/a1/stop'))\n"
        "print(ask(hooks, 'POST', '/v1/hooks', b'no JSON', 'chaperon-request: x\\r\\n'))\n"
        "other = 'chaperon-request: x\\r\\nchaperon-process: 1 1\\r\\n'\n"
        "s = socket.socket(socket.AF_UNIX); s.connect(hooks)\n"
        "s.sendall(f'POST /v1/hooks HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n{other}content-length: 2\\r\\n\\r\\n{{}}'.encode())\n"
        "print('as another:', b'may not speak for process 1 1' in s.makefile('rb').read(), flush=True)\n"
        "if len(sys.argv) > 1: os.rename(sys.argv[1] + '.new', sys.argv[1])\n"
    )
    command = f"{sys.executable} {attack} > answers.txt; setsid {sys.executable} {attack} >> answers.txt"
    command += f"; {sys.executable} {attack} orphans.txt; while ! test -e orphans.txt; do :; done"
    async with at_work(tmp_path, bash(command), Say("done")) as (stage, live, claude):
        await claude.wait()
        await live.state(AgentState.DONE)
        assert len(live.daemon.board.summaries()) == 1
    answers = (stage.repo / "answers.txt").read_text() + (stage.repo / "orphans.txt").read_text()
    said = [answer.split() for answer in answers.splitlines()]
    assert [words[1] for words in said if words[0] != "as"] == ["403", "403", "404", "404", "409"] * 3
    assert [words[2] for words in said if words[0] == "as"] == ["True"] * 3


async def test_an_agent_that_chaperon_launched_in_an_attached_repository_is_reviewed_once(tmp_path: Path) -> None:
    steps = bash("echo one > one.txt"), Say("done")
    async with (
        attached(tmp_path, *steps, arguments=("--user",)) as stage,
        run_daemon(setup(tmp_path, stage.model.url)) as daemon,
    ):
        live = Live(daemon, stage.model, tmp_path)
        await live.submit("Go.")
        await live.state(AgentState.DONE)
        assert [(summary.agent, summary.origin) for summary in daemon.board.summaries()] == [("a1", "")]
    assert (stage.repo / "one.txt").exists()


@pytest.mark.parametrize("way", ["exec", "link"])
async def test_a_cli_that_chaperon_stands_in_for_is_watched_and_all_else_is_its_own(tmp_path: Path, way: str) -> None:
    outside, link = tmp_path / "home/notes", tmp_path / "bin/claude"
    outside.mkdir(parents=True)
    link.parent.mkdir()
    link.symlink_to(Path(sys.executable).with_name("chaperon"))
    command = [str(link)] if way == "link" else [str(link.resolve()), "exec", "--", str(real_claude_path())]
    steps = bash("echo one > one.txt"), bash(f"rm -rf {outside}"), Say("done")
    async with attached(tmp_path, *steps) as stage:
        await anyio.to_thread.run_sync(lambda: stage.chaperon("detach"))
        async with run_daemon(setup(tmp_path, stage.model.url)) as daemon:
            live = Live(daemon, stage.model, tmp_path)
            environ = {**stage.environ, "PATH": f"{link.parent}:{real_claude_path().parent}:{stage.environ['PATH']}"}
            with anyio.fail_after(SECONDS):
                done = await anyio.run_process(
                    [*command, *stage.claude()[1:], "--output-format", "json"],
                    cwd=stage.repo,
                    env=environ,
                    check=False,
                )
            await live.state(AgentState.DONE)
            [agent] = daemon.board.summaries()
    assert (done.returncode, json.loads(done.stdout)["result"]) == (0, "done")
    assert (stage.repo / "one.txt").exists()
    assert outside.exists()
    assert agent.reviews == {"allow": 1, "block": 1}


async def test_a_forked_session_is_an_agent_that_has_used_only_what_it_used_itself(tmp_path: Path) -> None:
    steps = bash("touch one.txt"), Say("first"), bash("touch two.txt"), Say("second")
    async with attached(tmp_path, *steps) as stage, run_daemon(setup(tmp_path, stage.model.url)) as daemon:
        first = json.loads(await stage.run_claude("--output-format", "json"))["session_id"]
        forked = json.loads(await stage.run_claude("--output-format", "json", "--resume", first, "--fork-session"))[
            "session_id"
        ]
        await until(lambda: all(daemon.board.summary(agent).state.ended for agent in ("a1", "a2")))
        one, two = (daemon.board.summary(agent) for agent in ("a1", "a2"))
    assert (one.session_id, two.session_id) == (first, forked)
    assert first != forked
    assert one.cost_usd
    assert two.cost_usd == one.cost_usd
