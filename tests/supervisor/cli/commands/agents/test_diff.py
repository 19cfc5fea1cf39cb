"""`chaperon diff`: the content of what an agent changed."""

import json
import subprocess
from pathlib import Path

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from tests.stages.daemon import Base, ended, reached, served, until
from tests.supervisor.cli.conftest import chaperon

WRITES = r"""
begin()
def write(number):
    given = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": f"u{number}"}
    say({"type": "control_request", "request_id": f"r{number}", "request": {"subtype": "hook_callback", "callback_id": "x", "input": given}})
    while hear().get("response", {}).get("request_id") != f"r{number}":
        pass
write(1)
open("changed.txt", "w").write("one\ntwo \x1b[31mred\n")
open("new.bin", "wb").write(b"\0\1\2" * 9)
open(b"n\xffme", "w").write("x")
os.remove("gone.txt")
os.chmod("tool.sh", 0o755)
os.symlink("changed.txt", "link")
open("wrote", "w").close()
while not os.path.exists("go"):
    time.sleep(0.01)
done()
hear()
"""


WRITES_ONE = (
    WRITES[: WRITES.index('open("changed.txt"')]
    + """
open(f"one-{os.getpid()}", "w").write("1")
while not os.path.exists("go"):
    time.sleep(0.01)
done()
hear()
"""
)


def prepared(base: Base) -> None:
    for name, content in (("changed.txt", "one\ntwo\n"), ("gone.txt", "bye\n"), ("tool.sh", "#!/bin/sh\n")):
        (base.repo / name).write_text(content)
    base.cli(WRITES)


async def test_what_an_agent_left_that_was_stopped_in_the_middle_of_a_turn_is_shown(base: Base) -> None:
    prepared(base)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await until((base.repo / "wrote").exists)
        await chaperon("stop", "a1", "--force")
        await ended(daemon)
        (base.repo / "later").write_text("by somebody else")
        assert "7 files changed, lines: 3 added" in (await chaperon("diff", "a1", "--stat")).output
        shown = (await chaperon("show", "a1")).output
        assert "later" not in shown
        assert "changed.txt, gone.txt, link and 4 more" in shown


async def test_what_changed_is_shown_line_by_line_while_it_runs_and_after_its_end(base: Base) -> None:
    prepared(base)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await until((base.repo / "wrote").exists)
        shown = (await chaperon("diff", "a1")).output
        assert "--- a/changed.txt\n+++ b/changed.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+two \\x1b[31mred\n" in shown
        assert "deleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n" in shown
        assert "old mode 100644\nnew mode 100755\n" in shown
        assert "new file mode 120000\n" in shown
        assert "Binary files /dev/null and b/new.bin differ" in shown
        assert "n\\xffme" in shown
        (base.repo / "go").touch()
        await ended(daemon)
        later = json.loads((await chaperon("diff", "a1", "--json")).output)
        files = {each["path"]: each for each in later["files"]}
        assert (files["changed.txt"]["added"], files["changed.txt"]["removed"]) == (1, 1)
        assert "\x1b[31m" in files["changed.txt"]["patch"]
        assert files["new.bin"]["binary"]
        assert later["until"]
        stat = (await chaperon("diff", "a1", "--stat")).output.splitlines()
        assert stat[0].split() == ["ADDED", "REMOVED", "CHANGE", "FILE"]
        assert " files changed, lines: " in stat[-1]


async def test_a_diff_from_a_checkpoint_leaves_out_what_was_before_it(base: Base) -> None:
    prepared(base)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await until((base.repo / "wrote").exists)
        assert (await chaperon("checkpoint", "half-way", "--agent", "a1")).exit_code == 0
        (base.repo / "late.txt").write_text("late\n")
        (only,) = json.loads((await chaperon("diff", "a1", "--from", "half-way", "--json")).output)["files"]
        assert (only["path"], only["change"], only["added"]) == ("late.txt", "added", 1)
        assert (await chaperon("diff", "a1", "--from", "nothing")).exit_code == 1
        (base.repo / "go").touch()


async def test_of_an_agent_whose_workspace_has_gone_the_diff_is_still_there(base: Base, tmp_path: Path) -> None:
    prepared(base)
    base.config["workspaces"] = {"mode": "new"}
    who = ["git", "-C", str(base.repo), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*who, "add", "."], check=True)
    subprocess.run([*who, "commit", "-qm", "first"], check=True)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        workspace = Path(daemon.board.summary("a1").workspace)
        await until((workspace / "wrote").exists)
        (workspace / "go").touch()
        await ended(daemon)
        assert (await chaperon("rm", "a1", "--force")).exit_code == 0
        assert not workspace.exists()
        assert "-two\n" in (await chaperon("diff", "a1")).output
        assert "changed" in (await chaperon("show", "a1")).output


async def test_one_that_changed_nothing_and_one_that_is_not_there_are_told_apart(base: Base) -> None:
    base.cli("begin()\nwhile True:\n    hear()")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await until(lambda: bool(base.events(events.CheckpointMade)))
        assert (await chaperon("diff", "a1")).output.startswith("Nothing changed from checkpoint ")
        assert (await chaperon("diff", "nobody")).exit_code == 1


async def test_what_agents_changed_in_the_same_files_is_not_said_to_be_the_work_of_one(base: Base) -> None:
    base.cli(WRITES_ONE)
    async with served(base) as (daemon, client):
        for name in ("a1", "a2"):
            await daemon.submit(base.submission(name=name), by="test")
        await until(lambda: len(list(base.repo.glob("one-*"))) == 2)
        (base.repo / "go").touch()
        for name in ("a1", "a2"):
            await ended(daemon, name)
        for path in ("changes", "diff"):
            assert (await client.get(f"/v1/agents/a1/{path}")).json()["shared_with"] == ["a2"]
        assert "(by it or by a2, in the same files)" in (await chaperon("show", "a1")).output
        shown = await chaperon("diff", "a1")
        assert "changed (by it or by a2, in the same files), lines: " in shown.output.splitlines()[-1]
        await daemon.submit(base.submission(name="a3"), by="test")
        await ended(daemon, "a3")
        assert (await client.get("/v1/agents/a3/changes")).json()["shared_with"] == [], "they had ended before"
