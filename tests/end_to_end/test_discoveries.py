"""A fact that one agent notes reaches the model of the next, over a restart of the daemon, until a person takes it back."""

from pathlib import Path

import orjson
import pytest

from supervisor.protocol import events
from supervisor.rehearsal.script import ModelScript
from tests.stages.house import bash, house, say

pytestmark = pytest.mark.real_cli

FACT = "The tests need Redis on port 6380."


async def test_what_one_agent_notes_the_next_is_told(tmp_path: Path) -> None:
    first = ModelScript((say(f"Found it.\n[discovery: repository] {FACT}"), bash("true"), say("Done.")), "FIRST")
    async with house(tmp_path, say("Done."), scripts=(first,)) as made:
        await made.submit(prompt="FIRST: mend the test", workspace="new")
        await made.ended()
        assert "[discovery: repository] the fact" in made.told()
        assert [(event.agent, event.text) for event in made.events(events.DiscoveryNoted)] == [("a1", FACT)]
        assert FACT in await made.chaperon("tail", "--agent", "a1")

    async with house(tmp_path, say("Done."), say("Done.")) as made:
        listed = orjson.loads(await made.chaperon("discoveries", "--repo", str(made.workspace), "--json"))
        assert [(one["agent"], one["scope"], one["text"]) for one in listed] == [("a1", "repository", FACT)]
        await made.submit("a2", prompt="Look at the tests")
        await made.ended("a2")
        assert f'- a1: "{FACT}"' in made.told().replace('\\"', '"')
        assert "[discovery: repository] the fact" not in made.told()  # it works in place, beside nobody

        await made.chaperon("discoveries", "--forget", listed[0]["id"])
        assert "No agent" in await made.chaperon("discoveries")
        heard = len(made.model.requests)
        await made.submit("a3", prompt="Look at the tests")
        await made.ended("a3")
        assert all(FACT not in str(request.body) for request in made.model.requests[heard:])


async def test_what_an_agent_notes_reaches_the_model_of_one_that_runs_once(tmp_path: Path) -> None:
    go = tmp_path / "go"
    waits = ModelScript((bash(f"until [ -e {go} ]; do sleep 0.05; done"), bash("ls"), bash("ls"), say("Done.")), "WORK")
    notes = ModelScript((say(f"[discovery: repository] {FACT}"),), "NOTE")
    async with house(tmp_path, scripts=(waits, notes)) as made:
        await made.submit("worker", prompt="WORK: mend the test")
        await made.until(events.ReviewMade, agent="worker")
        await made.submit("noter", prompt="NOTE: look at the tests")
        await made.until(events.DiscoveryTold, agent="worker")
        go.touch()
        await made.ended("worker")
        *_, last = [request for request in made.model.requests if request.script == 0]
        assert str(last.body).count(FACT) == 1
        assert "told what noter noted" in await made.chaperon("tail", "--agent", "worker")
