"""A stretch without a person: its begin, its ends, what stands still, and a daemon that is started again meanwhile."""

import subprocess
from pathlib import Path

import pytest

from monitors.contract.errors import UsageError
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.service import run_daemon
from supervisor.runtime.services.people.autopilot import Autopilot, AutopilotWanted
from tests.stages.daemon import Base, reached, served, until
from tests.supervisor.runtime.services.people.test_orders import in_every_state

WAITS = "begin()\nwhile True:\n    hear()"
TURNS = """
begin()
while hear().get("type") != "user":
    pass
done()
while True:
    hear()
"""
"""A CLI whose first turn ends once it is told something."""


def pilot(daemon: Daemon, base: Base, *, captures: bool = False) -> Autopilot:
    return Autopilot(daemon, base.places.state, lambda: captures)


def wanted(daemon: Daemon, id_: str = "night", **about: float | None) -> AutopilotWanted:
    given = {"until": daemon.wall() + 60.0, "max_cost_usd": None, **about}
    return AutopilotWanted(id_, given["until"], given["max_cost_usd"])


async def test_at_its_end_agents_stand_still_as_their_turns_end_and_the_report_is_written_and_told(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.cli(TURNS)
    async with served(base) as (daemon, client):
        await daemon.submit(base.submission(keep_open=True), by="test")
        await reached(daemon, AgentState.RUNNING)
        stretch = pilot(daemon, base)
        began = await stretch.begin(wanted(daemon), "ann")
        await stretch.look()
        assert daemon.board.orders.autopilot is began
        end = daemon.wall() + 61.0
        monkeypatch.setattr(daemon, "wall", lambda: end)
        await stretch.look()
        await stretch.look()
        known = daemon.board.summary("a1")
        assert (known.state, known.pause is not None and known.pause.at_turn_end) == (AgentState.RUNNING, True)
        await client.post("/v1/agents/a1/say", json={"text": "Finish."})
        await reached(daemon, AgentState.PAUSED)
        await daemon.submit(base.submission(name="late"), by="test")
        await until(lambda: daemon.board.summary("late").pause is not None)
        (over,) = base.events(events.AutopilotEnded)
        assert [one["type"] for one in base.incidents() if one["type"] == "autopilot_over"] == ["autopilot_over"]
        state = (await client.get("/v1/autopilot")).json()
        assert (state["on"], state["ended"], state["report"]) == (False, "time", over.report)
        report = Path(over.report).read_text()
        assert "its end was reached" in report
        assert "  a1  running" in report
        assert "chaperon resume --all" in report
        assert (await client.post("/v1/orders/resume")).status_code == 200
        assert daemon.board.orders.pauses == {}


@pytest.mark.parametrize("boot", ["this one", "another"])
async def test_a_clock_that_is_set_back_makes_it_no_longer_in_the_same_boot(
    base: Base, monkeypatch: pytest.MonkeyPatch, boot: str
) -> None:
    async with served(base) as (daemon, _):
        began = await pilot(daemon, base).begin(wanted(daemon), "ann")
    async with served(base) as (daemon, _):
        monkeypatch.setattr(daemon, "wall", lambda: began.at - 36_000.0)
        monkeypatch.setattr(daemon, "mono", lambda: began.mono + 59.0)
        await pilot(daemon, base).look()
        assert daemon.board.orders.autopilot is not None
        monkeypatch.setattr(daemon, "mono", lambda: began.mono + 61.0)
        if boot == "another":
            monkeypatch.setattr(daemon, "boot_id", lambda: "another")
        await pilot(daemon, base).look()
        assert (daemon.board.orders.autopilot is None) == (boot == "this one")


async def test_a_spent_budget_ends_it_and_counts_from_its_begin_alone(base: Base) -> None:
    async with served(base) as (daemon, _):
        daemon.board.costs.cost_usd = 7.0
        stretch = pilot(daemon, base)
        await stretch.begin(wanted(daemon, max_cost_usd=2.0), "ann")
        daemon.board.costs.cost_usd = 8.9
        await stretch.look()
        assert daemon.board.orders.autopilot is not None
        daemon.board.costs.cost_usd = 9.1
        await stretch.look()
        (over,) = base.events(events.AutopilotEnded)
        assert (over.why, round(over.spent_usd, 2)) == ("budget", 2.1)
        assert [pause.reason for pause in daemon.board.orders.pauses.values()] == [
            "autopilot is over: its budget of $2.00 is spent"
        ]


async def test_each_project_at_work_is_captured_before_and_one_that_cannot_be_begins_nothing(base: Base) -> None:
    base.cli(WAITS)
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", "-C", str(base.repo), *who, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        began = await pilot(daemon, base, captures=True).begin(wanted(daemon), "ann")
        (kept,) = daemon.board.projects.all(str(base.repo))
        assert began.checkpoints == (f"{base.repo}: {kept.name}",)
        assert kept.name.startswith("before-autopilot-")
        assert [one.agent for one in kept.agents] == ["a1"]


@pytest.mark.parametrize(
    ("about", "says"),
    [
        ({"until": None}, "needs an end or a budget"),
        ({"until": 1.0}, "lies ahead"),
        ({"until": 9e12}, "within two weeks"),
    ],
)
async def test_a_stretch_without_bounds_or_that_is_over_is_refused(
    base: Base, about: dict[str, float | None], says: str
) -> None:
    async with served(base) as (daemon, _):
        with pytest.raises(UsageError, match=says):
            await pilot(daemon, base).begin(wanted(daemon, "night", **about), "ann")
        assert "autopilot_began" not in base.kinds()


async def test_it_begins_once_however_often_it_is_asked_for_and_another_is_refused(base: Base) -> None:
    async with served(base) as (daemon, client):
        body = {"max_cost_usd": 5.0, "request_id": "night"}
        first, again = [(await client.post("/v1/autopilot", json=body)).json() for _ in range(2)]
        assert first == again
        other = await client.post("/v1/autopilot", json={**body, "request_id": "other"})
        assert (other.status_code, "under way" in other.text) == (422, True)
        health = (await client.get("/v1/health")).json()["orders"]
        assert health["autopilot_until"] == 0.0
        for _ in range(2):
            over = (await client.post("/v1/autopilot/end")).json()
            assert (over["on"], over["ended"]) == (False, "person")
        kinds = base.kinds()
        assert (kinds.count("autopilot_began"), kinds.count("autopilot_ended")) == (1, 1)
        assert daemon.board.orders.pauses == {}, "a person is there again: nobody is held"


async def test_it_is_kept_over_a_restart_and_one_whose_end_a_crash_cut_off_is_ended_once(base: Base) -> None:
    base.cli(WAITS)
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        began = await pilot(daemon, base).begin(wanted(daemon, max_cost_usd=1.0), "ann")
        pause = events.OrderGiven(**daemon.stamp(""), id="autopilot-night", control="pause", by="chaperon",
            reason="autopilot is over: its budget of $1.00 is spent", at_turn_end=True, agents=("a1",))  # fmt: skip
        await daemon.journal.written(daemon.happened(pause))  # and here it was killed
    async with served(base) as (daemon, _):
        assert daemon.board.orders.autopilot == began
        daemon.board.costs.cost_usd = 3.0
        await until(lambda: "autopilot_ended" in base.kinds())
        assert base.kinds().count("autopilot_ended") == 1
        assert len([each for each in base.events(events.PauseRequested) if each.agent == "a1"]) == 1
        stretch = pilot(daemon, base)
        await stretch.begin(wanted(daemon, "next"), "ann")
        assert daemon.board.orders.pauses == {}, "the next one lifts the pause of the one before"


@pytest.mark.slow
async def test_its_end_reaches_agents_in_every_state_as_a_pause_at_the_turns_end_does(base: Base) -> None:
    async with in_every_state(base) as (daemon, _):
        stretch = pilot(daemon, base)
        began = await stretch.begin(wanted(daemon), "ann")
        await stretch.end(began, "time", "chaperon")
        await stretch.end(began, "time", "chaperon")
        given = daemon.board.orders.results["autopilot-night"]
        assert {row.agent: row.done for row in given.results} == {
            "starting": True, "running": True, "idle": True, "paused": False, "waiting": True,
            "finishing": False, "stopping": False,
        }  # fmt: skip
        assert daemon.board.summary("idle").state is AgentState.PAUSED
        assert daemon.board.summary("running").state is AgentState.RUNNING
        assert base.kinds().count("autopilot_ended") == 1
