"""What a merge queue costs: 50 branches into one target by our engine, beside plain git that does the same.

usage: python -m tests.bench.bench_merges

All rebase each branch on what the target has by then, and move the target. Ours makes the commits in memory, and writes
all files anew only if there is a check, which is not run here; git rebases in a worktree that is kept, or that is made
anew for each merge. The target's files and the number of its commits are the same in the end.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from supervisor.runtime.merging import target
from supervisor.runtime.merging.git_merge import Sides, make_merge
from supervisor.runtime.merging.scratch import make_scratch, remove_scratch
from tests.bench.figures import Figure, table

BRANCHES = 50
FILES = 500
COMMITS = 3

IDENTITY = {f"GIT_{who}_{what}": "bench@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(repo: Path, *words: str, lines: str = "") -> str:
    environment = {**os.environ, **IDENTITY, "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(
        ["git", "-C", str(repo), *words], check=True, capture_output=True, text=True, env=environment, input=lines
    )
    return done.stdout.strip()


def make_repository(repo: Path) -> None:
    """A project, and branches from its first commit, each with some commits in files of its own."""
    git(repo.parent, "init", "-q", "-b", "main", str(repo))
    text = "a line of source\n" * 100
    stream = ["commit refs/heads/main\ncommitter b <b@x> 0 +0000\ndata 1\n1\n"]
    stream += [f"M 644 inline d{number % 20}/f{number}.txt\ndata {len(text)}\n{text}\n" for number in range(FILES)]
    for branch in range(BRANCHES):
        for number in range(COMMITS):
            start = "from refs/heads/main\n" if number == 0 else ""
            stream.append(f"commit refs/heads/w{branch}\ncommitter b <b@x> {number} +0000\ndata 1\n1\n{start}")
            more = f"{text}changed by {branch} in {number}\n"
            stream.append(f"M 644 inline d{branch % 20}/f{branch}.txt\ndata {len(more)}\n{more}\n")
    git(repo, "fast-import", "--quiet", lines="".join(stream))


def ours(repo: Path, *, checked: bool = True) -> float:
    base, folder = git(repo, "rev-parse", "main"), repo.parent / "scratch"
    begin = time.perf_counter()
    for branch in range(BRANCHES):
        made = make_merge(Sides(project=repo, branch=f"w{branch}", target="main", base=base, trailers=("A: b",)))
        target.hold(repo, f"{target.HELD}w{branch}", made.merged)
        if checked:
            make_scratch(folder, repo, made.merged)
            remove_scratch(folder)
        target.move(repo, "main", made.before, made.merged, "bench", set_files=True)
        target.release(repo, f"{target.HELD}w{branch}")
    return time.perf_counter() - begin


def unchecked(repo: Path) -> float:
    return ours(repo, checked=False)


def gits(repo: Path, *, kept: bool = True) -> float:
    folder = repo.parent / "worktree"
    add = "worktree", "add", "-q", "--detach", str(folder), "main"
    if kept:
        git(repo, *add)
    begin = time.perf_counter()
    for branch in range(BRANCHES):
        if not kept:
            git(repo, *add)
        old = git(repo, "rev-parse", "main")
        git(folder, "rebase", "-q", "main", f"w{branch}")
        git(folder, "checkout", "-q", "--detach")
        git(repo, "update-ref", "refs/heads/main", git(folder, "rev-parse", "HEAD"), old)
        if not kept:
            git(repo, "worktree", "remove", "--force", str(folder))
    return time.perf_counter() - begin


def gits_anew(repo: Path) -> float:
    return gits(repo, kept=False)


WAYS = {"ours": ours, "unchecked": unchecked, "git": gits, "git anew": gits_anew}


def main() -> Sequence[Figure]:
    """Merge all branches each way, in copies of one repository."""
    results, trees = {}, set()
    for name, work in WAYS.items():
        with tempfile.TemporaryDirectory() as base:
            repo = Path(base) / "repo"
            make_repository(repo)
            git(repo, "checkout", "-q", "--detach")
            results[name] = work(repo)
            trees.add((git(repo, "rev-parse", "main^{tree}"), git(repo, "rev-list", "--count", "main")))
    assert len(trees) == 1
    each = {name: seconds / BRANCHES * 1_000 for name, seconds in results.items()}
    return [
        Figure("a merge in a queue of 50 branches, files written for the check", each["ours"], "ms"),
        Figure("the same by plain git, in a worktree that is made anew", each["git anew"], "ms"),
        Figure("git's time in terms of ours", each["git anew"] / each["ours"], "x"),
        Figure("a merge in a queue of 50 branches without a check", each["unchecked"], "ms"),
        Figure("the same by plain git, in a worktree that is kept", each["git"], "ms"),
        Figure("git's time in terms of ours, without a check", each["git"] / each["unchecked"], "x"),
    ]


if __name__ == "__main__":
    sys.stdout.write(table(main()))
