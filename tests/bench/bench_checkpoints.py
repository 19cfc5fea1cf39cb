"""What checkpoints cost: ours beside git with a private index that is kept, and beside a shadow repository as peers do it.

Run as `python -m tests.bench.bench_checkpoints [--files N …] [--rounds N] [--large] [--workspace-in FOLDER]`. All three
work on the same repository in the same run, taking turns; all are durable when their time is taken. The table gives
medians. With half a million files the shadow repository is left out: its first capture alone takes a quarter of an hour.
"""

import argparse
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from checkpoints.capture import Capturer
from checkpoints.model import Checkpoint, Facts, Reason
from checkpoints.restore import Restorer
from checkpoints.store import Store

DEFAULT_FILES = (1_000, 50_000)
LARGE_FILES = 500_000
FILES_PER_FOLDER = 25
FILE_BYTES = 1_600
"""About the median of source files; content is text of random words, so it compresses as source does."""

FACTS = Facts(Reason.TURN, at=1_700_000_000.0, agent="bench")
_WORDS = [f"word{number}" for number in range(500)]


class Repository:
    """A project of so many files, with a commit, and changes to make in it."""

    def __init__(self, base: Path, root: Path, files: int) -> None:
        self.base, self.root, self.files = base, root, files
        self.random = random.Random(files)
        self.words = " ".join(self.random.choices(_WORDS, k=200_000)).encode()
        self.git("init", "-q")
        self.make_files_and_commit()

    def make_files_and_commit(self) -> None:
        """Write each file, and tell git of it at the same time: half a million loose objects would take longer than all else."""
        words = ["git", "-C", str(self.root), "fast-import", "--quiet"]
        with subprocess.Popen(words, stdin=subprocess.PIPE) as importer:
            assert importer.stdin is not None
            importer.stdin.write(b"commit HEAD\ncommitter b <b@example.invalid> 0 +0000\ndata 0\n")
            for number in range(self.files):
                path, text = self.path(number), self.text()
                if number % FILES_PER_FOLDER == 0:
                    path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text)
                name = os.fsencode(path.relative_to(self.root))
                importer.stdin.write(b"M 100644 inline %s\ndata %d\n%s\n" % (name, len(text), text))

    def path(self, number: int) -> Path:
        """Return where a file lies: folders of 25 files in folders of 40 folders."""
        return self.root / f"p{number // 1_000}" / f"d{number // FILES_PER_FOLDER}" / f"f{number}.py"

    def text(self) -> bytes:
        start = self.random.randrange(len(self.words) - FILE_BYTES)
        return self.words[start : start + FILE_BYTES]

    def change(self, count: int) -> None:
        for number in self.random.sample(range(self.files), min(count, self.files)):
            self.path(number).write_bytes(self.text())

    def git(self, *words: str, **environment: str) -> str:
        variables = os.environ | environment
        done = subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True, text=True, env=variables)
        return done.stdout.strip()


_DURABLE = ("-c", "core.fsync=all", "-c", "core.fsyncMethod=batch", "-c", "gc.auto=0")


class PrivateIndex:
    """`git add -A` and `git write-tree` with an index that is kept between captures."""

    name = "git, kept private index"

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        store = repository.base / "private.git"
        subprocess.run(["git", "init", "-q", "--bare", str(store)], check=True, capture_output=True)
        (store / "objects/info/alternates").write_text(f"{repository.root}/.git/objects\n")
        self.environment = {
            "GIT_DIR": str(store),
            "GIT_WORK_TREE": str(repository.root),
            "GIT_INDEX_FILE": str(store / "private-index"),
        }
        self.tree = ""

    def capture(self) -> None:
        self.repository.git(*_DURABLE, "add", "-A", **self.environment)
        self.tree = self.repository.git(*_DURABLE, "write-tree", **self.environment)

    def restore(self, before: str, now: str) -> None:
        self.repository.git("read-tree", "-m", "-u", now, before, **self.environment)


class Shadow:
    """A second repository over the same files, with a commit a capture."""

    name = "shadow repository"

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        store = repository.base / "shadow.git"
        subprocess.run(["git", "init", "-q", "--bare", str(store)], check=True, capture_output=True)
        self.environment = {"GIT_DIR": str(store), "GIT_WORK_TREE": str(repository.root)}
        self.identity = ("-c", "user.name=b", "-c", "user.email=b@example.invalid")

    def capture(self) -> None:
        self.repository.git(*_DURABLE, "add", "-A", ".", **self.environment)
        words = ("commit", "-q", "--allow-empty", "--no-verify", "-m", "checkpoint")
        self.repository.git(*_DURABLE, *self.identity, *words, **self.environment)


class Ours:
    """Checkpoints."""

    name = "chaperon"

    def __init__(self, repository: Repository) -> None:
        self.store = Store(repository.base / "store", repository.root)
        self.capturer = Capturer(self.store, repository.root)

    def capture(self) -> Checkpoint:
        return self.capturer.capture(FACTS)

    def close(self) -> None:
        self.capturer.close()
        self.store.close()


def milliseconds(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return (time.perf_counter() - begin) * 1e3


@contextmanager
def scratch(where: Path | None) -> Iterator[Path]:
    base = Path(tempfile.mkdtemp(prefix="checkpoint-bench-", dir=where))
    try:
        yield base
    finally:
        shutil.rmtree(base)


def show(what: str, value: str) -> None:
    sys.stdout.write(f"  {what:<58} {value}\n")
    sys.stdout.flush()


def memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(files: int, rounds: int, where: Path | None) -> None:
    """Measure one size and print its part of the table."""
    with scratch(None) as base, scratch(where) as root:
        repository = Repository(base, root, files)
        before_mb = memory_mb()
        ours = Ours(repository)
        try:
            sys.stdout.write(f"{files:,} files, {files // FILES_PER_FOLDER:,} folders\n")
            index = PrivateIndex(repository)
            others: list[PrivateIndex | Shadow] = [index]
            if files < LARGE_FILES:
                others.append(Shadow(repository))
            show(f"first capture, {ours.name}", f"{milliseconds(ours.capture):10.1f} ms")
            for one in others:
                show(f"first capture, {one.name}", f"{milliseconds(one.capture):10.1f} ms")
            show("folders watched", f"{ours.capturer.watcher.folders:10,}")
            measure_changes(repository, ours, others, rounds)
            measure_ours(repository, ours, index, rounds)
            show("memory that the first capture and the rest took", f"{memory_mb() - before_mb:10.1f} MB")
        finally:
            ours.close()


def measure_changes(repository: Repository, ours: Ours, others: list[PrivateIndex | Shadow], rounds: int) -> None:
    taken: dict[str, list[float]] = {one.name: [] for one in (ours, *others)}
    for number in range(rounds):
        repository.change(10)
        taken[ours.name].append(milliseconds(ours.capture))
        for one in others:
            if number < max(3, rounds // 5):
                taken[one.name].append(milliseconds(one.capture))
    mine = taken[ours.name]
    show("10 changed files, chaperon, p50", f"{statistics.median(mine):10.1f} ms")
    show("10 changed files, chaperon, p95", f"{sorted(mine)[int(len(mine) * 0.95)]:10.1f} ms")
    for one in others:
        median = statistics.median(taken[one.name])
        ratio = median / statistics.median(mine)
        show(f"10 changed files, {one.name}, p50", f"{median:10.1f} ms   {ratio:5.1f} times ours")


def measure_ours(repository: Repository, ours: Ours, index: PrivateIndex, rounds: int) -> None:
    nothing = [milliseconds(ours.capture) for _ in range(rounds)]
    show("nothing changed, p50", f"{statistics.median(nothing):10.1f} ms")
    ours.store.settle()
    before = ours.store.size_bytes
    for _ in range(rounds):
        repository.change(10)
        ours.capture()
    show("settling all of that, off-peak", f"{milliseconds(ours.store.settle):10.1f} ms")
    show("bytes on disk per checkpoint of 10 changed files", f"{(ours.store.size_bytes - before) / rounds:10,.0f}")
    for count in (11, 1_000):
        target = ours.capture()
        repository.change(count)
        show(f"capture of {count:,} changed files", f"{milliseconds(ours.capture):10.1f} ms")
        measure_restore(ours, target, count)
        measure_restore_by_git(repository, index, count)
        ours.capture()
    show("full scrub", f"{milliseconds(ours.capturer.scrub):10.1f} ms")


def measure_restore(ours: Ours, target: Checkpoint, count: int) -> None:
    restorer = Restorer(ours.capturer)
    begin = time.perf_counter()
    plan = restorer.plan(target, FACTS, thorough=False)
    planned = time.perf_counter()
    restorer.restore(plan, confirmed=True, unusual_confirmed=True)
    done = time.perf_counter()
    show(
        f"restore of {count:,} files: plan, then carry out and verify",
        f"{(planned - begin) * 1e3:10.1f} ms + {(done - planned) * 1e3:.1f} ms",
    )


def measure_restore_by_git(repository: Repository, index: PrivateIndex, count: int) -> None:
    index.capture()
    before = index.tree
    repository.change(count)
    captured = milliseconds(index.capture)
    restored = milliseconds(lambda: index.restore(before, index.tree))
    show("  the same by git with its index: capture, then restore", f"{captured:10.1f} ms + {restored:.1f} ms")


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--files", type=int, nargs="*", default=list(DEFAULT_FILES))
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--large", action="store_true", help=f"also {LARGE_FILES:,} files: minutes, and 4 GB of disk")
    parser.add_argument("--workspace-in", type=Path, help="put the workspace, not the stores, on this file system")
    chosen = parser.parse_args(arguments)
    for files in [*chosen.files, *([LARGE_FILES] if chosen.large else [])]:
        measure(files, chosen.rounds, chosen.workspace_in)


if __name__ == "__main__":
    main()
