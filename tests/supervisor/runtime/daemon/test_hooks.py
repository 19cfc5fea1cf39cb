"""The user's scripts for what happens: real ones, under a whole daemon with a stand-in for the CLI."""

import logging
from pathlib import Path

import anyio
import pytest

from supervisor.config.model import Config
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.assembly.review_settings import protected_paths
from supervisor.runtime.daemon import hooks
from supervisor.runtime.service import run_daemon
from tests.stages.daemon import Base, ended, reached, served, until

WAITS = "begin()\nwhile True:\n    hear()"


def hook(base: Base, name: str, text: str, **more: float) -> Path:
    """Configure a hook; what it prints to $SAID is in the file that is returned."""
    script, said = base.root / f"{name}.sh", base.root / f"{name}.said"
    script.write_text(f"#!/bin/sh\nSAID={said}\n{text}\n")
    script.chmod(0o755)
    base.config["hooks"] = {**base.config.get("hooks", {}), name: str(script), **more}
    return said


async def test_one_runs_before_the_agent_starts_and_one_after_it_has_ended_whatever_the_daemon_does(base: Base) -> None:
    before = hook(
        base,
        "pre-start",
        f'echo "$TASK_ID $AGENT $WORKSPACE" > $SAID; test -e {base.root}/begun || echo first >> $SAID',
    )
    after = hook(base, "post-complete", 'sleep 0.2; echo "$TASK_ID $AGENT $STATUS $DURATION $BRANCH" > $SAID')
    base.cli(f"open({str(base.root / 'begun')!r}, 'w').close()\nbegin()\ndone()\nhear()")
    async with run_daemon(base.setup()) as daemon:
        summary = await daemon.submit(base.submission(), by="ann")
        await ended(daemon)
    task = summary.task.id
    assert before.read_text().split() == [task, "a1", summary.workspace, "first"]
    assert after.read_text().split()[:3] == [task, "a1", "done"]
    assert 0 <= float(after.read_text().split()[3]) < 600


async def test_a_pause_and_an_incident_are_told_with_what_they_are_about(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is logged goes into the report of the test, and xdist cannot send half a character from its worker.
    monkeypatch.setattr(logging.getLogger("chaperon"), "propagate", False)
    paused = hook(base, "on-pause", 'echo "$AGENT: $REASON: $RUNNING_TASKS" > $SAID')
    failed = hook(base, "on-error", 'echo "$AGENT $ERROR_TYPE $MESSAGE" >> $SAID')
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        task = (await daemon.submit(base.submission(), by="ann")).task.id
        await reached(daemon, AgentState.RUNNING)
        await daemon.request(events.PauseRequested(**daemon.stamp("a1"), by="ann"))
        await until(paused.exists)
        daemon.fault("", "torn_journal", "It was \0torn\ud800.")
        await until(lambda: failed.exists() and failed.read_text().endswith("\n"))
    await until(lambda: paused.read_text() == f"a1: paused by ann: {task}\n")
    assert failed.read_text().splitlines()[0] == " torn_journal It was torn?."


@pytest.mark.parametrize("text", ["exit 3", "sleep 300"])
async def test_one_that_fails_or_hangs_is_logged_and_changes_nothing(
    base: Base, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    caplog.set_level(logging.WARNING, "chaperon")
    hook(base, "pre-start", text, timeout=0.3)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="ann")
        assert (await ended(daemon)).state is AgentState.DONE
    assert f"The hook pre-start {base.root / 'pre-start.sh'} " in caplog.text
    assert base.incidents() == []


async def test_a_storm_of_incidents_does_not_make_a_storm_of_hooks(
    base: Base, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "MOST_WAITING", 2)
    said = hook(base, "on-error", "echo x >> $SAID")
    async with run_daemon(base.setup()) as daemon:
        for number in range(10):
            daemon.fault("", "torn_journal", f"Number {number}.")
    assert said.read_text() in ("x\n" * 2, "x\n" * 3), "two wait, and one may be under way"
    assert "hook on-error was passed over" in caplog.text


async def test_a_task_that_is_taken_while_its_hook_runs_is_refused(base: Base) -> None:
    said = hook(base, "pre-start", f"echo x >> $SAID; while [ ! -e {base.root}/go ]; do sleep 0.05; done")
    base.cli(WAITS)
    async with served(base) as (_, client):
        async with anyio.create_task_group() as asking:
            answers: list[int] = []

            async def ask() -> None:
                wanted = {"prompt": "go", "repository": str(base.repo), "name": "a1"}
                answers.append((await client.post("/v1/agents", json=wanted)).status_code)

            for _ in range(2):
                asking.start_soon(ask)
            await until(lambda: said.exists() and answers == [422])
            (base.root / "go").touch()
        assert answers == [422, 201]
    assert said.read_text() == "x\n", "the hook of the one that is refused does not run"


def test_the_programs_that_the_daemon_runs_are_out_of_agents_reach(base: Base) -> None:
    named = {"hooks": {"post-complete": "/opt/told.sh"}, "workspaces": {"set_up": "/opt/set-up"}}
    kept = protected_paths(Config.model_validate(named), base.places, {"HOME": str(base.home)})
    assert {"/opt/told.sh", "/opt/set-up"} <= set(kept)


def test_what_names_something_that_never_happens_is_known_to_the_daemon_and_run_by_nothing() -> None:
    wanted = Config.model_validate(
        {"hooks": {"pre-merge": "/a.sh", "on-discovery": "/b.sh", "on-error": "/c.sh"}}
    ).hooks
    assert (wanted.never_run(), wanted.programs()) == (("pre-merge", "on-discovery"), {"on-error": "/c.sh"})
    every = {name for name in type(wanted).model_fields if name != "timeout"}
    full = Config.model_validate({"hooks": {name.replace("_", "-"): "/x.sh" for name in every}}).hooks
    assert {*full.never_run(), *full.programs()} == {name.replace("_", "-") for name in every}
