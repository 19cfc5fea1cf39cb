"""The daemon is killed at each point of a project's rollback; the next one brings it to its end, once."""

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from supervisor.protocol import events
from supervisor.runtime.journal.reader import read_records
from tests.stages import forked

pytestmark = pytest.mark.slow

POINTS = (
    'write:"phase":"holding"', 'wrote:"phase":"holding"', "wrote:rollback_requested", "wrote:tree_frozen",
    "after:hold", "write:project_checkpoint_made", "wrote:project_checkpoint_made", 'wrote:"phase":"applying"',
    "wrote:stop_requested", "wrote:agent_exited", "step:remove files", "step:remove administration",
    "step:remove record", "after:discard", "after:set_branches", "after:set_head", "step:stage",
    "step:journal applying", "step:take away", "step:put", "step:journal finished", "step:remove journal",
    "write:tasks_went_back", "wrote:tasks_went_back", 'wrote:"phase":"withdrawn"', 'write:"phase":"done"',
    'wrote:"phase":"done"', "wrote:checkpoint_restored", 'write:"number":2',
)  # fmt: skip
"""Where it is killed: from the request to the launch that follows."""

SAMPLED = sorted({*POINTS[::3], 'wrote:"phase":"applying"'}, key=POINTS.index)
"""The points of one run, so that it ends in time: `python -m tests.kill.test_project_kill FOLDER` plays all of them."""

RETURN_POINTS = (
    'wrote:"phase":"returning"',
    "after:set_branches",
    "after:make_again",
    "step:put",
    'wrote:"phase":"failed"',
)
"""Where it is killed while a rollback that could not be completed is undone."""

RETURN_AT_ONCE = RETURN_POINTS[0], RETURN_POINTS[3]


def daemon(base: Path, point: str, *how: str) -> subprocess.CompletedProcess[str]:
    return forked.run("tests.kill.project_daemon", base, point, *how, seconds=120)


def run(base: Path, point: str) -> None:
    base.mkdir(exist_ok=True)
    done = daemon(base, point)
    assert done.returncode == -9, f"{point}: {done.returncode} {done.stdout}{done.stderr[-2000:]}"
    done = daemon(base, "never")
    assert done.returncode == 0, f"{point}: {done.stderr[-3000:]}"
    assert json.loads(done.stdout) == {
        "as it was": True,
        "closed": True,
        "tasks": ["pending", "pending"],
        "merges": ["withdrawn"],
        "ended": "stopped",
        "undo": True,
    }, point
    kept = [record.event for record in read_records(base / "state" / "journal")]
    assert sum(isinstance(event, events.TasksWentBack) for event in kept) == 1, point
    restored = [event for event in kept if isinstance(event, events.CheckpointRestored)]
    assert [event.agent for event in restored] == ["a1"], point
    assert not any(isinstance(event, events.RestoreFailed) and not event.needless for event in kept), point
    assert not [
        process for process in psutil.process_iter(["cmdline"]) if str(base) in " ".join(process.info["cmdline"] or ())
    ], point


@pytest.mark.parametrize("point", SAMPLED)
@pytest.mark.timeout(300)
def test_a_projects_rollback_whose_daemon_was_killed_is_finished_by_the_next(tmp_path: Path, point: str) -> None:
    run(tmp_path / "base", point)


def run_return(base: Path, point: str) -> None:
    base.mkdir(exist_ok=True)
    done = daemon(base, point, "returning")
    assert done.returncode == -9, f"{point}: {done.returncode} {done.stdout}{done.stderr[-2000:]}"
    done = daemon(base, "never", "returning")
    assert done.returncode == 0, f"{point}: {done.stderr[-3000:]}"
    assert json.loads(done.stdout) == {
        "as it was": True,
        "tasks": ["done", "done"],
        "merges": ["merged"],
        "said": True,
        "launches": 1,
    }, point


@pytest.mark.parametrize("point", RETURN_AT_ONCE)
@pytest.mark.timeout(300)
def test_a_daemon_killed_while_it_undoes_a_rollback_that_failed_leaves_the_rest_to_the_next(
    tmp_path: Path, point: str
) -> None:
    run_return(tmp_path / "base", point)


if __name__ == "__main__":
    for number, point in enumerate(RETURN_POINTS):
        run_return(Path(sys.argv[1]) / f"return-{number}", point)
    for number, point in enumerate(POINTS):
        run(Path(sys.argv[1]) / str(number), point)
