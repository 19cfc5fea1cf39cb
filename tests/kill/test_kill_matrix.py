"""The daemon is killed at every write of a run, and half-way through it; the next one loses nothing and doubles nothing."""

import json
import subprocess
from pathlib import Path

import orjson
import psutil
import pytest

from monitors.contract.words import Decision
from supervisor.protocol import events
from supervisor.protocol.records import JournalRecord
from supervisor.protocol.words import AgentState
from supervisor.runtime.clock import Clock
from supervisor.runtime.journal.reader import read_lines, read_records
from supervisor.runtime.protection.keys import load_key
from supervisor.runtime.protection.seals import RecordSeals
from tests.kill.daemon import STAND_IN
from tests.stages import forked
from tests.stages.cli_program import write_cli

pytestmark = pytest.mark.slow

PLAN = ["ls", "rm -rf /home/somebody", "git push --force origin main", "echo fine"]
RAN = ["ls", "git push --force-with-lease origin main", "echo fine"]
"""What the stand-in runs: it notes the command that it asked for, where the hook allowed it."""

WRITES = 60
"""More writes than a run has; the matrix ends where a run comes through unkilled."""


def prepare(base: Path) -> None:
    (base / "repo").mkdir(parents=True)
    (base / "home").mkdir()
    subprocess.run(["git", "init", "--quiet", str(base / "repo")], check=True)
    (base / "repo" / "plan.json").write_text(json.dumps(PLAN))
    write_cli(base / "claude", STAND_IN.read_text())


def daemon(base: Path, kill_at: int = 0, share: float = 0.0) -> subprocess.CompletedProcess[str]:
    return forked.run("tests.kill.daemon", base, kill_at, share, seconds=50)


def journal(base: Path) -> list[JournalRecord]:
    return list(read_records(base / "state" / "journal"))


def assert_whole(base: Path) -> None:
    """Everything that the CLI said is in the journal once; what ran was reviewed first; the run came to its end."""
    records = journal(base)
    assert [record.n for record in records] == list(range(1, len(records) + 1))
    received = [record.event.frame for record in records if isinstance(record.event, events.LineReceived)]
    printed = [orjson.loads(line) for line in (base / "state/agents/a1/out.log").read_bytes().splitlines()]
    assert received == printed
    assert (base / "repo" / "ran.log").read_text().splitlines() == RAN
    reviews = [record.event for record in records if isinstance(record.event, events.ReviewMade)]
    assert [review.action.input["command"] for review in reviews] == PLAN
    assert [review.review.decision for review in reviews] == [
        Decision.ALLOW, Decision.BLOCK, Decision.MODIFY, Decision.ALLOW,
    ]  # fmt: skip
    answered = [json.loads(line)[0] for line in (base / "repo" / "answers.log").read_text().splitlines()]
    assert len(answered) == len(set(answered)) == 1 + len(PLAN) + len(RAN)
    states = [record.event.after for record in records if isinstance(record.event, events.StateChanged)]
    assert states == [AgentState.RUNNING, AgentState.FINISHING, AgentState.DONE]


MAIL = "anna.schmidt@firma-geheim.de"
"""What the run has to know in full until its end, and what nothing may have after it."""


def prepare_sealed(base: Path) -> None:
    prepare(base)
    (base / "repo" / "plan.json").write_text(json.dumps([*PLAN, f"touch {MAIL}"]))
    (base / "key").write_text("0123456789abcdef" * 4)
    (base / "key").chmod(0o600)


def assert_whole_and_sealed(base: Path) -> None:
    """What ran is what was asked for, once; the journal can be read with the key, and has nothing in full."""
    assert (base / "repo" / "ran.log").read_text().splitlines() == [*RAN, f"touch {MAIL}"]
    answered = [json.loads(line)[0] for line in (base / "repo" / "answers.log").read_text().splitlines()]
    assert len(answered) == len(set(answered)) == 1 + len(PLAN) + 1 + len(RAN) + 1
    key = load_key(base / "state", f"file:{base / 'key'}", {}, Clock())
    lines = list(read_lines(base / "state" / "journal"))
    assert all(b'"sealed":"1.' in line.data for line in lines if b'"kind":"line_received"' in line.data)
    records = list(read_records(base / "state" / "journal", opened=RecordSeals(key.data).opened))
    assert [record.n for record in records] == list(range(1, len(lines) + 1))
    states = [record.event.after for record in records if isinstance(record.event, events.StateChanged)]
    assert states == [AgentState.RUNNING, AgentState.FINISHING, AgentState.DONE]
    reviews = [record.event for record in records if isinstance(record.event, events.ReviewMade)]
    assert [review.action.input["command"] for review in reviews][:-1] == PLAN
    assert reviews[-1].action.input["command"].startswith("touch [mail:")
    kept = [path for path in (base / "state").rglob("*") if path.is_file() and "checkpoints" not in path.parts]
    assert [path for path in kept if MAIL.encode() in path.read_bytes()] == []


def nobody_left(base: Path) -> bool:
    return not any(str(base) in " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0], ids=["before", "amid", "behind"])
@pytest.mark.timeout(600)
def test_a_daemon_killed_at_any_write_loses_nothing_and_doubles_nothing(tmp_path: Path, share: float) -> None:
    """Every write for the writes as wholes; every third for those cut in the middle and behind."""
    killed = 0
    for kill_at in range(1, WRITES, 1 if share == 0.0 else 3):
        base = tmp_path / str(kill_at)
        prepare(base)
        first = daemon(base, kill_at, share)
        if first.returncode == 0:
            break
        assert first.returncode == -9, first.stderr
        killed += 1
        second = daemon(base)
        assert second.returncode == 0, second.stderr
        assert_adopted(second.stdout)
        assert_whole(base)
        assert nobody_left(base)
    else:
        pytest.fail(f"the run has more than {WRITES} writes")
    assert killed >= (10 if share == 0.0 else 3), "a busy machine groups more events into a write, but never so many"


@pytest.mark.timeout(600)
def test_a_daemon_killed_at_any_write_under_masking_and_encryption_goes_on_with_what_it_needs(tmp_path: Path) -> None:
    killed = 0
    for kill_at in range(2, WRITES, 7):
        base = tmp_path / str(kill_at)
        prepare_sealed(base)
        first = daemon(base, kill_at, (0.5, 0.0, 1.0)[kill_at % 3])
        if first.returncode == 0:
            break
        assert first.returncode == -9, first.stderr
        killed += 1
        second = daemon(base)
        assert second.returncode == 0, second.stderr
        assert_adopted(second.stdout)
        assert_whole_and_sealed(base)
        assert nobody_left(base)
    else:
        pytest.fail(f"the run has more than {WRITES} writes")
    assert killed >= 2, "a busy machine groups more events into a write, but never so many"
    assert daemon(base).returncode == 0  # forgets what the one before had no time for
    assert list((base / "state/sealed").glob("*.sealed")) == []


def assert_adopted(line: str) -> None:
    """The counts add up to the number of agents that were found."""
    counts = json.loads(line)
    assert counts.pop("found") == sum(counts.values()), line


def test_a_daemon_that_is_not_killed_comes_through(tmp_path: Path) -> None:
    """The matrix compares with this run."""
    base = tmp_path / "base"
    prepare(base)
    done = daemon(base)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout).values()) == {0}
    assert_whole(base)


def test_three_daemons_killed_one_after_another_do_not_wear_the_agent_out(tmp_path: Path) -> None:
    base = tmp_path / "base"
    prepare(base)
    for kill_at in (9, 7, 5):
        assert daemon(base, kill_at).returncode == -9
    last = daemon(base)
    assert last.returncode == 0, last.stderr
    assert_whole(base)


def test_the_stand_in_is_a_program_that_can_be_run(tmp_path: Path) -> None:
    write_cli(tmp_path / "claude", STAND_IN.read_text())
    assert subprocess.check_output([tmp_path / "claude", "--version"]) == b"2.1.329 (Claude Code)\n"
    assert subprocess.run([tmp_path / "claude"], stdin=subprocess.DEVNULL, check=False).returncode == 0, (
        "it heard nothing"
    )
