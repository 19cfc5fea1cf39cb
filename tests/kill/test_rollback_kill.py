"""The daemon is killed at each point of a rollback; the next one finishes it, once."""

import json
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from supervisor.protocol import events
from supervisor.runtime.journal.reader import read_records
from tests.kill.rollback_daemon import STAND_IN
from tests.stages import forked
from tests.stages.cli_program import write_cli
from tests.stages.live import files_of, make_repository

pytestmark = pytest.mark.slow

POINTS = (
    "write:rollback_requested", "wrote:rollback_requested", "wrote:tree_frozen",
    "step:stage", "step:journal applying", "step:take away", "step:put", "step:sync", "step:journal finished",
    "step:put staging away", "step:remove journal",
    "write:tree_ended", "wrote:tree_ended", "wrote:agent_exited", "write:checkpoint_restored",
    "wrote:checkpoint_restored", 'write:"number":2', 'wrote:"number":2',
)  # fmt: skip
"""Where it is killed: from the request to the launch that follows."""


def prepare(base: Path) -> None:
    make_repository(base / "repo", {".gitignore": "ignored/\n", "src/a.txt": "a\n", "ignored/log": "kept\n"})
    (base / "home").mkdir()
    write_cli(base / "claude", STAND_IN.read_text())


def daemon(base: Path, point: str) -> subprocess.CompletedProcess[str]:
    return forked.run("tests.kill.rollback_daemon", base, point, seconds=60)


def assert_gone_back_once(base: Path) -> None:
    """Files as they were, one fork at the right place, told once, nothing run twice, nobody left."""
    assert files_of(base / "repo") == {
        ".gitignore": "ignored/\n",
        "src/a.txt": "a\n",
        "one.txt": "one\n",
        "ignored/log": "kept\n",
    }
    notes: list[dict[str, Any]] = [json.loads(line) for line in (base / "home/told.jsonl").read_text().splitlines()]
    first, second = [note for note in notes if "session" in note]
    assert (second["resume"], second["at"]) == (first["session"], f"reply-{first['session']}-1")
    told = [note["told"] for note in notes if "told" in note]
    assert [text.startswith("do: ") for text in told] == [True, True, False]
    assert "mind the gap" in told[2]
    assert len([note for note in notes if "ran" in note]) == 2
    kept = [record.event for record in read_records(base / "state" / "journal")]
    assert sum(isinstance(event, events.CheckpointRestored) for event in kept) == 1
    restored = next(event for event in kept if isinstance(event, events.CheckpointRestored))
    assert restored.undo
    assert not any(isinstance(event, events.RestoreFailed | events.AgentVanished) for event in kept)
    assert not [
        process for process in psutil.process_iter(["cmdline"]) if str(base) in " ".join(process.info["cmdline"] or ())
    ]


def run(base: Path, point: str) -> None:
    base.mkdir(exist_ok=True)
    prepare(base)
    done = daemon(base, point)
    assert done.returncode == -9, f"{point}: {done.stdout}{done.stderr}"
    done = daemon(base, "never")
    assert done.returncode == 0, f"{point}: {done.stderr}"
    assert_gone_back_once(base)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.timeout(300)
def test_a_rollback_whose_daemon_was_killed_is_finished_by_the_next(tmp_path: Path, point: str) -> None:
    run(tmp_path / "base", point)
