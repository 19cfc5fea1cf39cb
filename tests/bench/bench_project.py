"""A project that goes back: four worktrees with agents, their branches, and the queue; beside plain git for the files alone.

usage: python -m tests.bench.bench_project

Ours holds the agents, keeps the present as a checkpoint that undoes it, sets branches, files and tasks, and has the
agents go on. Git resets the same worktrees to the same commits and cleans them, which nothing undoes.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import anyio

from supervisor.protocol.tasks import TaskState
from tests.bench.figures import Figure, table
from tests.stages.daemon import Base, until
from tests.supervisor.runtime.projects.test_rollback import REQUEST, add, drain, plain, project, say, state

AGENTS = 4
FILES = 500
CHANGED = 50
TASKS = 100

CHANGE = f"do: for n in $(seq {CHANGED}); do echo changed > d$((n % 20))/f$n.txt; done"


def make_files(repo: Path) -> None:
    """Files of a project, committed."""
    for number in range(FILES):
        folder = repo / f"d{number % 20}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number}.txt").write_text("a line of source\n" * 100)
    for words in (("add", "-A"), ("-c", "user.name=b", "-c", "user.email=b@x", "commit", "-qm", "files")):
        subprocess.run(["git", "-C", str(repo), *words], check=True)


async def play(root: Path) -> tuple[float, float, float]:
    """Make the checkpoint, change everything, go back; then the same by git. Seconds of each."""
    base = Base(root)
    async with project(base) as daemon:
        make_files(base.repo)
        folders = [await plain(daemon, base, f"a{number}", "do: true") for number in range(AGENTS)]
        await drain(daemon, on=True)
        for number in range(TASKS):
            await add(daemon, base, f"t-{number}", "do: true")
        begin = perf_counter()
        await daemon.projects.make(str(base.repo), "before", "ann")
        made = perf_counter() - begin
        for number in range(AGENTS):
            await say(daemon, f"a{number}", CHANGE)
        begin = perf_counter()
        await daemon.project_work.rollbacks.roll_back(str(base.repo), REQUEST, "ann", "r1")
        ours = perf_counter() - begin
        await until(lambda: all(daemon.board.summary(f"a{number}").launches == 2 for number in range(AGENTS)))
        assert state(daemon, "t-0") is TaskState.PENDING
        assert all((folder / "d1/f1.txt").read_text().startswith("a line") for folder in folders)
    for folder in folders:
        for number in range(1, CHANGED + 1):
            (folder / f"d{number % 20}/f{number}.txt").write_text("changed\n")
    begin = perf_counter()
    for folder in folders:
        for words in (("reset", "-q", "--hard"), ("clean", "-qffdx")):
            subprocess.run(["git", "-C", str(folder), *words], check=True)
    return made, ours, perf_counter() - begin


def main() -> Sequence[Figure]:
    """Go back once."""
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place:
        made, ours, git = anyio.run(play, Path(place))
    return [
        Figure(
            f"a checkpoint of a project of {AGENTS} worktrees with {FILES} files and {TASKS} tasks", made * 1e3, "ms"
        ),
        Figure(f"the project goes back, {CHANGED} changed files in each, its agents at work", ours * 1e3, "ms"),
        Figure("the files of these worktrees alone by git, which nothing undoes", git * 1e3, "ms"),
        Figure("the way back in terms of git's for the files", ours / git, "x"),
    ]


if __name__ == "__main__":
    sys.stdout.write(table(main()))
