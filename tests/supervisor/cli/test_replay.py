"""Recorded sessions through today's rules, by the command."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support import recorded

FIELDS = {"path", "session_id", "events", "actions", "reviews", "issues", "seconds"}


def chaperon(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "supervisor.cli", "replay", *arguments]
    environ = {**os.environ, "HOME": str(home)}
    return subprocess.run(command, capture_output=True, text=True, timeout=50, check=False, env=environ)


def recording(path: Path, case: str) -> Path:
    """A recording as the CLI printed it."""
    path.write_bytes(b"".join(line + b"\n" for line in recorded(case)))
    return path


def replayed(*paths: Path, home: Path) -> list[dict[str, Any]]:
    done = chaperon("--json", *map(str, paths), home=home)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_each_session_is_an_object_of_the_contract_and_the_totals_come_last(tmp_path: Path) -> None:
    first, second = (recording(tmp_path / f"{case}.jsonl", case) for case in ("plain", "denied"))
    *sessions, totals = replayed(first, second, home=tmp_path)
    assert [session["path"] for session in sessions] == [str(first), str(second)]
    assert all(set(session) >= FIELDS for session in sessions)
    assert totals["totals"]["sessions"] == 2
    assert totals["totals"]["actions"] == sum(session["actions"] for session in sessions) > 0


def test_a_directory_is_looked_through_and_foreign_lines_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    recording(folder / "a.jsonl", "plain")
    (folder / "b.jsonl").write_text("not json\n{}\n")
    good, bad, _totals = replayed(folder, home=tmp_path)
    assert good["events"] > 0
    assert bad["lines"]["damaged"] + bad["lines"]["foreign"] == 2


def test_the_table_ends_with_how_many_were_healthy(tmp_path: Path) -> None:
    done = chaperon("--all", str(recording(tmp_path / "plain.jsonl", "plain")), home=tmp_path)
    assert "1 sessions replayed, 1 of them without an issue." in done.stdout


def test_a_timeline_has_what_ran(tmp_path: Path) -> None:
    done = chaperon("--timeline", str(recording(tmp_path / "plain.jsonl", "plain")), home=tmp_path)
    assert "ran      Bash" in done.stdout


def test_a_path_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    assert chaperon(str(tmp_path / "none.jsonl"), home=tmp_path).returncode == 2
