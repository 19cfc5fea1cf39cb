"""What a run may cost holds while a turn runs, over relaunches, and is told the same everywhere."""

from pathlib import Path

import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.script import ModelScript, Say, ScriptStep, ScriptTokens, ToolUse
from tests.stages.daemon import client_on, metrics_of
from tests.stages.house import House, house
from tests.supervisor.runtime.metrics.test_metrics import samples

pytestmark = pytest.mark.real_cli

TOKENS = ScriptTokens(input=1_000, output=4_000, cache_write=200, cache_read=30_000)
COST = 0.091
"""What the CLI counts for such a reply of its default model (2.1.329)."""


def step(number: int, tool: str = "Bash") -> ScriptStep:
    """A reply whose text is about as long as its count of tokens says."""
    given = (
        {"command": f"echo {number}"}
        if tool == "Bash"
        else {"description": "d", "prompt": "SUB go", "subagent_type": "general-purpose"}
    )
    text = " ".join(str(number * 7_919 + each * 104_729) for each in range(1_700))
    return ScriptStep((Say(text), ToolUse(tool, given)), tokens=TOKENS)


DONE = ScriptStep((Say("Done."),), tokens=TOKENS)


async def costs(made: House) -> dict[str, float]:
    found = samples(await metrics_of(made.daemon))
    return {name: value for name, value in found.items() if "_cost_" in name or "_tokens_" in name}


async def test_a_run_ends_before_the_call_of_the_model_that_would_pass_its_cost_limit(tmp_path: Path) -> None:
    steps = [step(number) for number in range(20)]
    async with house(tmp_path, *steps, DONE) as made:
        await made.submit(max_cost_usd=0.5)
        assert (await made.ended()).after is AgentState.STOPPED
        told = [event.incident.type for event in made.events(events.IncidentOpened)]
        summary = made.daemon.board.summary("a1")
        asked = len(made.model.conversation())
    assert told.count("limit_reached") == 1
    assert "emergency_stop" not in told
    assert "the cost limit would be passed by the next call of the model" in summary.why
    assert asked == 5
    assert summary.cost_usd == pytest.approx(5 * COST, rel=0.01)


async def test_tokens_and_cost_are_the_clis_own_with_subagents_and_the_same_everywhere(tmp_path: Path) -> None:
    subagent = ModelScript((step(7), DONE), "SUB")
    async with house(tmp_path, step(1), step(2, "Agent"), DONE, DONE, scripts=(subagent,)) as made:
        await made.submit()
        assert (await made.ended()).after is AgentState.DONE
        summary, found = made.daemon.board.summary("a1"), await costs(made)
        async with client_on(made.setup.places.socket) as local:
            told = (await local.get("/v1/costs")).json()
    assert (summary.output_tokens, summary.cached_tokens, summary.input_tokens) == (24_000, 180_000, 7_200)
    assert summary.cost_usd == pytest.approx(6 * COST)
    assert found['chaperon_tokens_total{kind="output"}'] == told["tokens"]["output"] == 24_000
    assert found["chaperon_cost_usd_total"] == told["total_usd"] == told["today_usd"] == pytest.approx(6 * COST)


async def test_the_cost_of_a_running_turn_is_told(tmp_path: Path) -> None:
    waits = ScriptStep((ToolUse("Bash", {"command": "until [ -e go ]; do sleep 0.2; done"}),), tokens=TOKENS)
    async with house(tmp_path, step(1), waits) as made:
        await made.submit()
        await made.process("sleep 0.2")
        assert made.daemon.board.summary("a1").cost_usd == pytest.approx(COST + 0.011, rel=0.05)
        await made.daemon.put_down("a1", "the test is over")


async def test_what_was_spent_before_a_crash_and_before_a_restart_of_the_daemon_is_not_forgotten(
    tmp_path: Path,
) -> None:
    waits = ScriptStep((ToolUse("Bash", {"command": "until [ -e go ]; do sleep 0.2; done"}),), tokens=TOKENS)
    async with house(tmp_path, step(1), waits, DONE) as made:
        await made.submit()
        await made.process("sleep 0.2")
        (cli,) = [each for each in made.tree() if each.pid == made.daemon.board.summary("a1").cli_pid]
        cli.kill()
        assert (await made.ended()).after is AgentState.DONE
        spent, found = made.daemon.board.summary("a1").cost_usd, await costs(made)
    assert spent == pytest.approx(2 * COST + 0.011, rel=0.05)
    async with house(tmp_path, DONE) as again:
        assert again.daemon.board.summary("a1").cost_usd == spent
        kept = await costs(again)
        assert kept["chaperon_cost_usd_total"] == found["chaperon_cost_usd_total"] == pytest.approx(spent)
