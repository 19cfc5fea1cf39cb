import os
import subprocess
from pathlib import Path

import pygit2
import pytest

from checkpoints.errors import CheckpointError
from checkpoints.git import effective_user
from tests.stages.apart import PERSON, as_a_daemon_apart, enterable, needs_root


@needs_root
def test_a_daemon_apart_reads_the_objects_of_a_repository_in_a_closed_home(tmp_path: Path) -> None:
    enterable(tmp_path / "x")
    home = tmp_path / "of ada"
    home.mkdir(mode=0o700)
    git = ["git", "-C", str(home), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    subprocess.run(["chown", "-R", f"{PERSON.user}:{PERSON.group}", str(home)], check=True)

    def head() -> str:
        return pygit2.Repository(str(home)).head.peel(pygit2.Commit).message

    def work() -> None:
        pygit2.settings.search_path[pygit2.enums.ConfigLevel.GLOBAL] = str(home)
        with pytest.raises(pygit2.GitError):  # access(2) asks for the real user, who may not look
            head()
        effective_user.ask_as_effective_user()
        assert head() == "first\n"
        assert not os.access(home / "HEAD", os.F_OK)  # of other callers nothing is changed

    as_a_daemon_apart(work)


def test_another_build_of_libgit2_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(effective_user, "is_apart", lambda: True)
    maps = tmp_path / "maps"
    maps.write_text("1000-2000 r--p 00000000 00:00 1 /usr/lib/libc.so.6\n")
    monkeypatch.setattr(effective_user, "_MAPS", maps)
    with pytest.raises(CheckpointError, match="access"):
        effective_user.ask_as_effective_user()
