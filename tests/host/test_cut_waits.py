"""Waits of foreign code: played in a process of its own, since who waits there lets no other thread run."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from host.cut_waits import waits_cut

SCRIPT = """
import sys
from contextlib import nullcontext, suppress
import anyio, anyio.to_thread, pygit2
from host.threads import wait_for_threads

if sys.argv[2] == "cut":
    wait_for_threads(print)

def all_of(folder):
    repo = pygit2.Repository(folder)
    for look in (
        lambda: [repo.references.get(name).target for name in repo.references],
        lambda: [entry.name for entry in repo.head.peel(pygit2.Tree)],
        lambda: repo.merge_base(repo.head.target, repo.head.target),
        lambda: repo.status(),
    ):
        with suppress(OSError, KeyError, pygit2.GitError):
            look()

async def main():
    with suppress(OSError, pygit2.GitError):
        await anyio.to_thread.run_sync(all_of, sys.argv[1])
    print("came back")

anyio.run(main)
"""


def play(folder: Path, mode: str, seconds: float) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), mode], capture_output=True, text=True, timeout=seconds, check=False
    )
    return done.stdout.strip() or done.stderr


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    def git(*words: str) -> str:
        known = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path), *words]
        return subprocess.run(known, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q", "-b", "main")
    (tmp_path / "file").write_text("text\n")
    git("add", "-A")
    git("commit", "-q", "-m", "Begin.")
    git("branch", "other")
    git("config", "include.path", "included")
    (tmp_path / "objects").write_text("\n".join(git("rev-parse", "HEAD", "HEAD^{tree}").split()))
    return tmp_path


def object_of(repository: Path, n: int) -> str:
    name = (repository / "objects").read_text().split()[n]
    return f"objects/{name[:2]}/{name[2:]}"


WHERE = ("a commit", "a tree", "refs/heads/other", "packed-refs", "objects/info/alternates", "included", "index")


def pipe_at(repository: Path, where: str) -> None:
    place = {"a commit": object_of(repository, 0), "a tree": object_of(repository, 1)}.get(where, where)
    (repository / ".git" / place).unlink(missing_ok=True)
    os.mkfifo(repository / ".git" / place)


@pytest.mark.parametrize("where", WHERE)
def test_a_pipe_in_a_repository_does_not_hold_up_a_worker_thread(repository: Path, where: str) -> None:
    pipe_at(repository, where)
    assert play(repository, "cut", 30) == "came back"


@pytest.mark.slow
def test_without_a_cut_it_holds_up_the_whole_process(repository: Path) -> None:
    pipe_at(repository, "included")
    with pytest.raises(subprocess.TimeoutExpired):
        play(repository, "not cut", 3)


def test_what_python_itself_waits_for_is_not_cut(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["sh", "-c", f"sleep 0.5; echo said > {tmp_path / 'pipe'}"]), waits_cut():
        assert (tmp_path / "pipe").read_text() == "said\n"


def test_a_lease_on_a_file_does_not_hold_up_a_worker_thread(repository: Path) -> None:
    """Who holds one keeps others from opening the file for /proc/sys/fs/lease-break-time, 45 s."""
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)  # by which the kernel asks for it back
    try:
        with (repository / ".git/config").open("r+b") as held:
            fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            assert play(repository, "cut", 30) == "came back"
    finally:
        signal.signal(signal.SIGIO, before)
