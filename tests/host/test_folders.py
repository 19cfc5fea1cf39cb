"""Folders are walked and removed, however deep they are and whatever they are open to."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from host.folders import below, remove_folder

DEEP = 1_500
"""Folders within folders: more than Python calls itself, and a path that is longer than the kernel takes."""


@contextlib.contextmanager
def deep(folder: Path, levels: int = DEEP, name: str = "aaa") -> Iterator[None]:
    """Folders within folders, made a name at a time; they go at the end, since pytest cannot remove them."""
    folder.mkdir(parents=True, exist_ok=True)
    at = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=at)
        inside = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inside
    os.close(at)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            remove_folder(folder)


def test_a_folder_goes_that_is_deeper_than_a_path_is_long(tmp_path: Path) -> None:
    with deep(tmp_path / "top"):
        (tmp_path / "top/file").write_text("x")
        (tmp_path / "top/link").symlink_to(tmp_path)
        remove_folder(tmp_path / "top")
        assert not (tmp_path / "top").exists()


def test_what_links_lead_to_stays(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("x")
    (tmp_path / "top/in").mkdir(parents=True)
    (tmp_path / "top/in/link").symlink_to(tmp_path / "kept")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    remove_folder(tmp_path / "top")
    with pytest.raises(OSError, match="link"):
        remove_folder(tmp_path / "link")
    assert (tmp_path / "kept/file").read_text() == "x"


def test_folders_go_that_may_not_be_written_as_go_leaves_them(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "mod/inner").mkdir(parents=True)
    (top / "mod/inner/file").write_text("x")
    for folder, mode in ((top / "mod/inner", 0o500), (top / "mod", 0o555), (top, 0)):
        folder.chmod(mode)
    assert _as_a_user(tmp_path, lambda: remove_folder(top)) == 0
    assert not top.exists()


def _as_a_user(folder: Path, work: Callable[[], None]) -> int:
    """Do something in a folder as a user without rights over files of others; the exit code is 0 if it succeeds."""
    if os.geteuid() == 0:
        for path in (folder, *below(folder)):
            os.chown(path, 65534, 65534, follow_symlinks=False)
        for above in folder.parents:
            if "pytest" in str(above):  # those of pytest alone: a worker of xdist has one more than a single process
                above.chmod(0o755)
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
            work()
            os._exit(0)
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_folder_is_walked_that_is_deeper_than_python_calls_itself(tmp_path: Path) -> None:
    with deep(tmp_path / "top", 1_200, "a"):
        (tmp_path / "top/file").write_text("x")
        (tmp_path / "top/loop").symlink_to(tmp_path)
        found = list(below(tmp_path / "top"))
    assert len(found) == 1_202
    assert {tmp_path / "top/file", tmp_path / "top/loop", tmp_path / "top/a/a"} <= set(found)
    assert list(below(tmp_path / "nowhere")) == []
