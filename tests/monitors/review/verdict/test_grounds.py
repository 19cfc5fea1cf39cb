"""What reviews rest on, with a real file system: noted by the review, and looked at again."""

import os
from pathlib import Path
from typing import Any

import pytest

from monitors.contract.actions import Action, Review, ReviewContext
from monitors.review import make_reviewer
from monitors.review.verdict.grounds import MAX_GROUNDS, Shaken, shaken
from supervisor.runtime.filesystem import FileFacts

FINE, BAD = "echo fine\n", "rm -rf ~/notes\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    top = tmp_path / "workspace"
    (top / "real").mkdir(parents=True)
    (top / "build.sh").write_text(FINE)
    return top


def reviewed(workspace: Path, tool: str = "Bash", **given: Any) -> Review:
    action = Action(tool, given, str(workspace), str(workspace), "u1")
    return make_reviewer(facts=FileFacts()).review(action, ReviewContext(home="/home/ann"))


def looked(review: Review, *, succeeded: bool = True, **given: Any) -> Shaken:
    return shaken(review, given, FileFacts(), succeeded=succeeded)


@pytest.mark.parametrize("command", ["sh build.sh", "bash ./build.sh x", ". ./build.sh", "cd real && sh ../build.sh"])
def test_a_script_that_is_run_by_name_is_a_ground_of_the_review(workspace: Path, command: str) -> None:
    review = reviewed(workspace, command=command)
    assert [(ground.kind, ground.path) for ground in review.grounds] == [("script", str(workspace / "build.sh"))]
    assert looked(review) == Shaken()


def test_a_script_of_another_text_is_found_though_it_has_the_same_name(workspace: Path) -> None:
    review = reviewed(workspace, command="sh build.sh")
    (workspace / "other.sh").write_text(BAD)
    (workspace / "other.sh").rename(workspace / "build.sh")
    assert looked(review) == Shaken(scripts=(str(workspace / "build.sh"),))


def test_a_script_that_the_command_itself_writes_or_that_has_gone_was_not_swapped(workspace: Path) -> None:
    written = reviewed(workspace, command="sh build.sh; echo echo more > build.sh")
    gone = reviewed(workspace, command="sh build.sh")
    (workspace / "build.sh").write_text("echo more\n")
    assert looked(written) == Shaken()
    (workspace / "build.sh").unlink()
    assert looked(gone) == Shaken()


@pytest.mark.parametrize("command", ["make && sh build.sh", "git pull; ./build.sh", "echo x > build.sh; sh build.sh"])
def test_a_script_that_the_command_may_have_made_itself_is_no_ground(workspace: Path, command: str) -> None:
    (workspace / "build.sh").chmod(0o755)
    assert reviewed(workspace, command=command).grounds == ()


def test_a_program_is_no_script(workspace: Path) -> None:
    (workspace / "app").write_bytes(b"\x7fELF\0\0")
    assert reviewed(workspace, command="./app").grounds == ()


def test_what_is_only_read_is_no_ground(workspace: Path) -> None:
    assert reviewed(workspace, command="cat build.sh; ls").grounds == ()


def test_no_more_grounds_are_listed_than_anybody_needs(workspace: Path) -> None:
    for number in range(MAX_GROUNDS + 5):
        (workspace / f"{number}.sh").write_text(FINE)
    scripts = " ".join(f"{number}.sh" for number in range(MAX_GROUNDS + 5))
    assert len(reviewed(workspace, command=f"for one in {scripts}; do . $one; done").grounds) <= MAX_GROUNDS


def write(workspace: Path, path: str = "d/new.txt", content: str = "words\n") -> tuple[Review, dict[str, Any]]:
    given = {"file_path": str(workspace / path), "content": content}
    return reviewed(workspace, "Write", **given), given


def test_a_file_that_was_written_where_it_was_reviewed_is_as_it_should_be(workspace: Path) -> None:
    (workspace / "d").symlink_to("real")
    review, given = write(workspace)
    assert [ground.path for ground in review.grounds] == [str(workspace / "real/new.txt")]
    (workspace / "d/new.txt").write_text("words\n")
    assert looked(review, **given) == Shaken()


@pytest.mark.parametrize("back", [True, False])
def test_a_file_that_a_turned_link_led_elsewhere_is_found_though_the_link_leads_back(
    workspace: Path, back: bool
) -> None:
    outside = workspace.parent / "outside"
    outside.mkdir()
    (workspace / "d").symlink_to("real")
    review, given = write(workspace)
    turn(workspace / "d", outside)
    (workspace / "d/new.txt").write_text("words\n")
    if back:
        turn(workspace / "d", Path("real"))
    assert looked(review, **given) == Shaken(elsewhere=(str(workspace / "real/new.txt"),))


def turn(link: Path, to: Path) -> None:
    link.with_name("turned").symlink_to(to)
    link.with_name("turned").rename(link)


def test_a_call_that_failed_wrote_nothing_anywhere(workspace: Path) -> None:
    review, given = write(workspace)
    assert looked(review, succeeded=False, **given) == Shaken()


def test_a_file_that_had_the_text_already_may_be_left_as_it_is(workspace: Path) -> None:
    (workspace / "same.txt").write_text("one\r\ntwo\r\n")
    review, given = write(workspace, "same.txt", "one\ntwo\n")
    assert looked(review, **given) == Shaken()


@pytest.mark.parametrize("changed", [True, False])
def test_an_edit_changes_the_file_or_was_made_elsewhere(workspace: Path, changed: bool) -> None:
    path = workspace / "text.txt"
    path.write_text("one\n")
    given = {"file_path": str(path), "old_string": "one", "new_string": "two"}
    review = reviewed(workspace, "Edit", **given)
    if changed:
        path.write_text("two\n")
    assert shaken(review, given, FileFacts(), succeeded=True) == (
        Shaken() if changed else Shaken(elsewhere=(str(path),))
    )


def test_a_target_that_nobody_can_look_at_is_no_ground(workspace: Path) -> None:
    (workspace / "circle").symlink_to("circle")
    review, _ = write(workspace, "circle/new.txt")
    assert review.grounds == ()
    assert not os.path.lexists(workspace / "circle/new.txt")
