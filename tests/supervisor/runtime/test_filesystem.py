"""Facts of the file system and of git, on real files."""

import os
import subprocess
from pathlib import Path

import pytest

from monitors.contract.actions import Action, ReviewContext
from monitors.contract.words import Decision
from monitors.review import make_reviewer
from monitors.review.scene.lookups import WithLinks
from supervisor.runtime.filesystem import FileFacts


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    where = tmp_path / "outer" / "repository"
    where.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(where)], check=True)
    (where / ".gitignore").write_text("data/\n*.log\n")
    (where / "data").mkdir()
    return where


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    assert FileFacts().real(str(tmp_path / "link" / "a")) == str(tmp_path / "there" / "a")


@pytest.mark.parametrize(
    "path",
    [
        "/", "//", "//file", "///file", "/.", "/..", "/file", "/file/", "/file/below", "/folder/file", "/folder//file",
        "/folder/./file", "/folder/../file", "/none", "/none/file", "/none/../file", "/link", "/link/file", "/link/none/x",
        "/link/../file", "/folder/up/file", "/loop", "/loop/file", "/dangling", "/dangling/file", f"/{'x' * 300}/file",
    ],
)  # fmt: skip
def test_a_path_leads_where_the_kernel_would_go(tmp_path: Path, path: str) -> None:
    for folder in ("folder", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").write_text("x")
    (tmp_path / "file").write_text("x")
    for link, target in (("link", "there"), ("folder/up", "../there"), ("loop", "loop"), ("dangling", "nowhere")):
        (tmp_path / link).symlink_to(target)
    for asked in (path, f"{tmp_path}{path}"):
        assert FileFacts().real(asked) == os.path.realpath(asked)


def test_links_within_a_folder_are_told_with_where_they_lead(tmp_path: Path) -> None:
    (tmp_path / "there" / "deep").mkdir(parents=True)
    (tmp_path / "folder" / "own").mkdir(parents=True)
    (tmp_path / "folder" / "own" / "file").write_text("x")
    for link, target in (("folder/a", "../there"), ("folder/dangling", "/none"), ("to", "folder")):
        (tmp_path / link).symlink_to(target)
    names = ("a", "a/deep", "dangling", "own", "own/file", "none", "none/file")
    away = [("a", f"{tmp_path}/there"), ("a/deep", f"{tmp_path}/there/deep"), ("dangling", "/none")]
    for folder in (tmp_path / "folder", tmp_path / "to", tmp_path / "none"):
        facts = FileFacts()
        assert list(facts.links_within(str(folder), names)) == (away if folder.name != "none" else [])
        assert list(WithLinks(facts, ()).links_within(str(folder), names)) == list(
            facts.links_within(str(folder), names)
        )


def test_kinds_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    facts = FileFacts()
    assert [facts.kind(str(path)) for path in (tmp_path, tmp_path / "file", tmp_path / "none")] == [
        "directory",
        "file",
        "missing",
    ]


def test_git_says_what_it_ignores(repository: Path, tmp_path: Path) -> None:
    facts = FileFacts()
    assert facts.ignored(str(repository / "data")) is True
    assert facts.ignored(str(repository / "a.log")) is True
    assert facts.ignored(str(repository / "a.py")) is False
    assert facts.ignored(str(tmp_path / "a.py")) is None


def test_names_in_a_directory_are_sorted_and_a_file_has_none(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("b", "a"):
        (folder / name).touch()
    assert FileFacts().names(str(folder)) == ["a", "b"]
    assert FileFacts().names(str(folder / "a")) == FileFacts().names(str(tmp_path / "missing")) == []


def test_text_is_read_up_to_the_limit_and_only_from_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc\xff" * 10)
    facts = FileFacts()
    assert facts.text(str(tmp_path / "file"), 4) == "abc\ufffd"
    assert facts.text(str(tmp_path), 4) is None
    assert facts.text("/dev/zero", 4) is None


@pytest.mark.parametrize("path", ["", "relative", "/a\0b", "/*", "/" + "a" * 5000, "/proc/self/mem"])
def test_odd_paths_get_an_answer(path: str) -> None:
    facts = FileFacts()
    assert isinstance(facts.real(path), str)
    assert facts.kind(path) in ("file", "directory", "missing", "unknown")
    assert facts.ignored(path) in (None, True, False)
    facts.text(path, 10)


def reviewed(command: str, workspace: Path) -> Decision:
    return (
        make_reviewer(facts=FileFacts())
        .review(
            Action("Bash", {"command": command}, str(workspace), str(workspace)),
            ReviewContext(home=str(workspace.parent), captured=True),
        )
        .decision
    )


def test_a_link_out_of_the_workspace_leads_out_of_it(repository: Path) -> None:
    (repository / "link").symlink_to("/etc")
    assert reviewed("echo x > link/a", repository) is not Decision.ALLOW
    assert reviewed("echo x > a", repository) is Decision.ALLOW


def test_what_git_ignores_is_moved_to_the_trash_instead_of_deleted(repository: Path) -> None:
    assert reviewed("rm -rf data", repository) is Decision.MODIFY
    assert reviewed("rm -rf src", repository) is Decision.ALLOW


def test_a_script_that_is_run_is_read(repository: Path) -> None:
    (repository / "bad.sh").write_text("#!/bin/sh\nrm -rf /home/somebody/other\n")
    (repository / "good.sh").write_text("#!/bin/sh\nls\n")
    (repository / "bad.py").write_text("import shutil\nshutil.rmtree('/home/somebody')\n")
    assert [
        reviewed(command, repository)
        for command in ("sh bad.sh", "./bad.sh", "python3 bad.py", "sh good.sh", "./good.sh")
    ] == [Decision.BLOCK] * 3 + [Decision.ALLOW] * 2


@pytest.mark.timeout(20)
@pytest.mark.parametrize("place", [".gitignore", ".git/info/exclude", ".git/config", "script.sh"])
def test_a_review_waits_for_no_pipe_that_an_agent_put_there(repository: Path, place: str) -> None:
    (repository / place).unlink(missing_ok=True)
    os.mkfifo(repository / place)
    action = Action("Bash", {"command": "rm -rf data; sh script.sh"}, str(repository), str(repository))
    assert make_reviewer(facts=FileFacts()).review(action, ReviewContext(home="/home/ann")).decision
