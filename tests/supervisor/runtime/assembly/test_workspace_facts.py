"""What looking into a real workspace finds, and how little it may look at."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import orjson
import pytest

from supervisor.runtime.assembly import workspace_facts
from supervisor.runtime.assembly.workspace_facts import Lookups
from tests.stages.live import git_environment, make_repository

FILES = {"src/parser/lexer.py": "tokens\n" * 30, "src/parser/grammar.py": "rules\n" * 30, "README.md": "# Parser\n"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    make_repository(tmp_path / "repo", FILES)
    return tmp_path / "repo"


def git(workspace: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(workspace), *arguments], check=True, env=git_environment(workspace))


def fill(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize("asked", ["src/parser/lexr.py", "src/lexer.py", "src/parser/Lexer.py", "gone/away/lexer.py"])
def test_a_path_that_is_not_there_finds_the_one_that_is_named_alike(workspace: Path, asked: str) -> None:
    here = Lookups(str(workspace))
    assert here.similar_paths(asked)[0] == "src/parser/lexer.py"
    assert here.similar_paths(str(workspace / asked))[0] == "src/parser/lexer.py"


def test_the_nearest_of_several_with_the_same_name_comes_first_and_five_are_the_most(workspace: Path) -> None:
    fill(workspace, {f"part{n}/util.py": "" for n in range(9)})
    found = Lookups(str(workspace)).similar_paths("part7/deep/util.py")
    assert found[0] == "part7/util.py"
    assert len(found) == 5


def test_nothing_outside_the_workspace_and_nothing_of_installed_packages_is_named(workspace: Path) -> None:
    fill(workspace.parent, {"secrets.txt": ""})
    fill(workspace, {"node_modules/x/secrets.txt": "", ".git/secrets.txt": ""})
    here = Lookups(str(workspace))
    for asked in ("../secrets.txt", str(workspace.parent / "secret.txt"), "secrets.txt", "", ".", "\0", "/"):
        assert here.similar_paths(asked) == ()


def test_no_more_is_looked_at_than_the_bound(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(workspace, {f"big/f{n}.txt": "" for n in range(60)})
    monkeypatch.setattr(workspace_facts, "MOST_ENTRIES", 10)
    assert "src/parser/lexer.py" not in Lookups(str(workspace)).similar_paths("big/lexer.py")


def test_a_move_is_found_in_the_history_through_later_commits(workspace: Path) -> None:
    (workspace / "core").mkdir()
    git(workspace, "mv", "src/parser/lexer.py", "core/tokens.py")
    git(workspace, "commit", "--quiet", "-m", "move")
    git(workspace, "commit", "--quiet", "--allow-empty", "-m", "more")
    assert Lookups(str(workspace)).moved_to("src/parser/lexer.py") == "core/tokens.py"
    assert Lookups(str(workspace)).moved_to(str(workspace / "src/parser/lexer.py")) == "core/tokens.py"


def test_a_move_that_is_only_staged_is_found(workspace: Path) -> None:
    git(workspace, "mv", "src/parser/lexer.py", "tokens.py")
    assert Lookups(str(workspace)).moved_to("src/parser/lexer.py") == "tokens.py"


def test_what_never_was_or_was_only_deleted_went_nowhere(workspace: Path, tmp_path: Path) -> None:
    git(workspace, "rm", "--quiet", "README.md")
    git(workspace, "commit", "--quiet", "-m", "less")
    for asked in ("README.md", "never.py", "../outside", ""):
        assert Lookups(str(workspace)).moved_to(asked) == ""
    (tmp_path / "plain").mkdir()
    assert Lookups(str(tmp_path / "plain")).moved_to("README.md") == ""


def test_owner_and_mode_are_those_that_ls_shows(workspace: Path) -> None:
    (workspace / "README.md").chmod(0o640)
    shown = subprocess.run(["ls", "-l", "README.md"], cwd=workspace, capture_output=True, text=True, check=True).stdout
    mode, _, owner, group, *_ = shown.split()
    assert Lookups(str(workspace)).owner_and_mode("README.md") == f"{owner}:{group} {mode.rstrip('.+')}"
    assert Lookups(str(workspace)).owner_and_mode("none") == ""
    assert Lookups(str(workspace)).owner_and_mode("\0") == ""


def test_a_module_is_found_under_the_name_of_what_brings_it(workspace: Path) -> None:
    packages = workspace / ".venv/lib/python3.11/site-packages"
    for name in ("PyYAML-6.0.2", "requests-2.32.0", "scikit_learn-1.5.0"):
        (packages / f"{name}.dist-info").mkdir(parents=True)
    fill(workspace / "node_modules", {"left-pad/package.json": orjson.dumps({"version": "1.3.0"}).decode()})
    here = Lookups(str(workspace))
    assert here.installed("yaml.loader") == "PyYAML 6.0.2"
    assert here.installed("request") == "requests 2.32.0"
    assert here.installed("left-padd") == "left-pad 1.3.0"
    for unknown in ("qqq", "", "../../etc", "@a/../../b"):
        assert here.installed(unknown) == ""


def test_a_directory_that_cannot_be_read_is_passed_over(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.scandir

    def refusing(path: Path) -> object:
        if Path(path).name == "parser":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert Lookups(str(workspace)).similar_paths("README.txt") == ("README.md",)


def test_what_is_not_committed_is_named_and_what_is_ignored_is_not(workspace: Path) -> None:
    here = Lookups(str(workspace))
    assert here.changed_files() == []
    fill(workspace, {"README.md": "# Other\n", "new/a.py": "", "out.log": "", ".gitignore": "*.log\n"})
    (workspace / "src/parser/lexer.py").unlink()
    assert here.changed_files() == [".gitignore", "README.md", "new/", "src/parser/lexer.py"]


def test_of_a_workspace_too_large_or_without_git_nobody_can_tell(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace.parent / "plain").mkdir()
    plain = Lookups(str(workspace.parent / "plain"))
    assert (plain.changed_files(), plain.last_commit()) == (None, "")
    monkeypatch.setattr(workspace_facts, "MOST_TRACKED", 2)
    assert Lookups(str(workspace)).changed_files() is None


def test_the_last_commit_is_named_by_its_subject_alone(workspace: Path) -> None:
    git(workspace, "commit", "-q", "--allow-empty", "-m", "feat: add auth\n\nAt length.")
    assert re.fullmatch(r"[0-9a-f]{7,} feat: add auth", Lookups(str(workspace)).last_commit())
    git(workspace, "checkout", "-q", "--orphan", "empty")
    assert Lookups(str(workspace)).last_commit() == ""


def test_a_terabyte_that_takes_no_room_is_not_hashed_in_the_event_loop(workspace: Path) -> None:
    tracked = workspace / "README.md"
    with tracked.open("wb") as large:
        large.truncate(2**40)
    assert Lookups(str(workspace)).changed_files() is None


def test_a_pipe_among_the_objects_of_git_holds_up_no_fact(workspace: Path) -> None:
    head = subprocess.run(
        ["git", "-C", str(workspace), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    commit = workspace / ".git/objects" / head[:2] / head[2:]
    commit.unlink()
    os.mkfifo(commit)
    here = Lookups(str(workspace))
    assert (here.last_commit(), here.moved_to("gone.py")) == ("", "")


def test_a_commit_whose_text_cannot_be_read_and_a_head_that_names_nothing_are_no_last_commit(workspace: Path) -> None:
    git(workspace, "-c", "i18n.commitEncoding=none-there-is", "commit", "-q", "--allow-empty", "-m", "a")
    assert Lookups(str(workspace)).last_commit() == ""
    (workspace / ".git/HEAD").write_bytes(b"ref: \xff\n")
    assert Lookups(str(workspace)).last_commit() == ""
