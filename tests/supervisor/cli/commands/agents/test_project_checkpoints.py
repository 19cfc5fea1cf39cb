"""`chaperon checkpoint --project`, `checkpoints --project`: made, listed, shown, forgotten."""

import json

from tests.stages.daemon import Base, served
from tests.supervisor.cli.conftest import chaperon
from tests.supervisor.runtime.projects.test_checkpoints import make_repository


async def test_a_project_checkpoint_is_made_listed_shown_and_forgotten(base: Base) -> None:
    make_repository(base)
    at = str(base.repo)
    async with served(base):
        made = await chaperon("checkpoint", "before-auth", "--project", at, "--note", "as it was")
        assert made.output == (
            f"before-auth holds {at}: 1 worktree, 1 branch, 0 tasks, 0 agents.\n"
            f"To go back: chaperon rollback before-auth --project {at}\n"
        )
        again = await chaperon("checkpoint", "before-auth", "--project", at)
        assert (again.exit_code, "already" in again.stderr) == (2, True)
        (row,) = json.loads((await chaperon("checkpoints", "--project", at, "--json")).output)
        assert (row["name"], row["note"], row["done"]) == ("before-auth", "as it was", 0)
        head, line = (await chaperon("checkpoints", "--project", at)).output.splitlines()
        assert head.split()[:2] == ["NAME", "WHEN"]
        assert "by a person" in line
        shown = (await chaperon("checkpoints", "show", "before-auth", "--project", at)).output
        assert f"worktree   {at} on main at" in shown
        assert "files in before-auth.main" in shown
        whole = json.loads((await chaperon("checkpoints", "show", "before-auth", "--project", at, "--json")).output)
        assert list(whole["branches"]) == ["refs/heads/main"]
        forgotten = await chaperon("checkpoints", "forget", "before-auth", "--project", at)
        assert forgotten.output == "before-auth is forgotten.\n"
        gone = await chaperon("checkpoints", "show", "before-auth", "--project", at)
        assert (gone.exit_code, "no project checkpoint 'before-auth'" in gone.stderr) == (1, True)


async def test_an_agent_and_a_project_do_not_go_together(base: Base) -> None:
    refused = await chaperon("checkpoint", "x", "--project", str(base.repo), "--agent", "a1")
    assert refused.exit_code == 2
    assert "goes without --agent" in refused.stderr
