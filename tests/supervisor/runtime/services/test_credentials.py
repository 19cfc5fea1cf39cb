"""Several credentials: which of them pays, while others are at a limit."""

import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from pydantic import ValidationError

from supervisor.config.model import Config
from supervisor.core.board import Board
from supervisor.core.fold.summary import DAY
from supervisor.core.registers.costs import AccountSpending
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.clock import Clock
from supervisor.runtime.services.credentials import Credentials
from tests.stages.daemon import Base, reached, served, until

NOON = 20_000.5 * DAY


class Noon(Clock):
    def __init__(self) -> None:
        self.at = NOON

    def wall(self) -> float:
        return self.at

    def mono(self) -> float:
        return self.at


def keys(folder: Path, *names: str) -> Iterator[dict[str, object]]:
    for name in names:
        path = folder / name
        path.touch(mode=0o600)
        path.write_text(f"sk-{name}")
        yield {"source": f"file:{path}"}


class Choice:
    """Two credentials of files, at noon; the first one has budgets."""

    def __init__(self, folder: Path) -> None:
        first, second = keys(folder, "one", "two")
        self.board, self.clock = Board(lambda _: pytest.fail("no agent is made")), Noon()
        self.config = Config.model_validate(
            {
                "agent": {"credentials": [{**first, "max_tokens_per_day": 100}, second]},
                "resources": {"max_account_tokens_per_day": 500},
            }
        )
        self.met = 0
        self.names = str(first["source"]), str(second["source"])
        self.credentials = Credentials(self.board, self.config, {}, self.clock)

    @property
    def pays(self) -> str:
        return self.credentials.config.agent.credential

    def limited(self, account: str, seconds: float) -> None:
        self.met += 1
        self.board.usage_limits.remember(self.met, account, self.clock.at + seconds)

    def again(self) -> str:
        """Who pays for a daemon that starts now."""
        return Credentials(self.board, self.config, {}, self.clock).config.agent.credential


def test_one_that_met_its_usage_limit_is_passed_over_until_the_limit_ends(tmp_path: Path) -> None:
    choice = Choice(tmp_path)
    one, two = choice.names
    assert choice.pays == one
    choice.limited(one, 60)
    assert choice.again() == two
    assert "the usage limit of" in choice.credentials.passed_over(one)
    assert choice.credentials.passed_over(two) == ""
    choice.limited(two, 30)
    assert choice.again() == one, "all are at a limit, and agents wait"
    choice.clock.at += 31
    assert choice.again() == two
    choice.clock.at += 30
    assert choice.again() == one


def test_each_has_budgets_of_its_own_until_the_day_is_over(tmp_path: Path) -> None:
    choice = Choice(tmp_path)
    one, two = choice.names
    assert choice.credentials.limits().account_tokens == 100
    choice.board.costs.by_account[one] = AccountSpending(tokens={20_000: 100})
    assert choice.again() == two
    assert "100 of 100 tokens" in choice.credentials.passed_over(one)
    choice.board.costs.by_account[two] = AccountSpending(tokens={20_000: 500})
    assert choice.again() == one
    assert "500 of 500 tokens" in choice.credentials.passed_over(two)
    choice.clock.at += DAY / 2
    assert choice.credentials.passed_over(one) == choice.credentials.passed_over(two) == ""


@pytest.mark.parametrize(
    "agent",
    [
        {"credential": "file:/a", "credentials": [{"source": "file:/b"}]},
        {"credentials": [{"source": "file:/b"}, {"source": "file:/b"}]},
        {"credentials": [{"source": ""}]},
        {"credentials": [{"source": "elsewhere:x"}]},
    ],
)
def test_a_list_that_says_two_things_is_refused(agent: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Config.model_validate({"agent": agent})


LIMITED_ONCE = """
import pathlib
met = pathlib.Path("met")
if not met.exists():
    begin()
    met.touch()
    done(is_error=True, result="Claude AI usage limit reached|4102444800")
while True:
    line = hear()
    if line["type"] == "control_request":
        say({"type": "control_response", "response": {"subtype": "success", "request_id": line["request_id"], "response": {}}})
"""


async def test_at_its_usage_limit_the_next_one_pays_at_once_and_a_daemon_that_comes_back_knows_it(
    base: Base, tmp_path: Path
) -> None:
    one, two, unusable = (each["source"] for each in keys(tmp_path, "one", "two", "gone"))
    (tmp_path / "gone").unlink()
    base.config["agent"] = {"credentials": [{"source": one}, {"source": unusable}, {"source": two}]}
    base.cli(LIMITED_ONCE)
    async with served(base) as (daemon, client):
        assert daemon.account == one
        await daemon.submit(base.submission(), by="test")
        await until(lambda: (base.repo / "met").exists())
        await until(lambda: len(base.events(events.AgentLaunched)) == 2)
        assert [launched.account for launched in base.events(events.AgentLaunched)] == [one, two]
        (taken,) = base.events(events.CredentialTaken)
        assert (taken.account, taken.before) == (two, one)
        assert "usage limit" in taken.why
        await until(lambda: any(each["type"] == "credential_passed_over" for each in base.incidents()))
        rows = {row["account"]: row for row in (await client.get("/v1/budgets")).json()["accounts"]}
        assert list(rows) == [two, one, unusable]
        assert "usage limit" in rows[one]["passed_over"]
        assert "could not be had" in rows[unusable]["passed_over"]
        assert (rows[two]["in_force"], rows[two]["agents"], rows[two]["passed_over"]) == (True, 1, "")
    async with served(base) as (daemon, _):
        await until(lambda: daemon.account == two)
    assert len(base.events(events.CredentialTaken)) == 2, "what could not be had is not asked of agents"


async def test_one_that_the_model_refused_is_passed_over_for_five_minutes(tmp_path: Path) -> None:
    choice = Choice(tmp_path)
    one, two = choice.names
    assert not choice.credentials.has_another()
    assert choice.credentials.pass_over(one)
    assert choice.credentials.has_another()
    assert "was refused" in choice.credentials.passed_over(one)
    assert not choice.credentials.pass_over("key:elsewhere"), "it is none of these"
    assert choice.credentials.pass_over(two)
    assert not choice.credentials.has_another(), "there is no other, and the budgets hold agents"
    choice.clock.at += 301
    assert choice.credentials.passed_over(one) == ""


async def test_a_check_that_takes_long_holds_up_no_budget_of_the_day(base: Base, tmp_path: Path) -> None:
    (one,) = (each["source"] for each in keys(tmp_path, "one"))
    os.mkfifo(tmp_path / "slow")
    base.config["agent"] = {"credentials": [{"source": one}, {"source": f"command:cat {tmp_path}/slow"}]}
    base.config["resources"] = {"max_cost_per_day_usd": 5.0}
    base.cli("begin()\nwhile True:\n    hear()")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        daemon.board.usage_limits.remember(1, str(one), daemon.wall() + 3_600)
        writer = await anyio.to_thread.run_sync(os.open, tmp_path / "slow", os.O_WRONLY)  # once the check reads
        try:
            daemon.board.costs.by_day[int(daemon.wall() // DAY)] = 5.01
            await reached(daemon, AgentState.PAUSED)
            assert not base.events(events.CredentialTaken)
        finally:
            os.write(writer, b"sk-slow\n")
            os.close(writer)
        await until(lambda: bool(base.events(events.CredentialTaken)))
