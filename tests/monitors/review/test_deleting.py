"""What deleting a link reaches: the link, and not what it leads to; on a real file system."""

from pathlib import Path

import pytest

from monitors.contract.actions import Action, Review, ReviewContext
from monitors.contract.words import Decision
from monitors.review import make_reviewer
from supervisor.runtime.filesystem import FileFacts


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    top = tmp_path / "home/ann/work"
    (top / ".venv/bin").mkdir(parents=True)
    (top / "link").symlink_to("/etc/passwd")
    (top / ".venv/bin/python").symlink_to("/usr/bin/python3")
    (top / "state").symlink_to("/var/lib/chaperon")
    (top / "folder").symlink_to("/etc")
    return top


def reviewed(workspace: Path, command: str) -> Review:
    action = Action("Bash", {"command": command}, str(workspace), str(workspace), "u1")
    context = ReviewContext(home=str(workspace.parent), protected=("/var/lib/chaperon",))
    return make_reviewer(facts=FileFacts()).review(action, context)


@pytest.mark.parametrize(
    "command",
    [
        "rm -f link", "rm link", "unlink link", "rm .venv/bin/python", "rm -rf .venv/bin/python", "rm -f folder", "rm -f state",
        "find . -name link -delete", "rm -f ./.venv/bin/../bin/python", "mv link away", "mv notes link", "ln -sf notes link",
        "ln -sfn notes folder", "mv -T notes folder", "install -m 644 notes link",
    ],
)  # fmt: skip
def test_a_link_of_the_workspace_may_go_whatever_it_leads_to(workspace: Path, command: str) -> None:
    review = reviewed(workspace, command)
    assert review.decision is Decision.ALLOW, review.reasoning
    assert all(touch.path.startswith(str(workspace)) for touch in review.touches)


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("rm -f folder/passwd", "files.delete-system"),
        ("rm -rf folder/", "files.delete-top"),
        ("rm -rf state/journal", "chaperon.self-protection"),
        ("echo x > link", ""),
        ("cp notes link", ""),
        ("truncate -s 0 link", ""),
        ("mv notes folder", "files.write-system"),
        ("ln -s notes folder", "files.write-system"),
        ("mv notes folder/", "files.write-system"),
    ],
)
def test_what_goes_through_a_link_reaches_what_that_leads_to(workspace: Path, command: str, rule: str) -> None:
    review = reviewed(workspace, command)
    assert review.decision in (Decision.BLOCK, Decision.WARN)
    assert rule in ("", review.rule)


def test_a_link_outside_of_the_workspace_is_outside(workspace: Path) -> None:
    outside = workspace.parent / "other"
    outside.symlink_to(workspace / "link")
    assert reviewed(workspace, f"rm -f {outside}").rule == "files.delete-outside"
