"""A merge on a file system that is really full: the target moves with all of its files, or nothing changes."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHILD = """
import json, os, random, subprocess, sys
from pathlib import Path
import pygit2
from supervisor.runtime.merging import target
from supervisor.runtime.merging.git_merge import MergeError, Sides, make_merge

base, repo = Path(sys.argv[1]), Path(sys.argv[1]) / "repo"
if sys.argv[2] == "unforeseen":
    target.ROOM_BYTES = -(2**40)  # the room goes while files are written

def git(*words):
    who = ["-c", "user.name=a", "-c", "user.email=a@x", "-c", "commit.gpgsign=false", "-c", "gc.auto=0"]
    done = subprocess.run(["git", "-C", str(repo), *who, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()

def commit(name):
    git("add", "-A")
    git("commit", "-qm", name)

def leave(kilobytes):
    held = os.statvfs(base)
    with (base / "fill").open("wb") as file:
        file.write(bytes(max(0, held.f_bavail * held.f_frsize - kilobytes * 1024)))

repo.mkdir()
git("init", "-qb", "main")
(repo / "old.txt").write_text("old " * 5000)
commit("first")
git("checkout", "-qb", "work")
chance = random.Random(1)
for number in range(20):
    (repo / f"f{number:02}.bin").write_bytes(chance.randbytes(8000))
(repo / "old.txt").write_text("new " * 5000)
commit("work")
git("checkout", "-q", "main")
(repo / "other.txt").write_text("other")
commit("other")
before = git("rev-parse", "main")

found = []
for kilobytes in (0, 8, 16, 32, 64, 100, 130, 160, None):
    if kilobytes is not None:
        leave(kilobytes)
    try:
        made = make_merge(Sides(project=repo, branch="work", target="main"))
        target.hold(repo, target.HELD + "a", made.merged)
        target.move(repo, "main", made.before, made.merged, "test", set_files=True)
        how = "moved"
    except (MergeError, target.TargetHeldError, pygit2.GitError, OSError) as error:
        how = type(error).__name__
    (base / "fill").unlink(missing_ok=True)
    same = git("rev-parse", "main") == before
    git("fsck", "--strict")
    found.append([kilobytes, how, same, git("status", "--porcelain")])
    if how == "moved":
        break
print(json.dumps(found))
"""


def play(mount_point: Path, how: str) -> list[list[Any]]:
    """Play in a mount namespace of its own, on a file system of 8 MiB; skip if the kernel forbids that."""
    mount_point.mkdir()
    unshare, mount = shutil.which("unshare"), shutil.which("mount")
    if not (unshare and mount):
        pytest.skip("needs unshare and mount")
    script = 'mount -t tmpfs -o size=8m tmpfs "$1" || exit 77; exec "$2" -c "$3" "$1" "$4"'
    given = ["sh", "-c", script, "sh", str(mount_point), sys.executable, CHILD, how]
    own = [unshare, "--user", "--map-root-user", "--mount", *given]
    done = subprocess.run(own, capture_output=True, text=True, timeout=100, check=False)
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"no mount namespaces here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    found: list[list[Any]] = json.loads(done.stdout)
    return found


@pytest.mark.timeout(150)
@pytest.mark.parametrize("how", ["foreseen", "unforeseen"])
def test_a_full_disk_leaves_branch_and_files_as_they_were_and_with_room_the_merge_is_made(
    tmp_path: Path, how: str
) -> None:
    *failed, last = play(tmp_path / "disk", how)
    assert [(same, status) for _, _, same, status in failed] == [(True, "")] * len(failed)
    assert {"MergeError", "TargetHeldError"} <= {kind for _, kind, _, _ in failed}
    assert last[1:] == ["moved", False, ""]
