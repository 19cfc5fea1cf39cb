"""Recorded sessions through today's rules, by the command."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from supervisor.protocol import events, records
from tests.supervisor.core.test_rerun import played
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


def journal(folder: Path, agents: int) -> Path:
    """A journal in two segments, of agents that list their files three times."""
    folder.mkdir()
    happened: list[events.AnyEvent] = []
    for number in range(agents):
        happened += [replace(event, agent=f"a{number + 1}") for _, event in played(["ls"] * 3)]
    half, previous = len(happened) // 2, records.ORIGIN
    for first, part in ((1, happened[:half]), (half + 1, happened[half:])):
        head, previous = records.encode_header(first, previous)
        segment = [head]
        for n, event in enumerate(part, first):
            line, previous = records.encode(n, event, previous)
            segment.append(line)
        (folder / f"{first:020}.jsonl").write_bytes(b"".join(segment))
    return folder


def test_a_journal_is_a_session_for_each_agent_over_all_its_segments(tmp_path: Path) -> None:
    folder = journal(tmp_path / "journal", 2)
    last = max(folder.iterdir())
    last.write_bytes(last.read_bytes() + b'{"n":9999,"torn')
    one, two, totals = replayed(folder, home=tmp_path)
    assert [session["path"] for session in (one, two)] == [f"{folder}#a1", f"{folder}#a2"]
    assert [[issue["type"] for issue in session["issues"]] for session in (one, two)] == [["repetition"]] * 2
    assert one["lines"]["damaged"] == 1
    assert totals["totals"]["actions"] == 6
    timeline = chaperon("--timeline", str(folder), home=tmp_path).stdout
    assert timeline.count("issue    repetition (medium)") == 2
