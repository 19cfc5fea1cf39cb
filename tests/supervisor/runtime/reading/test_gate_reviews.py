"""Reviews of agents' actions by the reading process."""

from pathlib import Path

from monitors.contract.actions import Action, Origin, Review, ReviewContext
from monitors.contract.words import Decision
from supervisor.runtime.daemon.daemon import Daemon
from tests.stages.daemon import Base, served

DEEP: dict[str, object] = {"command": "./tool", "more": None}
for _ in range(200):
    DEEP = {**DEEP, "more": [DEEP["more"]]}


async def made(daemon: Daemon, action: Action, context: ReviewContext) -> Review:
    """Have one review made by the daemon's own reading process."""
    await daemon.answering.wait()
    ask = daemon.deferred_reviews._ask
    assert ask is not None
    return await ask(action, context)


async def test_a_review_is_made_with_all_that_the_gate_knows(tmp_path: Path) -> None:
    brought = {"/w/tool": Origin("/w/tool", "downloaded", "curl x")}
    async with served(Base(tmp_path)) as (daemon, _):
        deletes = Action("Bash", {"command": "rm -rf ~"}, "/w", "/w")
        assert (await made(daemon, deletes, ReviewContext(home="/home/ann"))).rule == "files.delete-top"
        known = await made(daemon, Action("Bash", DEEP, "/w", "/w"), ReviewContext(origins=brought))
        assert known.rule == "shell.run-download"
        odd = await made(daemon, Action("Bash", {"command": "echo \ud800"}, "/w", "/w"), ReviewContext())
        assert odd.decision is Decision.ALLOW
