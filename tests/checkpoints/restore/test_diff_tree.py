"""The picture of what changed."""

from checkpoints.model import Change, Difference
from checkpoints.restore.diff_tree import picture


def test_changed_paths_are_drawn_as_a_tree_with_their_marks() -> None:
    changed = [
        Difference("src/main.py", Change.MODIFIED),
        Difference("README", Change.DELETED),
        Difference("src/new/deep.py", Change.ADDED),
        Difference("src/run.sh", Change.MODE_CHANGED),
        Difference("src", Change.TYPE_CHANGED),
    ]
    assert picture(changed).splitlines() == [
        "- README",
        "% src",
        "  src/",
        "  ~ main.py",
        "    new/",
        "    + deep.py",
        "  x run.sh",
        "1 added, 1 modified, 1 deleted, 1 type changed, 1 mode changed",
    ]


def test_no_change_is_said() -> None:
    assert picture([]) == "nothing changed"
