"""What is not as expected of a fleet's end is found: a byte, a file, a branch, a commit, a trailer, a state, an event."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from supervisor.rehearsal.fleets.fleet_check import check_fleet
from supervisor.rehearsal.fleets.fleet_scenario import FleetScenario, read_fleet
from supervisor.rehearsal.fleets.moments import FleetMoments
from tests.stages.branches import git
from tests.supervisor.rehearsal.fleets.test_fleet_scenario import SMALL

EXPECTED = """
  repositories:
    shop: {files: {a.txt: "one\\n", in/b.txt: "two\\n"}, commits: {Add it: one}}
  at_once: 2
  stories: {short: [{kind: tasks_added}, {kind: task_moved, after: done}]}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> FleetScenario:
    shop = tmp_path / "shop"
    (shop / "in").mkdir(parents=True)
    git(shop, "init", "-q", "-b", "main")
    for name, value in (("user.name", "T"), ("user.email", "t@x"), ("commit.gpgsign", "false")):
        git(shop, "config", name, value)
    (shop / "a.txt").write_text("one\n")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "first")
    (shop / "in/b.txt").write_text("two\n")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "Add it\n\nChaperon-Task: t-1\n")
    return read_fleet(SMALL.partition("  repositories: {shop: {files")[0] + EXPECTED)


LAUNCHES = (("agent_launched", "a"), ("agent_exited", "a"), ("agent_launched", "b"), ("agent_launched", "a"),
            ("agent_launched", "a"), ("agent_vanished", "b"), ("agent_launched", "c"))  # fmt: skip
"""Two at once, whoever was launched again."""


def found(
    fleet: FleetScenario,
    tmp_path: Path,
    *,
    state: str = "done",
    launches: Sequence[tuple[str, str]] = LAUNCHES,
) -> str:
    moments = FleetMoments(fleet, {"shop": str(tmp_path / "shop")}, lambda *_: False)
    moments.ids["one"] = "t-1"
    moments.take({"kind": "tasks_added", "tasks": [{"id": "t-1"}]})
    moments.take({"kind": "task_moved", "task": "t-1", "after": state, "why": "as it came"})
    for kind, agent in launches:
        moments.take({"kind": kind, "agent": agent})
    return "\n".join(one.says for one in check_fleet(fleet, moments, {"shop": str(tmp_path / "shop")}))


def test_an_end_that_is_as_expected_is_no_finding(fleet: FleetScenario, tmp_path: Path) -> None:
    assert found(fleet, tmp_path) == ""


def test_a_byte_a_file_too_many_and_one_too_few_are_found_in_the_branch_and_on_the_disk(
    fleet: FleetScenario, tmp_path: Path
) -> None:
    (tmp_path / "shop/a.txt").write_text("One\n")
    (tmp_path / "shop/in/b.txt").unlink()
    (tmp_path / "shop/c.txt").touch()
    said = found(fleet, tmp_path)
    assert "should be b'one\\n' and is b'One\\n'" in said
    assert "shop lacks in/b.txt." in said
    assert "has c.txt, which was not expected" in said
    assert "main of shop" not in said
    git(tmp_path / "shop", "add", ".")
    git(tmp_path / "shop", "commit", "-qm", "more")
    assert "main of shop lacks in/b.txt." in found(fleet, tmp_path)


def test_a_branch_that_was_left_and_a_commit_of_another_task_are_found(fleet: FleetScenario, tmp_path: Path) -> None:
    git(tmp_path / "shop", "branch", "left")
    assert "should have the branches main and has" in found(fleet, tmp_path)
    git(tmp_path / "shop", "commit", "--amend", "-qm", "Add it\n\nChaperon-Task: t-9\n")
    assert "The commit 'Add it' should name task t-1 and names t-9." in found(fleet, tmp_path)
    git(tmp_path / "shop", "commit", "--amend", "-qm", "Other")
    assert "should be ['Add it'] and are ['Other']" in found(fleet, tmp_path)


@pytest.mark.parametrize(("launches", "most"), [(LAUNCHES[:2], 1), ((*LAUNCHES, ("agent_launched", "b")), 3), ((), 0)])
def test_more_or_fewer_clis_at_once_than_expected_are_found(
    fleet: FleetScenario, tmp_path: Path, launches: Sequence[tuple[str, str]], most: int
) -> None:
    assert found(fleet, tmp_path, launches=launches).endswith(f"2 CLIs should have run at once; there were {most}.")


def test_a_task_in_another_state_and_an_event_that_never_came_are_found(fleet: FleetScenario, tmp_path: Path) -> None:
    said = found(fleet, tmp_path, state="parked")
    assert "Task 'one' should be done and is parked: as it came" in said
    assert "The journal does not tell of {'kind': 'task_moved', 'after': 'done'} at its place." in said
