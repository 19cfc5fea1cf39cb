"""`chaperon drain`."""

import json

from tests.stages.daemon import Base, served
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
