"""The files of settings as they are found on a disk, hostile ones among them."""

import os
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest

from monitors.review.scene.agent_definitions import WORDS
from supervisor.runtime.attached.settings.attachments import Attachments
from supervisor.runtime.attached.settings.hook_entries import handlers
from supervisor.runtime.processes import settings_files
from supervisor.runtime.processes.settings_files import MAX_BYTES, look, main_checkout, own_settings
from tests.host.test_folders import deep

SERVERS = {"mcpServers": {"db": {"command": "sh", "args": ["run.sh"]}}}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "repository"
    top.mkdir()
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(top)], check=True)
    return top


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))


def listed(workspace: Path) -> list[tuple[str, str, str]]:
    return [(thing.kind, thing.name, thing.file) for thing in look(workspace).found.things]


def test_settings_of_a_workspace_servers_of_the_folders_above_and_definitions_are_found(repository: Path) -> None:
    write(repository / ".claude/settings.json", {"env": {"A": "1"}})
    write(repository / ".claude/settings.local.json", {"env": {"B": "1"}})
    write(repository / ".mcp.json", SERVERS)
    write(repository.parent / ".mcp.json", {"mcpServers": {"above": {"command": "x"}}})
    write(repository / ".claude/skills/tidy/SKILL.md", b"---\nhooks: {}\n---\n")
    write(repository / ".claude/commands/deep/er.md", b"---\nmcpServers: {x: {command: y}}\n---\n")
    write(repository / ".claude/agents/plain.md", b"---\nname: plain\n---\n")
    assert listed(repository) == [
        ("variable", "A", ".claude/settings.json"),
        ("variable", "B", ".claude/settings.local.json"),
        ("server", "db", ".mcp.json"),
        ("server", "above", str(repository.parent / ".mcp.json")),
        ("definition", ".claude/commands/deep/er.md", ".claude/commands/deep/er.md"),
        ("definition", ".claude/skills/tidy/SKILL.md", ".claude/skills/tidy/SKILL.md"),
    ]


def test_what_chaperon_itself_put_into_a_file_is_asked_of_nobody_in_any_worktree(repository: Path) -> None:
    write(repository / ".claude/settings.json", {"env": {"A": "1"}})
    write(repository / "file", b"")
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["add", "-A"], ["commit", "-q", "-m", "base"], ["worktree", "add", "-q", "../other"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    before = look(repository).found
    kept = Attachments(repository.parent / "state")
    path = repository / ".claude/settings.local.json"
    with kept.alone():
        kept.carry_out(kept.attaching(path, handlers(Path("/run/hooks.sock"), "block")))
    assert len(look(repository).found.of("hook")) > 1
    assert look(repository, kept.beside).found == before
    assert look(repository.parent / "other", kept.beside).found == before


def test_where_there_is_nothing_nothing_is_found(repository: Path) -> None:
    found = look(repository)
    assert (found.root, found.found.things, found.found.digest) == (str(repository), (), "")


def test_a_worktree_has_the_local_settings_of_its_main_checkout_and_the_digest_of_it(repository: Path) -> None:
    """The CLI reads them too (`tests/contract/test_settings.py`)."""
    write(repository / ".claude/settings.json", {"env": {"A": "1"}})
    git = ["git", "-C", str(repository), "-c", "user.name=x", "-c", "user.email=x@x.example"]
    subprocess.run([*git, "add", "--all"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message", "one"], check=True)
    write(repository / ".claude/settings.local.json", {"env": {"B": "1"}})
    worktree = repository.parent / "worktree"
    subprocess.run([*git, "worktree", "add", "--quiet", str(worktree)], check=True)
    assert main_checkout(worktree) == main_checkout(repository) == repository
    assert [thing.name for thing in look(worktree).found.things] == ["A", "B"]
    assert look(worktree) != look(repository)  # the files stand elsewhere
    assert look(worktree).found.digest == look(repository).found.digest


@pytest.mark.parametrize(
    "git", [b"gitdir: /nowhere/at/all\n", b"gitdir: \0", b"gitdir: ./circle/x", b"gitdir: " + b"x" * 5_000, b"\xff"]
)
def test_a_link_to_git_that_leads_nowhere_makes_the_workspace_its_own_checkout(tmp_path: Path, git: bytes) -> None:
    (tmp_path / ".git").write_bytes(git)
    (tmp_path / "circle").symlink_to("circle")
    assert main_checkout(tmp_path) == tmp_path


def hang(path: Path) -> None:
    os.mkfifo(path)


def grow(path: Path) -> None:
    path.write_bytes(b" " * (MAX_BYTES + 1))


def point_nowhere(path: Path) -> None:
    path.symlink_to("/dev/full")


@pytest.mark.timeout(30)
@pytest.mark.parametrize("make", [hang, grow, point_nowhere])
def test_what_cannot_be_read_whole_is_said_to_be_unread(repository: Path, make: Any) -> None:
    (repository / ".claude").mkdir()
    make(repository / ".claude/settings.json")
    assert listed(repository) == [("unread", ".claude/settings.json", ".claude/settings.json")]


def test_a_folder_or_a_link_to_nothing_where_a_file_should_be_is_none(repository: Path) -> None:
    (repository / ".mcp.json").mkdir()
    (repository / ".claude").mkdir()
    (repository / ".claude/settings.json").symlink_to("nowhere")
    assert listed(repository) == []


TEXTS = [f".claude/{name}.md" for name in ("skills/tidy/SKILL", "commands/tidy", "agents/tidy", "output-styles/tidy")]


@pytest.mark.parametrize("name", [*WORDS, *TEXTS])
def test_words_for_agents_that_are_a_link_to_a_file_elsewhere_are_unread(repository: Path, name: str) -> None:
    (repository / name).parent.mkdir(parents=True, exist_ok=True)
    for inside in ("secrets", "other.md"):
        (repository / inside).write_text("inside")
        (repository / name).symlink_to(repository / inside)
        assert not [thing for thing in look(repository).found.things if thing.kind == "unread"]
        (repository / name).unlink()
    key = repository.parent / "id_rsa"
    key.write_text("a key")
    (repository / name).symlink_to(key)
    (unread,) = [thing for thing in look(repository).found.things if thing.kind == "unread"]
    assert (unread.file, unread.what) == (name, f"it is a link to {key}, outside of the repository")


def test_folders_that_lead_back_into_themselves_are_walked_once(repository: Path) -> None:
    write(repository / ".claude/agents/one.md", b"---\nhooks: {}\n---\n")
    (repository / ".claude/agents/again").symlink_to(".")
    (repository / ".claude/agents/up").symlink_to("..")
    assert len(listed(repository)) == 1


def test_more_definitions_than_anybody_reads_are_unread(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_files, "MAX_FILES", 3)
    for number in range(4):
        write(repository / f".claude/agents/{number}.md", b"")
    assert listed(repository) == [("unread", ".claude/agents", ".claude/agents")]


def test_a_script_that_settings_name_changes_the_digest_and_what_lies_outside_does_not(repository: Path) -> None:
    write(repository / ".mcp.json", SERVERS)
    write(repository / "run.sh", b"one")
    before = look(repository).found.digest
    write(repository / "run.sh", b"two")
    assert look(repository).found.digest != before
    (repository / "run.sh").unlink()
    without = look(repository).found.digest
    (repository / "run.sh").symlink_to("/etc/passwd")
    assert look(repository).found.digest == without != before


def test_a_folder_of_plugins_in_the_repository_is_hashed_with_all_that_it_holds(repository: Path) -> None:
    market = {"here": {"source": {"source": "directory", "path": "./plugins"}}}
    write(repository / ".claude/settings.json", {"extraKnownMarketplaces": market})
    write(repository / "plugins/tidy/hooks.json", b"one")
    before = look(repository).found.digest
    write(repository / "plugins/tidy/hooks.json", b"two")
    assert look(repository).found.digest != before


def test_what_is_too_long_to_be_hashed_can_be_trusted_by_nobody(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings_files, "MAX_HASHED", 10)
    write(repository / ".mcp.json", SERVERS)
    write(repository / "run.sh", b"x" * 11)
    assert ("unread", "run.sh", "run.sh") in listed(repository)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", None])
def test_a_person_without_settings_that_can_be_read_has_none(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        write(tmp_path / ".claude/settings.json", content)
    assert own_settings({"HOME": str(tmp_path)}) == {}


def test_a_persons_settings_lie_in_their_configuration_directory(tmp_path: Path) -> None:
    write(tmp_path / ".claude/settings.json", {"a": 1})
    write(tmp_path / "elsewhere/settings.json", {"b": 1})
    assert own_settings({"HOME": str(tmp_path)}) == {"a": 1}
    assert own_settings({"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere")}) == {"b": 1}


def test_definitions_are_found_deeper_than_python_calls_itself(repository: Path) -> None:
    with deep(repository / ".claude/commands/deep", 1_200, "a"):
        write(repository / f".claude/commands/deep/{'a/' * 1_200}er.md", b"---\nmcpServers: {x: {command: y}}\n---\n")
        (thing,) = listed(repository)
    assert thing[2].endswith("er.md")
