"""Going back: exactly there, and never over what nobody captured."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from checkpoints.errors import CheckpointError, RestoreFailedError, RestoreRefusedError, StoreDamagedError
from checkpoints.git.trees import files_in
from checkpoints.model import Change, Checkpoint, Reason, RestoreResult
from checkpoints.restore.restore import Restorer
from checkpoints.store.restore_journal import interrupted
from checkpoints.store.store import Store
from checkpoints.store.upkeep import maintain
from checkpoints.workspace.capture import Capturer, CaptureSettings
from tests.checkpoints.support import BOTH, MOMENT, git, packs_of, shape
from tests.checkpoints.workspace.test_capture import Capturing, Opening


def go_back(capturer: Capturer, target: Checkpoint, *, thorough: bool = False) -> RestoreResult:
    restorer = Restorer(capturer)
    plan = restorer.plan(target, MOMENT, thorough=thorough)
    return restorer.restore(plan, confirmed=True, unusual_confirmed=True)


@BOTH
@pytest.mark.parametrize("thorough", [False, True])
def test_going_back_and_undoing_it_bring_back_every_byte(workspace: Path, capturer: Capturer, thorough: bool) -> None:
    then = shape(workspace)
    target = capturer.capture(MOMENT)
    (workspace / "README").write_bytes(b"\r\n\0 other")
    (workspace / "src/run.sh").chmod(0o644)
    (workspace / "src/link").unlink()
    (workspace / "src/link").symlink_to("/etc/passwd")
    (workspace / "src/main.py").unlink()
    (workspace / "src/main.py").mkdir()
    (workspace / "src/main.py/inner").write_text("in a folder that was a file")
    (workspace / "new/deep").mkdir(parents=True)
    (workspace / "new/deep/file").write_text("new")
    (workspace / "empty").mkdir()
    now = shape(workspace)
    result = go_back(capturer, target, thorough=thorough)
    assert shape(workspace) == then
    assert result.kept == ()
    go_back(capturer, capturer.store.find(result.undo), thorough=thorough)
    assert shape(workspace) == now


def test_index_head_branches_and_config_stay_untouched(workspace: Path, capturer: Capturer) -> None:
    target = capturer.capture(MOMENT)
    (workspace / "README").write_text("staged")
    git(workspace, "add", "README")
    git(workspace, "checkout", "-q", "-b", "other")
    (workspace / "README").write_text("not staged")
    inside = {path: path.read_bytes() for path in sorted((workspace / ".git").rglob("*")) if path.is_file()}
    go_back(capturer, target)
    assert (workspace / "README").read_text() == "read me\n"
    assert {path: path.read_bytes() for path in sorted((workspace / ".git").rglob("*")) if path.is_file()} == inside


def test_the_plan_says_what_happens_and_what_is_lost(workspace: Path, capturer: Capturer) -> None:
    target = capturer.capture(MOMENT)
    (workspace / "README").write_text("other")
    (workspace / "new").write_text("new")
    (workspace / "src/main.py").unlink()
    (workspace / "src/run.sh").chmod(0o644)
    (workspace / "src/link").unlink()
    (workspace / "src/link").write_text("a file")
    plan = Restorer(capturer).plan(target, MOMENT)
    both_ways = {
        ("README", Change.MODIFIED),
        ("src/run.sh", Change.MODE_CHANGED),
        ("src/link", Change.TYPE_CHANGED),
    }
    assert {(one.path, one.change) for one in plan.changes} == {
        *both_ways,
        ("new", Change.DELETED),
        ("src/main.py", Change.ADDED),
    }
    assert {(one.path, one.change) for one in plan.lost} == {
        *both_ways,
        ("new", Change.ADDED),
        ("src/main.py", Change.DELETED),
    }
    assert plan.undo.facts.reason is Reason.UNDO
    assert (workspace / "new").read_text() == "new", "a plan changes nothing"


def test_without_confirmation_nothing_happens(workspace: Path, capturer: Capturer) -> None:
    target = capturer.capture(MOMENT)
    (workspace / "README").write_text("other")
    restorer = Restorer(capturer)
    with pytest.raises(RestoreRefusedError, match="would change 1 path"):
        restorer.restore(restorer.plan(target, MOMENT), confirmed=False)
    assert (workspace / "README").read_text() == "other"


def test_an_unusual_size_is_confirmed_twice(workspace: Path, capturer: Capturer) -> None:
    target = capturer.capture(MOMENT)
    for number in range(1_001):
        (workspace / f"f{number}").write_text("x")
    restorer = Restorer(capturer)
    plan = restorer.plan(target, MOMENT)
    assert "1,001 files" in plan.unusual
    with pytest.raises(RestoreRefusedError, match="unusual size"):
        restorer.restore(plan, confirmed=True)
    assert restorer.restore(plan, confirmed=True, unusual_confirmed=True).restored == 1_001


@pytest.mark.parametrize(("changed", "unusual"), [(12, ""), (13, "It removes or rewrites 13 of 25 files.")])
def test_more_than_half_of_all_files_is_unusual_too(
    workspace: Path, capturer: Capturer, changed: int, unusual: str
) -> None:
    for number in range(20):
        (workspace / f"f{number}").write_text("first")
    target = capturer.capture(MOMENT)
    for number in range(changed):
        (workspace / f"f{number}").write_text("second")
    assert Restorer(capturer).plan(target, MOMENT).unusual == unusual


def test_a_thorough_plan_sees_what_nobody_noted(workspace: Path, capturer: Capturer) -> None:
    target = capturer.capture(MOMENT)
    (workspace / "README").write_text("other")
    capturer.watcher.take()
    restorer = Restorer(capturer)
    assert restorer.plan(target, MOMENT, thorough=False).lost == ()
    assert [one.path for one in restorer.plan(target, MOMENT).lost] == ["README"]


def test_more_folders_than_are_held_open_at_once_are_captured_and_restored(workspace: Path, capturer: Capturer) -> None:
    """Descriptors are closed between paths, never under one: a closed one would be another folder's by then."""
    capturer.capture(MOMENT)
    for number in range(300):
        (workspace / f"{number % 7}/{number}").mkdir(parents=True)
        (workspace / f"{number % 7}/{number}/file").write_text(f"{number}")
    then = shape(workspace)
    target = capturer.capture(MOMENT)
    for number in range(300):
        (workspace / f"{number % 7}/{number}/file").write_text(f"other {number}")
    now = shape(workspace)
    result = go_back(capturer, target)
    assert shape(workspace) == then
    go_back(capturer, capturer.store.find(result.undo))
    assert shape(workspace) == now


def test_ignored_files_stay_even_where_only_an_uncommitted_rule_ignored_them(
    workspace: Path, capturer: Capturer
) -> None:
    target = capturer.capture(MOMENT)
    (workspace / ".gitignore").write_text("*.log\nbuild/\nprecious\n")
    (workspace / "precious").write_text("keep me")
    (workspace / "x.log").write_text("keep me")
    (workspace / "build").mkdir()
    (workspace / "build/out").write_text("keep me")
    go_back(capturer, target)
    assert (workspace / ".gitignore").read_text() == "*.log\nbuild/\n"
    assert {(workspace / name).read_text() for name in ("precious", "x.log", "build/out")} == {"keep me"}


def test_what_was_ignored_then_stays_if_its_rule_went_since(workspace: Path, capturer: Capturer) -> None:
    (workspace / "sub").mkdir()
    (workspace / "sub/.gitignore").write_text("deep\n")
    ignored = ("a.log", "build/out/x", "sub/deep")
    for name in ignored:
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("a person's, and older than the agent")
    target = capturer.capture(MOMENT)
    (workspace / ".gitignore").write_text("")
    (workspace / "sub/.gitignore").unlink()
    (workspace / "new").write_text("the agent's")
    plan = Restorer(capturer).plan(target, MOMENT)
    assert {one.path for one in plan.kept} == set(ignored)
    assert not {one.path for one in plan.lost} & set(ignored)
    result = go_back(capturer, target)
    assert {(workspace / name).read_text() for name in ignored} == {"a person's, and older than the agent"}
    assert not (workspace / "new").exists()
    assert (workspace / ".gitignore").read_text() == "*.log\nbuild/\n"
    go_back(capturer, capturer.store.find(result.undo))
    assert (workspace / "new").read_text() == "the agent's"
    assert (workspace / "a.log").read_text() == "a person's, and older than the agent"


def test_a_folder_with_ignored_files_in_it_stays_and_is_named(workspace: Path, capturer: Capturer) -> None:
    target = capturer.capture(MOMENT)
    (workspace / "new").mkdir()
    (workspace / "new/file").write_text("captured")
    (workspace / "new/x.log").write_text("ignored")
    result = go_back(capturer, target)
    assert [one.path for one in result.kept] == ["new"]
    assert [path.name for path in (workspace / "new").iterdir()] == ["x.log"]


def test_what_lies_in_a_folder_that_stays_for_its_ignored_files_is_not_said_to_be_lost(
    workspace: Path, capturer: Capturer
) -> None:
    (workspace / "made").write_text("a file")
    target = capturer.capture(MOMENT)
    (workspace / "made").unlink()
    (workspace / "made").mkdir()
    for name in ("x.log", "captured"):
        (workspace / "made" / name).write_text("of now")
    (workspace / "gone").write_text("of now")
    plan = Restorer(capturer).plan(target, MOMENT)
    assert ([one.path for one in plan.kept], [one.path for one in plan.lost]) == (["made"], ["gone"])
    go_back(capturer, target)
    assert sorted(path.name for path in (workspace / "made").iterdir()) == ["captured", "x.log"]


def test_an_ignored_file_where_the_target_has_one_is_not_replaced(workspace: Path, capturer: Capturer) -> None:
    (workspace / "data").write_text("captured")
    target = capturer.capture(MOMENT)
    (workspace / "data").unlink()
    capturer.capture(MOMENT)
    (workspace / ".gitignore").write_text("data\n")
    (workspace / "data").write_text("ignored, and nowhere else")
    result = go_back(capturer, target)
    assert [one.path for one in result.kept] == ["data"]
    assert (workspace / "data").read_text() == "ignored, and nowhere else"
    found = dict(files_in(capturer.store, bytes.fromhex(capturer.capture(MOMENT).tree)))
    assert capturer.store.read(found[b"data"].id)[1] == b"ignored, and nowhere else", "not taken for what was restored"


def test_a_folder_with_ignored_files_is_not_replaced_by_a_file(workspace: Path, capturer: Capturer) -> None:
    (workspace / "thing").write_text("a file")
    target = capturer.capture(MOMENT)
    (workspace / "thing").unlink()
    (workspace / "thing").mkdir()
    (workspace / "thing/x.log").write_text("ignored")
    (workspace / "thing/y").write_text("captured")
    result = go_back(capturer, target)
    assert [one.path for one in result.kept] == ["thing"]
    assert {path.name for path in (workspace / "thing").iterdir()} == {"x.log", "y"}


def test_a_file_that_was_skipped_then_or_now_is_never_touched(
    store: Store, workspace: Path, capturing: Callable[..., Capturer]
) -> None:
    capturer = capturing(store, workspace, CaptureSettings(limit_bytes=100))
    (workspace / "was-large").write_bytes(b"l" * 101)
    (workspace / "was-small").write_bytes(b"s")
    target = capturer.capture(MOMENT)
    (workspace / "was-large").write_bytes(b"small now")
    (workspace / "was-small").write_bytes(b"L" * 101)
    (workspace / "came-large").write_bytes(b"L" * 101)
    now = shape(workspace)
    result = go_back(capturer, target)
    assert sorted(one.path for one in result.kept) == ["was-large", "was-small"]
    assert shape(workspace) == now


def test_a_file_that_changed_since_the_plan_makes_it_refuse(workspace: Path, capturer: Capturer) -> None:
    target = capturer.capture(MOMENT)
    (workspace / "README").write_text("other")
    restorer = Restorer(capturer)
    plan = restorer.plan(target, MOMENT)
    (workspace / "README").write_text("and other again")
    (workspace / "more").write_text("more")
    with pytest.raises(RestoreRefusedError, match="README, more"):
        restorer.restore(plan, confirmed=True)
    assert (workspace / "README").read_text() == "and other again"


def prepare_every_step(workspace: Path, capturer: Capturer) -> Checkpoint:
    """Return a target from which the workspace differs so that going there takes steps of every kind."""
    (workspace / "gone/deep").mkdir(parents=True)
    (workspace / "gone/deep/file").write_text("gone")
    target = capturer.capture(MOMENT)
    (workspace / "README").write_text("other")
    (workspace / "src/main.py").unlink()
    (workspace / "src/main.py").mkdir()
    (workspace / "src/main.py/x").write_text("x")
    (workspace / "src/run.sh").unlink()
    (workspace / "gone/deep/file").unlink()
    (workspace / "gone/deep").rmdir()
    (workspace / "gone").rmdir()
    (workspace / "zoo").write_text("zoo")
    return target


STEPS = ["stage", "take away", "remove folder", "make folder", "put"]


@pytest.mark.parametrize("step", STEPS)
def test_a_file_that_appears_in_the_middle_makes_it_return_everything(
    workspace: Path, capturer: Capturer, step: str
) -> None:
    target = prepare_every_step(workspace, capturer)
    before = shape(workspace)
    done: list[str] = []

    def meddle(now: str) -> None:
        if now == step and not done:
            done.append(now)
            (workspace / "src/run.sh").write_text("came in the middle")

    restorer = Restorer(capturer, step=meddle)
    plan = restorer.plan(target, MOMENT)
    with pytest.raises(RestoreFailedError, match="as it was before"):
        restorer.restore(plan, confirmed=True)
    assert done == [step]
    assert shape(workspace) == before | {"src/run.sh": ("file", b"came in the middle")}


@pytest.mark.parametrize("step", STEPS[:2])
def test_a_file_that_is_written_in_the_middle_keeps_what_was_written(
    workspace: Path, capturer: Capturer, step: str
) -> None:
    target = prepare_every_step(workspace, capturer)
    before = shape(workspace)

    def meddle(now: str) -> None:
        if now == step and (workspace / "zoo").exists():
            (workspace / "zoo").write_text("written in the middle")

    restorer = Restorer(capturer, step=meddle)
    plan = restorer.plan(target, MOMENT)
    with pytest.raises(RestoreFailedError, match=r"zoo could not be restored.*as it was before"):
        restorer.restore(plan, confirmed=True)
    assert shape(workspace) == before | {"zoo": ("file", b"written in the middle")}


def test_a_file_that_is_written_once_it_was_put_back_is_found_when_all_is_compared(
    workspace: Path, capturer: Capturer
) -> None:
    target = prepare_every_step(workspace, capturer)

    def meddle(now: str) -> None:
        if now == "put" and (workspace / "README").exists():
            (workspace / "README").write_text("written behind it")

    restorer = Restorer(capturer, step=meddle)
    plan = restorer.plan(target, MOMENT)
    with pytest.raises(RestoreFailedError, match="README could not be restored: it is not what the checkpoint has"):
        restorer.restore(plan, confirmed=True)
    assert (workspace / "README").read_text() == "written behind it"
    assert (workspace / "zoo").read_text() == "zoo"


@pytest.mark.parametrize("step", STEPS[2:])
def test_what_cannot_be_put_back_lies_aside_until_it_can(workspace: Path, capturer: Capturer, step: str) -> None:
    target = prepare_every_step(workspace, capturer)
    before = shape(workspace)

    def meddle(now: str) -> None:
        if now == step:
            (workspace / "zoo").write_text("written in the middle")
            (workspace / "src/run.sh").write_text("came in the middle")

    restorer = Restorer(capturer, step=meddle)
    plan = restorer.plan(target, MOMENT)
    with pytest.raises(RestoreFailedError, match=r"1 file could not be put back \(zoo\)"):
        restorer.restore(plan, confirmed=True)
    assert (workspace / "zoo").read_text() == "written in the middle"
    assert interrupted(capturer.store) == (str(workspace),)
    (workspace / "zoo").unlink()
    assert Restorer(capturer).recover() is None
    assert shape(workspace) == before | {"src/run.sh": ("file", b"came in the middle")}
    assert interrupted(capturer.store) == ()


class CutError(BaseException):
    """What stands for the end of the process: nothing catches it."""


@pytest.mark.parametrize("step", STEPS)
def test_after_a_restore_that_was_cut_is_completed_the_next_capture_has_what_changed_since(
    store: Store, workspace: Path, capturer: Capturer, capturing: Capturing, opening: Opening, step: str
) -> None:
    target = prepare_every_step(workspace, capturer)

    def cut(now: str) -> None:
        if now == step:
            raise CutError

    restorer = Restorer(capturer, step=cut)
    with pytest.raises(CutError):
        restorer.restore(restorer.plan(target, MOMENT), confirmed=True)
    capturer.close()
    store.lose()
    again = capturing(opening(store.folder, workspace), workspace)
    Restorer(again).recover()
    (workspace / "README").write_text("changed after it")
    (workspace / "src/new.py").write_text("made after it")
    found = dict(files_in(again.store, bytes.fromhex(again.capture(MOMENT).tree)))
    assert again.store.read(found[b"README"].id)[1] == b"changed after it"
    assert b"src/new.py" in found


def test_what_was_taken_away_leaves_the_workspace_at_once_and_the_disk_when_idle(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    target = capturer.capture(MOMENT)
    (workspace / "README").write_text("taken away")
    go_back(capturer, target)
    assert not list(workspace.glob(".chaperon*"))
    (left,) = store.restores.iterdir()
    assert (left / "old/0").read_text() == "taken away"
    maintain(store, MOMENT.at)
    assert list(store.restores.iterdir()) == []


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no second file system here")
def test_a_workspace_on_another_file_system_than_the_store_is_cleared_in_place(
    tmp_path: Path, opening: Callable[[Path, Path], Store], capturing: Callable[..., Capturer]
) -> None:
    with TemporaryDirectory(dir="/dev/shm") as folder:
        workspace = Path(folder)
        (workspace / "file").write_text("first")
        store = opening(tmp_path / "state", workspace)
        capturer = capturing(store, workspace)
        target = capturer.capture(MOMENT)
        (workspace / "file").write_text("second")
        go_back(capturer, target)
        assert shape(workspace) == {"file": ("file", b"first")}
        assert workspace.stat().st_dev == store.folder.stat().st_dev or list(store.restores.iterdir()) == []
        capturer.close()


def test_a_journal_that_was_never_in_place_is_passed_over_and_a_damaged_one_is_named(
    store: Store, workspace: Path, capturer: Capturer
) -> None:
    capturer.capture(MOMENT)
    (store.restores / f"tmp_{capturer.label}.json").write_text('{"workspace"')
    assert interrupted(store) == ()
    maintain(store, MOMENT.at)
    (store.restores / f"{capturer.label}.json").write_text("{}")
    for look in (lambda: interrupted(store), lambda: maintain(store, MOMENT.at), Restorer(capturer).recover):
        with pytest.raises(CheckpointError, match=rf"{capturer.label}.json.*cannot be read"):
            look()


def test_a_link_to_the_outside_is_never_written_through(workspace: Path, capturer: Capturer, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "main.py").write_text("theirs")
    target = capturer.capture(MOMENT)
    (workspace / "src").rename(workspace / "hidden")
    (workspace / "src").symlink_to(outside)
    go_back(capturer, target)
    assert (outside / "main.py").read_text() == "theirs"
    assert not (workspace / "src").is_symlink()
    assert (workspace / "src/main.py").read_text() == "print(1)\n"


def test_a_hard_link_to_the_outside_is_never_written_through(
    workspace: Path, capturer: Capturer, tmp_path: Path
) -> None:
    target = capturer.capture(MOMENT)
    (tmp_path / "theirs").write_text("theirs")
    (workspace / "README").unlink()
    os.link(tmp_path / "theirs", workspace / "README")
    go_back(capturer, target)
    assert (tmp_path / "theirs").read_text() == "theirs"
    assert (workspace / "README").read_text() == "read me\n"


def test_read_only_files_go_back_and_stay_read_only(workspace: Path, capturer: Capturer) -> None:
    target = capturer.capture(MOMENT)
    (workspace / "README").write_text("other")
    (workspace / "README").chmod(0o444)
    go_back(capturer, target)
    assert (workspace / "README").read_text() == "read me\n"
    assert (workspace / "README").stat().st_mode & 0o777 == 0o444


def test_in_the_middle_of_a_merge_the_files_go_back_and_the_merge_stays(workspace: Path, capturer: Capturer) -> None:
    target = capturer.capture(MOMENT)
    git(workspace, "checkout", "-qb", "side")
    (workspace / "README").write_text("side\n")
    git(workspace, "commit", "-qam", "side")
    git(workspace, "checkout", "-q", "main")
    (workspace / "README").write_text("main\n")
    git(workspace, "commit", "-qam", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git(workspace, "merge", "side")
    restorer = Restorer(capturer)
    plan = restorer.plan(target, MOMENT)
    assert plan.warnings[0].startswith("The repository is in the middle of a merge")
    restorer.restore(plan, confirmed=True)
    assert (workspace / "README").read_text() == "read me\n"
    assert (workspace / ".git/MERGE_HEAD").exists()
    restorer.restore(restorer.plan(plan.undo, MOMENT), confirmed=True)
    assert "<<<<<<<" in (workspace / "README").read_text()


def test_a_repository_inside_keeps_its_git_folder(workspace: Path, capturer: Capturer) -> None:
    target = capturer.capture(MOMENT)
    inner = workspace / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "file").write_text("x")
    result = go_back(capturer, target)
    assert [one.path for one in result.kept] == ["inner"]
    assert (inner / ".git/HEAD").exists()
    assert not (inner / "file").exists()


def test_a_checkpoint_of_another_workspace_is_refused(
    workspace: Path, store: Store, capturer: Capturer, tmp_path: Path
) -> None:
    target = replace(capturer.capture(MOMENT), workspace="/elsewhere")
    with pytest.raises(RestoreRefusedError, match="is of /elsewhere"):
        Restorer(capturer).plan(target, MOMENT)


@BOTH
def test_a_target_that_is_damaged_leaves_the_workspace_untouched(workspace: Path, capturer: Capturer) -> None:
    (workspace / "new").write_text("only in this pack")
    target = capturer.capture(MOMENT)
    (workspace / "new").unlink()
    (workspace / "README").write_text("other")
    restorer = Restorer(capturer)
    plan = restorer.plan(target, MOMENT)
    capturer.store.settle()
    for pack in packs_of(capturer.store):
        data = bytearray(pack.read_bytes())
        data[12:-20] = bytes(len(data) - 32)
        pack.chmod(0o600)
        pack.write_bytes(bytes(data))
    before = shape(workspace)
    with pytest.raises(StoreDamagedError):
        restorer.restore(plan, confirmed=True)
    assert shape(workspace) == before


def test_a_branch_that_cannot_be_moved_leaves_the_files_alone_too(workspace: Path, capturer: Capturer) -> None:
    target = capturer.capture(MOMENT)
    git(workspace, "checkout", "-qb", "other")
    (workspace / "README").write_text("nonsense")
    restorer = Restorer(capturer)
    with pytest.raises(
        RestoreRefusedError, match=r"was on refs/heads/main .* is on refs/heads/other .* Nothing was changed"
    ):
        restorer.restore(restorer.plan(target, MOMENT), confirmed=True, with_branch=True)
    assert (workspace / "README").read_text() == "nonsense"
    git(workspace, "checkout", "-q", "main")
    gone = replace(target, repository=replace(target.repository, head="0" * 39 + "1"))
    with pytest.raises(RestoreRefusedError, match="is not there any more"):
        restorer.restore(restorer.plan(gone, MOMENT), confirmed=True, with_branch=True)
    assert (workspace / "README").read_text() == "nonsense"


def test_the_branch_moves_only_when_asked_and_its_commits_stay_reachable(workspace: Path, capturer: Capturer) -> None:
    target = capturer.capture(MOMENT)
    (workspace / "README").write_text("nonsense")
    git(workspace, "commit", "-qam", "nonsense")
    nonsense = git(workspace, "rev-parse", "HEAD").strip()
    restorer = Restorer(capturer)
    plan = restorer.plan(target, MOMENT)
    assert "HEAD stood on" in plan.warnings[0]
    result = restorer.restore(plan, confirmed=True, with_branch=True)
    assert git(workspace, "rev-parse", "main").strip() == target.repository.head
    assert git(workspace, "rev-parse", result.branch_kept_as).strip() == nonsense


def test_a_restore_says_how_many_paths_are_done(workspace: Path, capturer: Capturer) -> None:
    for number in range(100):
        (workspace / f"many-{number}").write_text("then\n")
    target = capturer.capture(MOMENT)
    for number in range(100):
        (workspace / f"many-{number}").write_text("now\n")
    told: list[tuple[int, int | None]] = []
    capturer.report = lambda done, total: told.append((done, total))
    go_back(capturer, target)
    assert told[-1] == (96, 100)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
