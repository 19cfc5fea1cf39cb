"""The parts of a daemon: what they journal of one another."""

from pathlib import Path

from supervisor.protocol.events import AccountChanged
from supervisor.protocol.words import AgentState
from supervisor.runtime.parts import account_taken
from tests.stages.daemon import Base, reached, served

FAILS_OR_WORKS = """
prompt = greet()
take(prompt)
say({"type": "system", "subtype": "init", "session_id": "stand-in", "cwd": os.getcwd(), "tools": []})
if "overloaded" in prompt:
    done(is_error=True, result="API Error: 529 Overloaded")
while True:
    hear()
"""


async def test_another_account_is_journalled_for_agents_whose_cli_runs_and_for_no_other(tmp_path: Path) -> None:
    base = Base(tmp_path)
    base.cli(FAILS_OR_WORKS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(name="works"), by="test")
        await daemon.submit(base.submission(name="waits", prompt="overloaded"), by="test")
        await reached(daemon, AgentState.RUNNING, "works")
        await reached(daemon, AgentState.WAITING, "waits")
        before = daemon.account
        daemon._launcher.account = "file:/another"
        account_taken(daemon, ("works", "waits", "nobody"))
        account_taken(daemon, ("works", "waits"))
    (changed,) = base.events(AccountChanged)
    assert (changed.agent, changed.account, changed.before) == ("works", "file:/another", before)
