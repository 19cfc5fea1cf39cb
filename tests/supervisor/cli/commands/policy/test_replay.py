"""Recorded sessions through today's rules, by the command."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from supervisor.config.model import Config
from supervisor.protocol import events, records
from supervisor.runtime.assembly.policy import digest_of
from supervisor.runtime.assembly.policy_store import keep_policy
from supervisor.runtime.journal.archive import SummaryArchive
from tests.eval.inject import inject
from tests.eval.sessions import Writer, healthy
from tests.stages import forked
from tests.supervisor.core.replay.test_journal_replay import played
from tests.support import recorded

pytestmark = pytest.mark.slow

PLUGIN = """
from monitors import Decision, Issue, Review, Severity

class Curious:
    name = "curiosity"
    def review(self, action, context):
        decision = Decision.BLOCK if "curious" in str(action.input) else Decision.ALLOW
        return Review(decision, 0.5, 0.5, Severity.LOW, "It is curious.", "own.curious")
    def see(self, observation):
        seen = type(observation).__name__ == "ToolReturned" and "curious" in str(observation.input)
        return [Issue("curiosity", Severity.LOW, 0.5, 0.1, observation.seq, "It is curious.")] if seen else []

make_reviewer = Curious

def make_detector(task):
    return Curious()
"""

FIELDS = {"path", "session_id", "events", "actions", "reviews", "issues", "seconds"}


def chaperon(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "HOME": str(home)}
    return forked.run("supervisor.cli", "replay", *arguments, seconds=50, environ=environ)


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
    good, bad, totals = replayed(folder, home=tmp_path)
    assert good["events"] > 0
    assert bad["lines"]["damaged"] + bad["lines"]["foreign"] == 2
    assert totals["totals"]["sessions"] == 1
    shown = chaperon(str(folder / "b.jsonl"), home=tmp_path).stdout.splitlines()
    assert shown == [
        "0 sessions replayed, 0 without an issue.",
        "2 lines damaged or no line of a session, and passed over.",
    ]


def test_the_table_ends_with_how_many_were_healthy(tmp_path: Path) -> None:
    done = chaperon("--all", str(recording(tmp_path / "plain.jsonl", "plain")), home=tmp_path)
    assert "1 session replayed, 1 without an issue." in done.stdout


def test_the_worst_session_stands_first_in_the_table_with_what_would_be_done(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for name, pattern in (("a", "repetition"), ("b", "test_tampering")):
        (folder / f"{name}.jsonl").write_bytes(b"\n".join(inject(healthy(1), pattern, 1).lines))
    for number in range(5):
        (folder / f"well{number}.jsonl").write_bytes(b"\n".join(healthy(number)))
    done = chaperon(str(folder), home=tmp_path)
    _head, first, second, last, lacks = done.stdout.splitlines()
    assert "Not known of the moment" in lacks
    assert first.split()[3:5] == ["test_tampering", "(high)"]
    assert (first.split()[5], first.endswith("b.jsonl"), second.endswith("a.jsonl")) == (
        "context_reinforcement",
        True,
        True,
    )
    assert last == "7 sessions replayed, 5 without an issue."


def test_a_timeline_has_what_ran_when_and_what_would_have_been_stopped(tmp_path: Path) -> None:
    session = Writer()
    session.asks("tidy up")
    session.bash("ls", "a")
    session.bash("rm -rf /home/ann/photos", "")
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"\n".join(session.lines))
    done = chaperon("--timeline", str(path), home=tmp_path)
    listed, stopped, ran = [line.split(maxsplit=3) for line in done.stdout.splitlines()[2:5]]
    assert listed[2:] == ["ran", "Bash ls → a"]
    assert (stopped[0], stopped[2], "/home/ann/photos" in stopped[3]) == (ran[0], "block", True)
    assert timedelta_of(listed[1]) < timedelta_of(ran[1])


def timedelta_of(shown: str) -> list[int]:
    return [int(part) for part in shown.split(":")]


def test_plugins_and_rules_of_ones_own_are_asked_as_by_the_daemon(tmp_path: Path) -> None:
    plugin = tmp_path / "own.py"
    plugin.write_text(PLUGIN)
    settings = {
        "plugins": {"reviewers": [str(plugin)], "detectors": [str(plugin)]},
        "rules": [{"name": "own.no-ls", "tool": "Bash", "match": "^ls", "decision": "block", "reason": "No."}],
    }
    config = tmp_path / ".config" / "chaperon" / "chaperon.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps(settings))
    session = Writer()
    for command in ("ls", "echo curious", "make"):
        session.bash(command, "")
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"\n".join(session.lines))
    found, _totals = replayed(path, home=tmp_path)
    assert found["reviews"] == {"block": 2, "allow": 1}
    assert [issue["type"] for issue in found["issues"]] == ["curiosity"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.jsonl"], "does not exist"),
        (["."], "no .jsonl file below these paths"),
        (["--timeline", "--json", "."], "--timeline is for people"),
    ],
)
def test_what_cannot_be_replayed_is_wrong_usage(arguments: list[str], said: str, tmp_path: Path) -> None:
    done = chaperon(*arguments[:-1], str(tmp_path / arguments[-1]), home=tmp_path)
    assert (done.returncode, said in done.stderr) == (2, True)


def test_a_file_that_cannot_be_read_is_told_and_the_rest_is_replayed(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    recording(folder / "good.jsonl", "plain")
    (folder / "bad.jsonl").symlink_to("/proc/self/mem")
    (folder / "gone.jsonl").symlink_to(folder / "nowhere")
    done = chaperon("--all", str(folder), home=tmp_path)
    assert (done.returncode, "bad.jsonl cannot be read" in done.stderr) == (1, True)
    assert "1 session replayed" in done.stdout


def journal(folder: Path, agents: int) -> Path:
    """A journal in two segments, of agents that list their files three times."""
    folder.mkdir()
    happened: list[events.AnyEvent] = []
    for number in range(agents):
        happened += [replace(event, agent=f"a{number + 1}") for _, event in played(["ls"] * 3)]
    write(folder, happened)
    return folder


def write(folder: Path, happened: list[events.AnyEvent]) -> None:
    """Write a journal in two segments."""
    half, previous = len(happened) // 2, records.ORIGIN
    for first, part in ((1, happened[:half]), (half + 1, happened[half:])):
        head, previous = records.encode_header(first, previous)
        segment = [head]
        for n, event in enumerate(part, first):
            line, previous = records.encode(n, event, previous)
            segment.append(line)
        (folder / f"{first:020}.jsonl").write_bytes(b"".join(segment))


def started(policy: str, n: int) -> events.DaemonStarted:
    return events.DaemonStarted(agent="", at=1.0 * n, mono=1.0 * n, version="1", pid=1, boot_id="b", policy=policy)


def test_a_journals_calls_are_reviewed_by_the_policy_that_counted_then_and_by_todays_if_asked(tmp_path: Path) -> None:
    rule = {"name": "own.no-ls", "tool": "Bash", "match": "^ls", "decision": "block", "reason": "No."}
    strict, loose = Config.model_validate({"rules": [rule]}), Config()
    for each in (strict, loose):
        keep_policy(tmp_path / "policies", each)
    lived = [event for _, event in played(["ls"] * 3)]
    reviews = [place for place, event in enumerate(lived) if event.kind == "review_made"]
    changed = events.PolicyChanged(agent="", at=9.0, mono=9.0, digest=digest_of(loose), before=digest_of(strict))
    happened = [started(digest_of(strict), 1), *lived[: reviews[1] + 1], changed, *lived[reviews[1] + 1 :]]
    (tmp_path / "journal").mkdir()
    write(tmp_path / "journal", happened)
    then, _ = replayed(tmp_path / "journal", home=tmp_path)
    assert then["reviews"] == {"block": 2, "allow": 1}
    assert then["policies"] == [digest_of(strict), digest_of(loose)]
    assert "the policy of the time" not in then["lacks"]
    done = chaperon("--json", "--policy", "today", str(tmp_path / "journal"), home=tmp_path)
    today = json.loads(done.stdout.splitlines()[0])
    assert (today["reviews"], today["policies"]) == ({"allow": 3}, [""])
    (tmp_path / "policies" / f"{digest_of(strict)}.json").unlink()
    without, _ = replayed(tmp_path / "journal", home=tmp_path)
    assert without["reviews"] == {"allow": 3}
    assert "the policy of the time" in without["lacks"]


def test_the_archive_of_ended_agents_is_no_journal(tmp_path: Path) -> None:
    folder = journal(tmp_path / "journal", 1)
    SummaryArchive(tmp_path, "1").append(1, [b'{"agent":"a1"}'])
    sessions = replayed(tmp_path, home=tmp_path)
    assert [one["path"] for one in sessions if "path" in one and one["actions"]] == [f"{folder}#a1"]
    assert sessions[-1]["totals"]["damaged_lines"] == 0


def test_of_a_state_directory_the_journal_is_replayed_and_no_other_file(tmp_path: Path) -> None:
    folder = journal(tmp_path / "journal", 1)
    (tmp_path / "incidents.jsonl").write_text('{"time":"2026-11-23T09:00:00Z","severity":"low"}\n')
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "ledger.jsonl").write_text("5 a line of another kind\n")
    one, totals = replayed(tmp_path, home=tmp_path)
    assert one["path"] == f"{folder}#a1"
    assert totals["totals"]["damaged_lines"] == 0


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
