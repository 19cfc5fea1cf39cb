"""What an agent left that was stopped: told in the report, in the journal and by the command, as it really is."""

import subprocess
from pathlib import Path

import orjson
import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from tests.stages.house import bash, house, say

pytestmark = pytest.mark.real_cli

WORK = (
    "git checkout -qb try-2; echo one > one.txt; mkdir -p deep; echo two > deep/two.txt; "
    "git add one.txt; git -c user.name=T -c user.email=t@example.invalid commit -qm 'one'; "
    "echo stashed > one.txt; git -c user.name=T -c user.email=t@example.invalid stash -q; "
    "git push -q origin try-2; git tag v9; echo note > {base}/beside.txt"
)


async def test_the_report_names_what_the_shell_wrote_and_what_is_left_to_be_cleared_away(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "remote.git")], check=True)
    stopping = bash(f"echo x > {tmp_path}/state/journal/x")
    async with house(tmp_path, bash(WORK.format(base=tmp_path)), stopping, say("Done.")) as made:
        subprocess.run(
            ["git", "-C", str(made.workspace), "remote", "add", "origin", str(tmp_path / "remote.git")], check=True
        )
        await made.submit()
        assert (await made.ended()).after is AgentState.STOPPED
        seen = await made.until(events.AftermathSeen)
        opened = await made.until(events.IncidentOpened, lambda event: event.report is not None)
        assert seen.incident_id == opened.incident.id
        assert {"one.txt (added)", "deep/two.txt (added)"} <= set(seen.aftermath.files)
        kinds = [each.kind for each in seen.aftermath.leftovers]
        assert {"branch", "stash", "push", "tag", "file"} <= set(kinds)
        assert "process" not in kinds
        what = "\n".join(each.what for each in seen.aftermath.leftovers)
        for name in ("the branch try-2", "stash@{0}", "a push to try-2 of origin", "the tag v9", "beside.txt"):
            assert name in what
        path = tmp_path / "state" / "incidents" / f"{opened.incident.id}.json"
        report = orjson.loads(path.read_bytes())
        assert set(report["impact"]["files_affected"]) == set(seen.aftermath.files)
        assert made.daemon.board.summary("a1").aftermath_due == ""
        shown = await made.chaperon("recover", opened.incident.id)
        assert "left behind: the branch try-2" in shown
        assert "git branch -D try-2" in shown


async def test_a_daemon_that_ends_before_it_looked_leaves_it_to_the_next(tmp_path: Path) -> None:
    stopping = bash(f"echo x > {tmp_path}/state/journal/x")
    async with house(tmp_path, bash("echo one > one.txt"), stopping, say("Done.")) as made:

        async def nothing(agent: str) -> None:
            del agent

        made.daemon._aftermaths.look = nothing  # type: ignore[method-assign]  # it ends before it looks
        await made.submit()
        await made.ended()
        assert made.daemon.board.summary("a1").aftermath_due
    async with house(tmp_path) as made:
        seen = await made.until(events.AftermathSeen)
        assert "one.txt (added)" in seen.aftermath.files
    async with house(tmp_path) as made:
        assert len(made.events(events.AftermathSeen)) == 1
