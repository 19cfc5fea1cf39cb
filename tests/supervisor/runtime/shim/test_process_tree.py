"""What /proc says of real processes."""

import errno
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervisor.runtime.shim import process_tree


@pytest.fixture
def family() -> Iterator[subprocess.Popen[bytes]]:
    """A shell, its child shell, and that one's two children, which end when the first does."""
    script = "sh -c 'sleep 300 & sleep 300 & echo up; wait'; true"
    with subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while sum(process_tree.name(pid) == "sleep" for pid in process_tree.descendants(process.pid)) < 2:
            process_tree.pause()
        yield process
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("listed", [True, False], ids=["by children files", "by a look at everybody"])
def test_descendants_are_found_at_any_depth(
    family: subprocess.Popen[bytes], listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_tree, "has_children_files", lambda: listed)
    found = process_tree.descendants(family.pid)
    assert sorted(process_tree.name(pid) for pid in found) == ["sh", "sleep", "sleep"]
    assert all(family.pid in process_tree.ancestors(pid) for pid in found)
    assert family.pid not in found


def test_a_tree_is_stopped_thawed_and_ended_and_its_root_spared(family: subprocess.Popen[bytes]) -> None:
    tree = process_tree.Tree(family.pid)
    members = tree.members()
    assert tree.freeze().left == 0
    assert {state for pid in members for state in process_tree.states(pid)} == {"T"}
    tree.thaw()
    assert "T" not in {state for pid in members for state in process_tree.states(pid)}
    assert tree.end().left == 0
    assert not tree.members()
    assert family.wait(60) == 0


def test_a_process_holds_its_descendants_and_not_its_ancestors(family: subprocess.Popen[bytes]) -> None:
    tree = process_tree.Tree(family.pid)
    assert all(tree.holds(pid) for pid in process_tree.descendants(family.pid))
    assert not tree.holds(os.getpid())
    assert not tree.holds(family.pid)


def test_one_that_has_gone_has_no_facts_and_is_taken_for_a_member() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert (
        process_tree.name(process.pid),
        process_tree.parent(process.pid),
        process_tree.start_ticks(process.pid),
    ) == ("", 0, 0)
    assert not process_tree.states(process.pid)
    assert process_tree.Tree(os.getpid()).holds(process.pid)


def test_a_zombie_is_gone() -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert process_tree.states(process.pid) == {"Z"}
    assert process_tree.start_ticks(process.pid) == 0
    assert process.pid not in process_tree.Tree(os.getpid()).members()
    process.wait()


def test_a_name_with_spaces_and_parentheses_does_not_confuse(tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "300"]) as process:
        try:
            while process_tree.name(process.pid) != "a) R 1 (b":
                process_tree.pause()
            assert process_tree.parent(process.pid) == os.getpid()
        finally:
            process.kill()


def test_an_error_that_does_not_mean_gone_is_never_taken_for_nobody() -> None:
    process_tree.expect_gone(OSError(errno.ESRCH, "gone"))
    with pytest.raises(OSError, match="too many"):
        process_tree.expect_gone(OSError(errno.EMFILE, "too many"))


def test_a_group_that_is_not_there_has_no_members_and_takes_nothing(tmp_path: Path) -> None:
    tree = process_tree.Tree(None, str(tmp_path / "none"))
    assert tree.members() == set()
    assert tree.end().left == 0
    assert not process_tree.write(str(tmp_path / "none" / "cgroup.kill"), "1")
    assert not process_tree.await_event(str(tmp_path / "none"), "frozen 1", process_tree.now())


def test_a_lineage_goes_up_to_the_first_process() -> None:
    found = process_tree.lineage(os.getpid())
    assert found is not None
    assert found[:2] == [os.getpid(), os.getppid()]
    assert process_tree.parent(found[-1]) == 0


def test_a_process_that_has_gone_has_no_lineage_and_is_taken_to_belong() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert process_tree.lineage(process.pid) is None
    assert process_tree.Tree(1).holds(process.pid)


def test_a_parent_that_ends_during_the_walk_does_not_end_the_lineage(monkeypatch: pytest.MonkeyPatch) -> None:
    """The walk would stop below the shim otherwise, and take an agent's process for a stranger's."""
    script = "sh -c 'sleep 300 & echo $!; wait' & wait"
    with subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE) as top:
        assert top.stdout is not None
        pid = int(top.stdout.readline())
        middle = process_tree.parent(pid)
        assert process_tree.parent(middle) == top.pid
        looked = process_tree.stat_fields

        def ends_meanwhile(path: str) -> list[str]:
            if path == f"/proc/{middle}/stat":
                os.kill(middle, signal.SIGKILL)
                while looked(path):
                    process_tree.pause()
            return looked(path)

        monkeypatch.setattr(process_tree, "stat_fields", ends_meanwhile)
        found = process_tree.lineage(pid)
        os.kill(pid, signal.SIGKILL)
        top.kill()
    assert found is not None
    assert found[-1] == (process_tree.lineage(os.getpid()) or [])[-1]
    assert middle not in found
