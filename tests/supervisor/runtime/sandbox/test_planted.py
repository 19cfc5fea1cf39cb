"""A look at a workspace for files that are obeyed later, and new."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.runtime.clock import Clock
from supervisor.runtime.sandbox import planted
from supervisor.runtime.sandbox.planted import DEEPEST, MOST_FOUND, MOST_KEYS, MOST_WITHIN, look
from tests.stages.live import make_repository
from tests.support import AS_OTHERS, holds_open


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = tmp_path / "repo"
    make_repository(made, {"a.txt": "a\n", ".vscode/settings.json": "{}\n", "sub/b.txt": "b\n"})
    return made


def now() -> float:
    """A moment after all that was made before, by the kernel's own clock, which is a tick behind."""
    probe = Path("/tmp", f"planted-{os.getpid()}")
    before = Clock().wall()
    while True:
        probe.touch()
        if (at := probe.stat().st_ctime) > before:
            probe.unlink()
            return at


def names(repository: Path, since: float, *, deep: bool = True) -> list[str]:
    found = look(repository, repository, since, deep=deep)
    return [str(Path(path).relative_to(repository)) for path in found.files]


@pytest.mark.parametrize("name", [".git/packed-refs", ".git/info/exclude", ".git/shallow", ".gitignore"])
def test_a_pipe_on_which_git_would_wait_for_ever_is_found(repository: Path, name: str) -> None:
    since = now()
    (repository / name).unlink(missing_ok=True)
    os.mkfifo(repository / name)
    assert names(repository, since) == [name]


def test_what_was_there_before_is_not_new(repository: Path) -> None:
    assert names(repository, now()) == []


@pytest.mark.parametrize(
    "name",
    [
        ".envrc", ".mcp.json", ".vscode/tasks.json", ".claude/settings.json", ".claude/hooks/deep/x.sh", ".git/hooks/pre-commit",
        ".git/info/attributes", ".git/commondir", "sub/.envrc", "sub/more/.vscode/tasks.json", ".git/objects/info/alternates",
    ],
)  # fmt: skip
def test_what_came_since_is_found_by_its_path(repository: Path, name: str) -> None:
    since = now()
    (repository / name).parent.mkdir(parents=True, exist_ok=True)
    (repository / name).write_text("x\n")
    assert names(repository, since) == [name]


@pytest.mark.parametrize("name", ["config", "config.worktree", "hooks", "info"])
@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a link to itself"])
def test_what_an_agent_put_in_place_of_a_file_of_git_ends_no_look(repository: Path, name: str, kind: str) -> None:
    since, there = now(), repository / ".git" / name
    if there.exists():
        there.rename(there.with_name("away"))
    match kind:
        case "a folder":
            there.mkdir()
        case "a pipe":
            os.mkfifo(there)
        case _:
            there.symlink_to(there)
    (repository / ".envrc").write_text("x\n")
    assert ".envrc" in names(repository, since)
    assert not holds_open(there)


@pytest.mark.skipif(bool(AS_OTHERS) and not shutil.which("setpriv"), reason="needs setpriv to be less than root")
@pytest.mark.parametrize("name", [".git", ".git/hooks", ".git/config", ".vscode", "sub"])
def test_what_nobody_may_read_ends_no_look(repository: Path, name: str) -> None:
    code = (
        "import sys; from pathlib import Path; from supervisor.runtime.sandbox.planted import look\n"
        "place = Path(sys.argv[1]); print(*look(place, place, float(sys.argv[2]), deep=True).files)"
    )
    since = now()
    (repository / ".envrc").write_text("x\n")
    (repository / name).chmod(0)
    try:
        words = [*AS_OTHERS, sys.executable, "-c", code, str(repository), str(since)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    finally:
        (repository / name).chmod(0o700)
    assert str(repository / ".envrc") in done.stdout.split(), done.stderr


def test_a_time_of_content_that_was_set_back_hides_nothing(repository: Path) -> None:
    since = now()
    (repository / ".envrc").write_text("x\n")
    os.utime(repository / ".envrc", (1.0, 1.0))
    (repository / ".vscode/settings.json").write_text("[]\n")
    os.utime(repository / ".vscode/settings.json", (1.0, 1.0))
    assert names(repository, since) == [".envrc", ".vscode/settings.json"]


def test_what_was_moved_there_whole_is_found_though_all_in_it_is_old(repository: Path) -> None:
    (repository / "prepared").mkdir()
    (repository / "prepared/tasks.json").write_text("{}\n")
    since = now()
    (repository / "prepared").rename(repository / ".idea")
    assert names(repository, since) == [".idea"]


def test_a_link_in_place_of_a_file_is_found_and_not_followed(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/x").write_text("x\n")
    since = now()
    (repository / ".claude").symlink_to(tmp_path / "elsewhere")
    (repository / "round").symlink_to(repository)
    assert names(repository, since) == [".claude"]


def test_samples_of_hooks_and_what_git_writes_itself_are_nothing(repository: Path) -> None:
    since = now()
    (repository / ".git/hooks").mkdir(exist_ok=True)
    (repository / ".git/hooks/pre-push.sample").write_text("x\n")
    for words in (["switch", "--quiet", "-c", "work"], ["commit", "--quiet", "--allow-empty", "-m", "x"], ["gc", "-q"]):
        subprocess.run(["git", "-C", repository, *words], check=True)
    found = look(repository, repository, since, deep=True)
    assert (found.files, found.keys) == ((), frozenset())


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\thooksPath = x\n",
        "[CORE] HooksPath=x\n",
        "[core]\nfsmonitor = x",
        "[include]\n\tpath = x\n",
        '[includeIf "gitdir:/"]\n\tpath = x\n',
        "[alias]\n\tst = !x\n",
        '[filter "a b"]\n\tsmudge = x\n',
        '[diff "x"]\n\ttextconv = x\n',
        '[credential "https://x"]\n\thelper = x\n',
        "[user]\n\tname = a\\\n[core]\n\tsshCommand = x\n",
        "[extensions]\n\tworktreeConfig = true\n",
        "\ufeff[gpg]\r\n\tprogram = x\r\n",
    ],
)
def test_keys_whose_value_git_runs_are_found_however_they_are_written(repository: Path, text: str) -> None:
    (repository / ".git/config").write_text(text)
    ((key, _),) = look(repository, repository, 0.0, deep=False).keys
    assert key.startswith(f"{repository}/.git/config: ")


def test_ordinary_keys_are_not(repository: Path) -> None:
    for name, value in (
        ("remote.origin.url", "x"),
        ("branch.a.merge", "refs/heads/a"),
        ("user.name", "a"),
        ("core.bare", "0"),
    ):
        subprocess.run(["git", "-C", repository, "config", name, value], check=True)
    assert look(repository, repository, 0.0, deep=False).keys == frozenset()


def test_a_repository_planted_below_is_looked_into(repository: Path) -> None:
    since = now()
    subprocess.run(["git", "init", "--quiet", repository / "sub/lib"], check=True)
    (repository / "sub/lib/.git/hooks/post-checkout").write_text("x\n")
    subprocess.run(["git", "-C", repository / "sub/lib", "config", "core.fsmonitor", "x"], check=True)
    found = look(repository, repository, since, deep=True)
    assert found.files == (f"{repository}/sub/lib/.git/hooks/post-checkout",)
    assert {key.rpartition(": ")[2] for key, _ in found.keys} == {"core.fsmonitor"}


def test_of_a_worktree_the_hooks_of_its_repository_count(repository: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "-C", repository, "worktree", "add", "--quiet", tmp_path / "tree"], check=True)
    since = now()
    (repository / ".git/hooks").mkdir(exist_ok=True)
    (repository / ".git/hooks/pre-commit").write_text("x\n")
    assert look(tmp_path / "tree", repository, since, deep=True).files == (f"{repository}/.git/hooks/pre-commit",)
    (tmp_path / "tree/.git").write_text("gitdir: /elsewhere\n")
    assert f"{tmp_path}/tree/.git" in look(tmp_path / "tree", repository, since, deep=True).files


def test_a_look_is_bounded_by_depth_number_and_what_is_no_file(repository: Path) -> None:
    since = now()
    far = repository.joinpath(*["d"] * DEEPEST)
    far.mkdir(parents=True)
    (far / ".envrc").write_text("x\n")
    (repository / "node_modules/x").mkdir(parents=True)
    (repository / "node_modules/x/.envrc").write_text("x\n")
    assert names(repository, since) == []
    (repository / ".idea").mkdir()
    for number in range(MOST_FOUND + 20):
        (repository / f".idea/{number}").touch()
    assert len(names(repository, since)) == MOST_FOUND
    (repository / ".git/config").unlink()
    os.mkfifo(repository / ".git/config")
    assert look(repository, repository, since, deep=False).keys == frozenset()
    assert look(repository / "gone", repository / "gone", since, deep=True).files == ()


def test_folders_that_hold_more_than_a_look_takes_up_end_it_and_not_the_machines_memory(repository: Path) -> None:
    since = now()
    for outer in range(15):
        for inner in range(15):
            (repository / f".idea/{outer}/{inner}").mkdir(parents=True)
            for number in range(15):
                (repository / f".idea/{outer}/{inner}/{number}").touch()
    taken_up = 0
    whole = planted._Look._within

    def counted(seen: planted._Look, path: Path, depth: int = 2) -> None:
        nonlocal taken_up
        taken_up += 1
        whole(seen, path, depth)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(planted._Look, "_within", counted)
        assert len(names(repository, since)) == MOST_FOUND
        found_early, taken_up = taken_up, 0
        assert names(repository, now()) == []
    assert found_early < 1_000
    assert taken_up < 2 * MOST_WITHIN


def test_keys_of_many_repositories_are_bounded_too(repository: Path) -> None:
    text = "[alias]\n" + "".join(f"a{number} = x\n" for number in range(100))
    for number in range(MOST_KEYS // 100 + 5):
        (repository / f"r{number}/.git").mkdir(parents=True)
        (repository / f"r{number}/.git/config").write_text(text)
    assert len(look(repository, repository, 0.0, deep=True).keys) == MOST_KEYS


def test_a_folder_of_git_that_the_kernel_does_not_look_up_has_nothing_to_tell(repository: Path) -> None:
    """One of rights that were taken away gives such an error too, but not to root, who may run tests."""
    unheard = repository / ("x" * 300)
    assert look(repository, unheard, now(), deep=True).files == ()
    assert look(unheard, unheard, now(), deep=True).files == ()
