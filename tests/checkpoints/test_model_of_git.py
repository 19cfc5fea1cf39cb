"""Random work in a repository, captured and gone back to; git itself says what is ignored, and keeps its own folder.

Each history is made of a seed. `CHECKPOINT_HISTORIES` and `CHECKPOINT_HISTORY_STEPS` in the environment make the runs
longer; `CHECKPOINT_FIRST_SEED` begins elsewhere.
"""

import errno
import os
import random
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import pytest

from checkpoints.git.trees import files_in
from checkpoints.model import Checkpoint
from checkpoints.paths import bytes_of, is_within
from checkpoints.restore.restore import Restorer
from checkpoints.store.store import Store
from checkpoints.workspace.capture import Capturer, CaptureSettings
from tests.checkpoints.support import MOMENT

HISTORIES = int(os.environ.get("CHECKPOINT_HISTORIES", "6"))
STEPS = int(os.environ.get("CHECKPOINT_HISTORY_STEPS", "40"))
FIRST_SEED = int(os.environ.get("CHECKPOINT_FIRST_SEED", "1"))

LIMIT_BYTES = 64

NAMES = (
    b"a", b"b", b"A", b"src", b"lib", b"build", b"x.log", b"keep.log", b"node_modules", b".env", b"a.txt",
    b"sp ace", b"new\nline", b"bad\xff", b"-rf", b"[x]", b"back\\slash", b"\xc3\xa9", b"x" * 200,
    b".gitignore", b".gitattributes",
)  # fmt: skip

RULES = (
    b"*.log\nbuild/\nnode_modules\n.env\n",
    b"*.log\n!keep.log\n/build\n",
    b"**/node_modules\n*.l?g\nsrc/*\n!src/a\n",
    b"a*\n!a.txt\n",
    b"lib/**\n!lib/b\n",
    b"",
)

TARGETS = (b"a", b"..", b"/etc/passwd", b"nowhere", b".git/HEAD", b"bad\xfe")

EXPECTED = (errno.ENAMETOOLONG, errno.ELOOP)
"""What the system may say of the paths that are tried."""

Picture = dict[bytes, tuple[str, bytes]]
"""Kind and content of everything below a folder but `.git`, by path."""


def picture(folder: Path, prefix: bytes = b"") -> Picture:
    found: Picture = {}
    for item in folder.iterdir():
        path = prefix + os.fsencode(item.name)
        if item.name == ".git":
            continue
        mode = item.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[path] = ("link", os.fsencode(item.readlink()))
        elif stat.S_ISDIR(mode):
            found[path] = ("folder", b"")
            found |= picture(item, path + b"/")
        elif stat.S_ISREG(mode):
            found[path] = ("program" if mode & 0o100 else "file", item.read_bytes())
        else:
            found[path] = ("special", b"")
    return found


def git_folders(folder: Path) -> dict[Path, bytes]:
    """A digest of each file in every `.git` below a folder: chaperon writes none of them."""
    found: dict[Path, bytes] = {}
    for above, _, names in os.walk(folder):
        inside = ".git" in Path(above).relative_to(folder).parts
        for path in (Path(above, name) for name in names if inside or name == ".git"):
            if path.is_symlink():
                found[path] = os.fsencode(path.readlink())
            elif path.is_file():
                found[path] = sha256(path.read_bytes()).digest()
    return found


def nearest(folders: list[bytes], path: bytes) -> bytes:
    """The innermost of these folders that a path lies in."""
    return max((one for one in folders if not one or path.startswith(one + b"/")), key=len)


KINDS = {0o100644: "file", 0o100755: "program", 0o120000: "link"}


class CutError(BaseException):
    """What stands for the end of the process: nothing catches it."""


@dataclass
class History:
    """One workspace, and what a random person and a random agent do in it."""

    base: Path
    chance: random.Random
    done: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root = self.base / "work"
        self.root.mkdir()
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "HOME": str(self.base),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{
                f"GIT_{who}_{what}": "t@example.invalid"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
        }
        self.git(self.root, "init", "-q", "-b", "main")
        (self.root / ".gitignore").write_bytes(self.chance.choice(RULES))
        (self.root / "README").write_bytes(b"read me\n")
        self.commit()
        if self.chance.random() < 0.3:
            with (self.root / ".git/info/exclude").open("ab") as file:
                file.write(b"lib\n")
        self.store = Store(self.base / "state", self.root)
        self.capturer = Capturer(self.store, self.root, CaptureSettings(limit_bytes=LIMIT_BYTES))
        self.copies: list[tuple[Checkpoint, Picture]] = []

    def close(self) -> None:
        self.capturer.close()
        self.store.close()

    def git(self, folder: Path, *words: bytes | str) -> bytes:
        """Run git, whatever it says: in a workspace like this much is refused."""
        command = ["git", "-c", "protocol.file.allow=always", "-C", os.fsencode(folder), *words]
        return subprocess.run(command, capture_output=True, check=False, env=self.environment, timeout=60).stdout

    # ── what git says ─────────────────────────────────────────────────────────────────────────────────────────────

    def not_ignored(self, here: Picture) -> set[bytes]:
        """Files and links that git does not ignore, those of repositories inside by their own rules."""
        repositories = self.repositories(here)
        found: set[bytes] = set()
        for repository in repositories:
            listed = self.git(
                self.root / os.fsdecode(repository), "ls-files", "-z", "--cached", "--others", "--exclude-standard"
            )
            for name in listed.split(b"\0"):
                path = repository + b"/" + name if repository else name
                is_there = here.get(path, ("folder",))[0] in KINDS.values()
                if is_there and nearest(repositories, path) == repository:
                    found.add(path)
        return found

    def repositories(self, here: Picture) -> list[bytes]:
        """The workspace's own, and those inside that the one around them does not ignore; outer ones first."""
        found = [b""]
        for path in sorted(path for path, (kind, _) in here.items() if kind == "folder" and self.is_repository(path)):
            if self.is_seen(path, nearest(found, path)):
                found.append(path)
        return found

    def is_repository(self, path: bytes) -> bool:
        return os.path.lexists(self.root / os.fsdecode(path) / ".git")

    def is_seen(self, repository: bytes, above: bytes) -> bool:
        """Whether the repository around it does not ignore it."""
        place = self.root / os.fsdecode(above)
        inside = repository[len(above) + 1 :] if above else repository
        tracked = self.git(place, "ls-files", "-z", "--cached", "--stage", "--", b":(literal)" + inside)
        submodule = any(line.startswith(b"160000 ") and line.endswith(b"\t" + inside) for line in tracked.split(b"\0"))
        return submodule or not self.git(place, "check-ignore", "--no-index", "--", b"./" + inside)

    # ── what is done ──────────────────────────────────────────────────────────────────────────────────────────────

    def any_path(self, most: int = 3) -> bytes:
        return b"/".join(self.chance.choice(NAMES) for _ in range(self.chance.randrange(1, most + 1)))

    def at(self, path: bytes) -> Path:
        """Where a path lies; what stands in its way is removed."""
        full = self.root
        for name in path.split(b"/")[:-1]:
            full /= os.fsdecode(name)
            if full.is_symlink() or not full.is_dir():
                full.unlink(missing_ok=True)
                full.mkdir()
        full = self.root / os.fsdecode(path)
        self.clear(full)
        return full

    def clear(self, full: Path) -> None:
        if full.is_dir() and not full.is_symlink():
            shutil.rmtree(full)
        else:
            full.unlink(missing_ok=True)

    def some(self, *kinds: str) -> bytes | None:
        found = sorted(path for path, (kind, _) in picture(self.root).items() if kind in kinds)
        return self.chance.choice(found) if found else None

    def content(self) -> bytes:
        return self.chance.randbytes(self.chance.choice([0, 1, 9, LIMIT_BYTES, LIMIT_BYTES + 1]))

    def write(self) -> None:
        full = self.at(self.any_path())
        full.write_bytes(self.content())
        full.chmod(self.chance.choice([0o644, 0o755, 0o444]))

    def edit_in_place_with_the_same_size_and_time(self) -> None:
        if (path := self.some("file", "program")) is not None:
            full = self.root / os.fsdecode(path)
            state = full.stat()
            full.chmod(0o644)
            full.write_bytes(self.chance.randbytes(state.st_size))
            full.chmod(stat.S_IMODE(state.st_mode))
            os.utime(full, ns=(state.st_atime_ns, state.st_mtime_ns))

    def remove(self) -> None:
        if (path := self.some("file", "program", "link", "folder")) is not None:
            self.clear(self.root / os.fsdecode(path))

    def change_mode(self) -> None:
        if (path := self.some("file", "program")) is not None:
            full = self.root / os.fsdecode(path)
            full.chmod(stat.S_IMODE(full.stat().st_mode) ^ 0o111)

    def link(self) -> None:
        self.at(self.any_path()).symlink_to(os.fsdecode(self.chance.choice(TARGETS)))

    def move(self) -> None:
        path, to = self.some("file", "program", "link", "folder"), self.any_path()
        if path is not None and not is_within(to, path) and not is_within(path, to):
            full = self.at(to)
            if os.path.lexists(self.root / os.fsdecode(path)):
                (self.root / os.fsdecode(path)).rename(full)

    def make_folder(self) -> None:
        self.at(self.any_path()).mkdir()

    def make_pipe(self) -> None:
        os.mkfifo(self.at(self.any_path() + b".pipe"))

    def make_a_repository_inside(self) -> None:
        full = self.at(self.any_path(2))
        full.mkdir()
        self.git(full, "init", "-q")
        (full / "in").write_bytes(b"inside")
        (full / "in.log").write_bytes(b"inside")
        if self.chance.random() < 0.6:
            self.git(full, "add", "-A")
            self.git(full, "commit", "-qm", "inside")

    def add_a_submodule(self) -> None:
        source = self.base / "source"
        if not source.exists():
            source.mkdir()
            self.git(source, "init", "-q", "-b", "main")
            (source / "s.txt").write_bytes(b"of the submodule\n")
            self.git(source, "add", "-A")
            self.git(source, "commit", "-qm", "s")
        self.git(self.root, "submodule", "add", "-q", str(source), f"sub{self.chance.randrange(3)}")

    def commit(self) -> None:
        self.git(self.root, "add", "-A")
        self.git(self.root, "commit", "-qm", "c")

    def add_with_force(self) -> None:
        if (path := self.some("file", "program")) is not None:
            self.git(self.root, "add", "-f", "--", b":(literal)" + path)

    def change_rules(self) -> None:
        self.at(b".gitignore").write_bytes(self.chance.choice(RULES))

    def git_command(self) -> None:
        words = self.chance.choice(
            [
                ["stash", "-q"],
                ["stash", "pop", "-q"],
                ["checkout", "-q", "-b", f"b{self.chance.randrange(10**6)}"],
                ["checkout", "-q", "--detach"],
                ["reset", "-q", "--hard", "HEAD"],
                ["reset", "-q", "--hard", "HEAD~1"],
                ["clean", "-fdq"],
                ["rm", "-r", "-q", "--cached", "--ignore-unmatch", "src", "lib", "a"],
                ["sparse-checkout", "set", "--no-cone", "/*", "!/src"],
                ["sparse-checkout", "disable"],
                ["gc", "-q"],
            ]
        )
        self.git(self.root, *words)
        self.done.append(" ".join(words))

    def maintain(self) -> None:
        self.store.settle()

    def scrub(self) -> None:
        assert self.capturer.scrub().missed == (), "a change was missed"

    # ── what is claimed ───────────────────────────────────────────────────────────────────────────────────────────

    def held(self, checkpoint: Checkpoint) -> Picture:
        return {
            path: (KINDS[entry.mode], self.store.read(entry.id)[1])
            for path, entry in files_in(self.store, bytes.fromhex(checkpoint.tree))
            if not entry.is_folder
        }

    def capture(self) -> None:
        here, gits = picture(self.root), git_folders(self.root)
        checkpoint = self.capturer.capture(MOMENT)
        assert git_folders(self.root) == gits, "a capture wrote in .git"
        self.check_captured(checkpoint, here)
        self.copies.append((checkpoint, here))

    def check_captured(self, checkpoint: Checkpoint, here: Picture) -> None:
        held = self.held(checkpoint)
        for path, what in held.items():
            assert here.get(path) == what, f"{path!r} was captured otherwise than it is"
        for path in self.not_ignored(here):
            if here[path][0] == "link" or len(here[path][1]) <= LIMIT_BYTES:
                assert path in held, f"{path!r} was not captured, and git does not ignore it"

    def restore(self) -> None:
        if not self.copies:
            return
        target, _ = self.chance.choice(self.copies)
        before, gits = picture(self.root), git_folders(self.root)
        plan = Restorer(self.capturer).plan(target, MOMENT, thorough=self.chance.random() < 0.3)
        self.check_captured(plan.undo, before)
        kept = [
            bytes_of(one.path)
            for one in Restorer(self.capturer).restore(plan, confirmed=True, unusual_confirmed=True).kept
        ]
        after = picture(self.root)
        assert git_folders(self.root) == gits, "a restore wrote in .git"
        wanted, undo = self.held(target), self.held(plan.undo)
        for path in {*before, *after, *wanted}:
            near_kept = any(is_within(path, one) or is_within(one, path) for one in kept)
            if path in before and path not in undo and before[path][0] != "folder":
                assert after.get(path) == before[path], f"{path!r} was in no checkpoint, and was touched"
            elif path in wanted and not near_kept:
                assert after.get(path) == wanted[path], f"{path!r} was not brought back"
            elif path in undo and path not in wanted and not near_kept:
                assert after.get(path, ("folder",))[0] == "folder", f"{path!r} is there, and the checkpoint has it not"
        self.copies.append((plan.undo, before))

    def crash(self) -> None:
        """The process that has the store ends, as by a power cut, and another takes over."""
        self.capturer.close()
        self.store.lose()
        self.store = Store(self.base / "state", self.root)
        self.capturer = Capturer(self.store, self.root, CaptureSettings(limit_bytes=LIMIT_BYTES))
        Restorer(self.capturer).recover()

    def restore_that_is_cut(self) -> None:
        """A restore ends at any of its steps; the next process completes it, or nothing of it was done."""
        if not self.copies:
            return
        target, _ = self.chance.choice(self.copies)
        left = self.chance.randrange(12)

        def cut(step: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise CutError(step)

        restorer, before, gits = Restorer(self.capturer, step=cut), picture(self.root), git_folders(self.root)
        plan = restorer.plan(target, MOMENT)
        try:
            restorer.restore(plan, confirmed=True, unusual_confirmed=True)
        except CutError as error:
            self.done.append(f"cut at {error}")
        self.crash()
        after = picture(self.root)
        assert git_folders(self.root) == gits, "a restore that was cut wrote in .git"
        undo = self.held(plan.undo)
        for path, what in before.items():
            if what[0] != "folder" and after.get(path) != what:
                assert undo.get(path) == what, f"{path!r} is not as it was, and no checkpoint has it"

    def steps(self) -> Iterator[Callable[[], None]]:
        often: dict[Callable[[], None], int] = {
            self.write: 25, self.edit_in_place_with_the_same_size_and_time: 12, self.remove: 6, self.change_mode: 4,
            self.link: 5, self.move: 7, self.make_folder: 4, self.make_pipe: 2, self.make_a_repository_inside: 4,
            self.add_a_submodule: 3, self.commit: 6, self.add_with_force: 4, self.change_rules: 3, self.git_command: 9,
            self.capture: 14, self.restore: 9, self.maintain: 1, self.scrub: 1, self.crash: 1,
            self.restore_that_is_cut: 5,
        }  # fmt: skip
        while True:
            yield self.chance.choices(list(often), list(often.values()))[0]


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + HISTORIES))
@pytest.mark.timeout(0 if STEPS > 40 else 180)
def test_what_git_does_not_ignore_is_captured_and_comes_back_and_git_is_left_alone(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path, random.Random(seed))
    try:
        for number, step in zip(range(STEPS), history.steps(), strict=False):
            history.done.append(f"{number} {step.__name__}")
            try:
                step()
            except AssertionError as error:
                raise AssertionError(f"{error}\nafter: {'; '.join(history.done)}") from None
            except OSError as error:
                if error.errno not in EXPECTED:
                    raise
        history.capture()
    finally:
        history.close()
