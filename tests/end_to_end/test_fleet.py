"""A fleet: three real CLIs, twelve dependent tasks, two repositories, and all that goes wrong with them.

It is played as a person plays it. The rehearsal itself compares files, commits and the journal; what is looked at here
is read anew, without its code.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.stages import forked
from tests.support import processes_in

pytestmark = [pytest.mark.real_cli, pytest.mark.slow, pytest.mark.timeout(900)]

SECONDS = 700


def test_twelve_tasks_come_to_the_right_end_though_a_daemon_a_cli_a_limit_a_conflict_and_people_are_in_the_way(
    tmp_path: Path, real_claude: Path
) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CHAPERON_AGENT__COMMAND": str(real_claude)}
    command = ("supervisor.cli", "rehearse", "fleet", "--json", "--keep")
    done = forked.run(*command, seconds=SECONDS, environ=environ)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert (told["passed"], told["findings"]) == (True, [])
    assert (len(told["tasks"]), set(told["tasks"].values())) == (12, {"done"})
    (base,) = (tmp_path / ".local/share/chaperon").glob("rehearsal-*")
    assert base.name in done.stderr
    for name, files in (("shop", "prices.txt"), ("docs", "notes.md")):
        git = ["git", "-C", str(base / "repositories" / name)]
        assert subprocess.run([*git, "fsck", "--strict"], check=True, capture_output=True).returncode == 0
        assert subprocess.run([*git, "status", "--porcelain"], check=True, capture_output=True).stdout == b""
        shown = subprocess.run([*git, "show", f"main:{files}"], check=True, capture_output=True).stdout
        assert shown == {"shop": b"eu 12\nus 15\n", "docs": b"Release 1.0\n"}[name]
    segments = sorted((base / "state/journal").glob("*.jsonl"))
    lines = [json.loads(line) for path in segments for line in path.read_bytes().splitlines()]
    starts = [line for line in lines if line.get("kind") == "daemon_started"]
    stops = [line for line in lines if line.get("kind") == "daemon_stopped"]
    assert (len(starts), len(stops)) == (2, 1), "one daemon was killed, and the other one ended in order"
    assert processes_in(tmp_path) == []
