"""`chaperon drain`."""

import json

from supervisor.protocol.words import AgentState
from tests.stages.daemon import Base, reached, served
from tests.supervisor.cli.conftest import chaperon


async def test_a_drained_daemon_takes_no_task_says_why_and_takes_them_again(base: Base) -> None:
    async with served(base):
        said = (await chaperon("drain", "--reason", "an upgrade")).output
        assert "No new tasks are taken, by " in said
        assert "an upgrade" in said
        assert "No new tasks are taken" in (await chaperon("ps")).output
        refused = await chaperon("run", "go", "--repo", str(base.repo), "--detach")
        assert (refused.exit_code, "an upgrade" in refused.stderr) == (1, True)
        assert json.loads((await chaperon("drain", "--off", "--json")).output)["on"] is False
        assert "No new tasks" not in (await chaperon("ps")).output
        assert (await chaperon("run", "go", "--repo", str(base.repo), "--detach")).exit_code == 0


async def test_agents_with_a_label_are_submitted_listed_steered_and_reported_together(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    repo = str(base.repo)
    async with served(base) as (daemon, _):
        for name, label in (("w1", "web"), ("w2", "web"), ("d1", "db")):
            assert (
                await chaperon("run", "go", "--repo", repo, "--name", name, "--label", label, "--detach")
            ).exit_code == 0
            await reached(daemon, AgentState.RUNNING, name)
        assert [row["agent"] for row in json.loads((await chaperon("ps", "--label", "web", "--json")).output)] == [
            "w1",
            "w2",
        ]
        paused = await chaperon("pause", "--label", "web")
        assert [line.split()[0] for line in paused.output.splitlines()[1:3]] == ["w1", "w2"]
        assert "To go on: chaperon resume --label web" in paused.output
        assert "Agents with the label web are held as they start" in (await chaperon("ps")).output
        assert daemon.board.summary("d1").state is AgentState.RUNNING
        assert (await chaperon("resume", "--label", "web", "--repo", repo)).exit_code == 0
        assert (await chaperon("say", "--label", "db", "hello", "you")).exit_code == 0
        assert "w1" not in (await chaperon("stop", "--label", "db", "--force")).output
        report = json.loads((await chaperon("report", "--label", "web", "--json")).stdout)
        assert report["agents"].keys() <= {"w1", "w2"}
        assert (await chaperon("pause", "--label", "none")).output.startswith(
            "No agent with the label none is at work."
        )


async def test_tasks_of_a_label_are_not_taken_until_they_are_again(base: Base) -> None:
    repo = str(base.repo)
    async with served(base):
        said = (await chaperon("drain", "--label", "web", "--repo", repo)).output
        assert f"No new tasks with the label web of {repo} are taken, by " in said
        assert f"chaperon drain --off --repo {repo} --label web" in said
        assert "with the label web" in (await chaperon("ps")).output
        run = ("run", "go", "--repo", repo, "--detach", "--label")
        assert [(await chaperon(*run, label)).exit_code for label in ("web", "db")] == [1, 0]
        assert (await chaperon("drain", "--off", "--label", "web", "--repo", repo)).output == "New tasks are taken.\n"
        assert (await chaperon(*run, "web")).exit_code == 0
