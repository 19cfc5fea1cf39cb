"""A fact that one agent notes reaches those that run, with their next call that runs, and nobody else."""

import json
from pathlib import Path
from typing import Any

import pytest

from supervisor.protocol.events import DiscoveryNoted, DiscoveryTold, PolicyChanged, TaskSubmitted
from supervisor.runtime.service import run_daemon
from tests.stages.daemon import Base, ConfigFile, ended, served, until

FACT = "The tests need Redis on port 6380."

NOTES_OR_LISTENS = f"""
prompt = greet()
take(prompt)
say({{"type": "system", "subtype": "init", "session_id": "stand-in", "cwd": os.getcwd(), "tools": []}})
if "NOTE" in prompt:
    text = {{"type": "text", "text": "[discovery: repository] {FACT}"}}
    say({{"type": "assistant", "uuid": "u1", "message": {{"id": "m1", "content": [text]}}}})
    done()
    while True:
        hear()
for number, command in enumerate(("touch one", "make deploy", "touch three", "touch four")):
    while not os.path.exists(f"go-{{number}}"):
        time.sleep(0.01)
    given = {{"tool_name": "Bash", "tool_input": {{"command": command}}, "tool_use_id": f"toolu_{{number}}", "cwd": os.getcwd()}}
    hook = {{"subtype": "hook_callback", "callback_id": "p", "input": {{"hook_event_name": "PreToolUse", **given}}}}
    say({{"type": "control_request", "request_id": f"pre{{number}}", "request": hook}})
    while (answer := hear()).get("response", {{}}).get("request_id") != f"pre{{number}}":
        pass
    with open(f"heard-{{number}}.new", "w") as file:
        json.dump(answer["response"]["response"]["hookSpecificOutput"], file)
    os.rename(f"heard-{{number}}.new", f"heard-{{number}}")
done()
while True:
    hear()
"""
"""One that notes a fact, or one that keeps what it is answered to each call."""


async def answered(base: Base, number: int) -> dict[str, Any]:
    """Let the listener make a call, and return what it was answered."""
    (base.repo / f"go-{number}").touch()
    await until((base.repo / f"heard-{number}").exists)
    answer: dict[str, Any] = json.loads((base.repo / f"heard-{number}").read_text())
    return answer


async def test_one_that_runs_is_told_once_beside_the_answer_to_its_next_call_that_runs(tmp_path: Path) -> None:
    rule = {"name": "own.no-deploy", "match": "deploy", "decision": "block", "reason": "Ask ann first."}
    base = Base(tmp_path, {"rules": [rule]})
    base.cli(NOTES_OR_LISTENS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(name="listener", prompt="Work."), by="test")
        assert "additionalContext" not in await answered(base, 0)
        await daemon.submit(base.submission(name="noter", prompt="NOTE it."), by="test")
        await until(lambda: len(base.events(DiscoveryTold)) == 1)
        refused = await answered(base, 1)
        assert refused["permissionDecision"] == "deny"
        assert FACT not in str(refused), "the refusal is to be heard alone"
        told = await answered(base, 2)
        assert told["permissionDecision"] == "allow"
        assert told["additionalContext"].endswith(f'- noter: "{FACT}"')
        assert "additionalContext" not in await answered(base, 3)
        for agent in ("listener", "noter"):
            await ended(daemon, agent)
    (event,) = base.events(DiscoveryTold)
    assert (event.agent, event.by, event.text) == ("listener", "noter", FACT)


@pytest.mark.parametrize("discoveries", [{"enabled": False}, {"told_at_work": 0}])
async def test_nobody_is_told_where_it_is_switched_off(tmp_path: Path, discoveries: dict[str, Any]) -> None:
    base = Base(tmp_path, {"discoveries": discoveries})
    base.cli(NOTES_OR_LISTENS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(name="listener", prompt="Work."), by="test")
        await daemon.submit(base.submission(name="noter", prompt="NOTE it."), by="test")
        await until(lambda: len(base.events(DiscoveryNoted)) == 1)
        for number in range(4):
            assert FACT not in str(await answered(base, number))
        await ended(daemon, "listener")
    assert base.events(DiscoveryTold) == []


@pytest.mark.slow
async def test_what_a_daemon_noted_and_did_not_tell_any_more_the_next_one_tells_at_its_start_and_once(
    tmp_path: Path,
) -> None:
    base = Base(tmp_path)
    base.cli(NOTES_OR_LISTENS)
    async with run_daemon(base.setup()) as daemon:
        daemon.watchers.clear()  # it is killed before it tells
        await daemon.submit(base.submission(name="listener", prompt="Work."), by="test")
        await daemon.submit(base.submission(name="noter", prompt="NOTE it."), by="test")
        await until(lambda: len(base.events(DiscoveryNoted)) == 1)
        await ended(daemon, "noter")
        assert "additionalContext" not in await answered(base, 0)
    for _ in range(2):
        async with run_daemon(base.setup()) as daemon:
            await until(lambda: len(base.events(DiscoveryTold)) == 1)
    async with served(base) as (daemon, _):
        told = await answered(base, 1)
        assert told["additionalContext"].endswith(f'- noter: "{FACT}"')
        assert "additionalContext" not in await answered(base, 2)
    (event,) = base.events(DiscoveryTold)
    assert (event.agent, event.by, event.text) == ("listener", "noter", FACT)


@pytest.mark.slow
async def test_how_many_facts_are_told_is_taken_while_the_daemon_runs_for_those_that_run_and_those_that_start(
    tmp_path: Path,
) -> None:
    base = Base(tmp_path)
    base.cli(NOTES_OR_LISTENS)
    file = ConfigFile(base, tmp_path / "chaperon.yaml")
    file.write(discoveries={"enabled": False})
    async with served(base, **await file.read()) as (daemon, _):
        await daemon.submit(base.submission(name="listener", prompt="Work."), by="test")
        file.write(discoveries={"enabled": True})
        await until(lambda: len(base.events(PolicyChanged)) == 1)
        await daemon.submit(base.submission(name="noter", prompt="NOTE it."), by="test")
        await until(lambda: len(base.events(DiscoveryTold)) == 1)
        await daemon.submit(base.submission(name="later", prompt="Work."), by="test")
    told = {one.agent: FACT in one.briefing for one in base.events(TaskSubmitted)}
    assert told == {"listener": False, "noter": False, "later": True}
    assert base.events(PolicyChanged)[0].changed == ("discoveries.enabled",)
