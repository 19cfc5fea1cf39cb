"""`chaperon rollback --project`: what is lost is shown, asked about, and told; a repeat by id is done once."""

import json
from pathlib import Path

import pytest

from tests.stages.branches import git
from tests.stages.daemon import Base, served
from tests.supervisor.cli.conftest import chaperon
from tests.supervisor.runtime.projects.test_checkpoints import make_repository
from tests.supervisor.runtime.projects.test_rollback import begun, gone_on, project


async def test_all_that_goes_is_shown_before_and_told_after(base: Base) -> None:
    async with project(base) as daemon:
        at = str(base.repo)
        first = await begun(daemon, base)
        second = await gone_on(daemon, base)
        asked = ("rollback", "before", "--project", at, "--with-branch")
        shown = (await chaperon(*asked, "--dry-run")).output
        for line in (
            "Tasks done since (2):\n  t-then\n  t-since\n",
            "Tasks that change (2):\n  t-then will be pending\n  t-since will be pending\n",
            "Agents that go back and go on (1):\n  a1\n",
            "Agents that are ended (1):\n  a2: it was started since\n",
            f"Worktrees that go; their content is kept (1):\n  {second}\n",
            "and loses 2 commits",
            "chaperon/a2 goes, with 3 commits",
            f"{first}: lost, and kept in a checkpoint (1):\n  bad.txt\n{first}: 1 path comes back\n",
        ):
            assert line in shown, shown
        assert second.exists()
        plan = json.loads((await chaperon(*asked, "--dry-run", "--json")).output)
        assert (plan["finished"], plan["agents_back"]) == (["t-then", "t-since"], ["a1"])
        unasked = await chaperon(*asked)
        assert (unasked.exit_code, "no terminal to ask" in unasked.stderr) == (2, True)
        done = (await chaperon(*asked, "--yes")).output
        assert f"{at} is as in before: " in done
        assert f"Removed, with its content kept: {second}\n" in done
        undo = done.rpartition("To undo: chaperon ")[2].split()
        again = (await chaperon(*undo, "--yes", "--json")).output
        assert json.loads(again)["made_again"] == [str(second)]
        assert git(base.repo, "log", "--format=%s", "main").split() == ["since", "then", "first"]


@pytest.mark.slow
async def test_without_branches_it_is_said_what_stays(base: Base) -> None:
    async with project(base) as daemon:
        await begun(daemon, base)
        await gone_on(daemon, base)
        shown = (await chaperon("rollback", "before", "--project", str(base.repo), "--dry-run")).output
        assert "Tasks that stay done (2):\n  t-then: it is in main\n" in shown
        assert "--with-branch takes it back" in shown
        assert "Branches" not in shown


async def test_a_rollback_of_unusual_size_is_asked_about_twice(base: Base) -> None:
    make_repository(base)
    many = [base.repo / f"many-{number}.txt" for number in range(40)]
    async with served(base) as (daemon, client):
        await daemon.projects.make(str(base.repo), "before", "ann")
        for path in many:
            path.write_text("x")
        asked = ("rollback", "before", "--project", str(base.repo), "--yes")
        refused = await chaperon(*asked)
        assert (refused.exit_code, "--unusual" in refused.stderr) == (1, True)
        body: dict[str, object] = {"project": str(base.repo), "request_id": "once"}
        direct = await client.post("/v1/project-checkpoints/before/rollback", json=body)
        assert "is of unusual size" in direct.text
        assert many[0].exists()
        body |= {"unusual": True}
        first, twice = [
            (await client.post("/v1/project-checkpoints/before/rollback", json=body)).json() for _ in range(2)
        ]
        assert first == twice
        assert first["restored"] == 40
        assert not any(path.exists() for path in many)


async def test_options_of_one_agent_do_not_go_with_a_project(base: Base) -> None:
    refused = await chaperon("rollback", "before", "--project", str(Path(base.repo)), "--fresh")
    assert refused.exit_code == 2
    assert "--project goes with" in refused.stderr
