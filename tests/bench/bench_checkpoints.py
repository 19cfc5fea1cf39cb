"""What checkpoints cost: ours beside git with a private index that is kept, and beside a shadow repository as peers do it.

usage: python -m tests.bench.bench_checkpoints [--files N …] [--rounds N] [--workspace-in FOLDER]

All three work on the same repository in the same run, taking turns; all are durable when their time is taken. The table
gives medians. With half a million files the shadow repository is left out: its first capture alone takes a quarter of an hour.
"""

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from checkpoints.git.sealed_pack import CLEAR, StoreSeals
from checkpoints.model import CaptureContext, Checkpoint, Reason
from checkpoints.restore.restore import Restorer
from checkpoints.store.store import Store
from checkpoints.workspace.capture import Capturer
from supervisor.runtime.protection.seals import RecordSeals
from tests.bench.figures import Figure, middle, percentile, table

DEFAULT_FILES = (1_000, 50_000)
LARGE_FILES = 500_000
AIMS = {50_000: (15.0, 10.0), LARGE_FILES: (25.0, 40.0)}
"""By files: the most milliseconds that a capture of ten changed files may take, and how many times faster than git it is to be."""

ENCRYPTED_TIMES = 1.3
"""How many times longer a capture may take at the median if it is encrypted."""

FILES_PER_FOLDER = 25
FILE_BYTES = 1_600
"""About the median of source files; content is text of random words, so it compresses as source does."""

FACTS = CaptureContext(Reason.TURN, at=1_700_000_000.0, agent="bench")
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

    def __init__(self, repository: Repository, seals: StoreSeals = CLEAR) -> None:
        self.name = self.name + ", encrypted" * seals.seals
        self.store = Store(repository.base / self.name, repository.root, seals)
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


def memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(files: int, rounds: int, where: Path | None = None) -> list[Figure]:
    """Measure one size."""
    with scratch(None) as base, scratch(where) as root:
        repository = Repository(base, root, files)
        before_mb = memory_mb()
        ours, sealed = Ours(repository), Ours(repository, RecordSeals([b"k" * 32], seals=True))
        try:
            index = PrivateIndex(repository)
            others: list[PrivateIndex | Shadow] = [index]
            if files < LARGE_FILES:
                others.append(Shadow(repository))
            found = [of(one, "first capture", milliseconds(one.capture)) for one in (ours, sealed, *others)]
            found += measure_changes(repository, ours, sealed, others, rounds)
            found += measure_ours(repository, ours, index, rounds)
            found += [Figure("memory for all of that", memory_mb() - before_mb, "MB")]
            return [replace(one, what=f"{files:,} files: {one.what}") for one in found]
        finally:
            ours.close()
            sealed.close()


def of(whose: Ours | PrivateIndex | Shadow, what: str, value: float, aim: float | None = None) -> Figure:
    return Figure(f"{what}, {whose.name}", value, "ms", aim)


def measure_changes(
    repository: Repository, ours: Ours, sealed: Ours, others: Sequence[PrivateIndex | Shadow], rounds: int
) -> list[Figure]:
    """Captures of ten changed files, in turns; the others less often, for theirs take seconds."""
    taken: dict[str, list[float]] = {one.name: [] for one in (ours, sealed, *others)}
    for number in range(rounds):
        repository.change(10)
        for one in (ours, sealed) if number % 2 else (sealed, ours):
            taken[one.name].append(milliseconds(one.capture))
        for other in others:
            if number < max(3, rounds // 5):
                taken[other.name].append(milliseconds(other.capture))
    mine, what = middle(taken[ours.name]), "10 changed files"
    most, times = AIMS.get(repository.files, (None, None))
    found = [
        of(ours, what, mine, most),
        of(ours, f"{what}, 95th percentile", percentile(taken[ours.name], 0.95)),
        *(of(one, what, middle(taken[one.name])) for one in (sealed, *others)),
    ]
    return [
        *found,
        Figure(f"{what}, times as long if encrypted", middle(taken[sealed.name]) / mine, "", ENCRYPTED_TIMES),
        Figure(f"{what}, times faster than {others[0].name}", middle(taken[others[0].name]) / mine, "", times, True),
    ]


def measure_ours(repository: Repository, ours: Ours, index: PrivateIndex, rounds: int) -> list[Figure]:
    """What is ours alone: nothing changed, settling, bytes, restores beside git's, a scrub."""
    found = [of(ours, "nothing changed", middle(milliseconds(ours.capture) for _ in range(rounds)))]
    ours.store.settle()
    before = ours.store.size_bytes
    for _ in range(rounds):
        repository.change(10)
        ours.capture()
    found.append(of(ours, f"settling {rounds} captures off-peak", milliseconds(ours.store.settle)))
    found.append(
        Figure("a checkpoint of 10 changed files on the disk", (ours.store.size_bytes - before) / rounds, "bytes")
    )
    for count in (11, 1_000):
        target = ours.capture()
        repository.change(count)
        found.append(of(ours, f"{count:,} changed files", milliseconds(ours.capture)))
        found.append(
            of(ours, f"restore of {count:,} files, planned, done and verified", restored_by_ours(ours, target))
        )
        found.append(of(index, f"restore of {count:,} files", restored_by_git(repository, index, count)))
        ours.capture()
    return [*found, of(ours, "full scrub", milliseconds(ours.capturer.scrub))]


def restored_by_ours(ours: Ours, target: Checkpoint) -> float:
    restorer = Restorer(ours.capturer)

    def restore() -> None:
        plan = restorer.plan(target, FACTS, thorough=False)
        restorer.restore(plan, confirmed=True, unusual_confirmed=True)

    return milliseconds(restore)


def restored_by_git(repository: Repository, index: PrivateIndex, count: int) -> float:
    """Git's own restore alone, without the capture of the present that ours makes first."""
    index.capture()
    before = index.tree
    repository.change(count)
    index.capture()
    return milliseconds(lambda: index.restore(before, index.tree))


def main(sizes: Sequence[int] = DEFAULT_FILES, rounds: int = 40, where: Path | None = None) -> list[Figure]:
    """Measure each size."""
    return [figure for files in sizes for figure in measure(files, rounds, where)]


def large() -> list[Figure]:
    """Measure half a million files."""
    return main((LARGE_FILES,))


def command() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=command.__doc__)
    parser.add_argument("--files", type=int, nargs="*", default=list(DEFAULT_FILES))
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--workspace-in", type=Path, help="put the workspace, not the stores, on this file system")
    chosen = parser.parse_args()
    sys.stdout.write(table(main(chosen.files, chosen.rounds, chosen.workspace_in)) + "\n")


if __name__ == "__main__":
    command()
