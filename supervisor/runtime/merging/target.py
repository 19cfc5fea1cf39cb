"""The target of a merge: where it is checked out, and its move from the old commit to the new one, or not at all.

A branch moves by compare-and-swap under git's own lock on it. Files of a worktree in which it is checked out are set
only if a person asked for the merge and the worktree has no changes. They are set before the branch moves: a failure
between the two leaves the old target, and a start that finds the files set goes on.
"""

import errno
import os
import shutil
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

import pygit2
from pygit2.enums import CheckoutStrategy, FileStatus

from checkpoints.workspace import repository
from host.apart import run_apart
from host.plain_files import NotPlainError, TooLargeError, read_path, read_plain
from host.standing import is_folder
from monitors.contract.errors import ChaperonError
from monitors.contract.wording import counted, size
from supervisor.runtime.merging.git_merge import open_repository

HELD = "refs/chaperon/merging/"
"""Refs that hold the commits of merges that are under way."""


ROOM_BYTES = 1024 * 1024
"""Room that a disk must have beside the new files of a checkout, in bytes: its index is written anew, and what else
writes there meanwhile."""

BLOCK_BYTES = 4096
"""The size to which file systems round a file's up, in bytes; most have 4 KiB."""

_UNTOUCHED = frozenset({FileStatus.CURRENT, FileStatus.IGNORED, FileStatus.WT_NEW})


class TargetMovedError(ChaperonError):
    """The target is not on the commit any more that the merge was made on."""


class TargetHeldError(ChaperonError):
    """The target is checked out in a worktree that cannot be changed now."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A worktree in which the target is checked out."""

    path: Path
    problem: str = ""
    """The reason why its files cannot be set now; empty if they can."""
    begun: bool = False
    """Whether some or all of its files are set already, by a move that was cut short."""


def checkouts(project: Path, target: str, new: str = "") -> tuple[Checkout, ...]:
    """Return the worktrees in which a branch is checked out. Blocks.

    Args:
        project: Any worktree of the repository, or its folder if it is bare.
        target: The branch.
        new: The commit to which it is to move. A file that is there as in this commit is no change of a person's.
    """
    return tuple(_look(path, new) for path in worktrees(project) if _on(path, target))


def worktrees(project: Path, known: Container[str] = ()) -> Iterator[Path]:
    """Yield every worktree of a repository that is there.

    A folder that the repository names as one is one only if its `.git` names the repository in turn: another clone may
    stand by now where a worktree was, and an agent can name any folder.

    Args:
        project: Any worktree of the repository, or its folder if it is bare.
        known: Worktrees that are this repository's, whatever their `.git` says by now.
    """
    folders = repository.find(project)
    common = folders.common if folders is not None else project
    if common.name == ".git":
        yield common.parent
    for administration in sorted((common / "worktrees").glob("*")):
        try:
            marker = read_path(administration / "gitdir")
        except OSError:
            continue
        path = (marker if marker.is_absolute() else Path(os.path.realpath(administration / marker))).parent
        if is_folder(path) and (str(path) in known or _names(path, administration)):
            yield path


def _names(path: Path, administration: Path) -> bool:
    """Whether the `.git` of a folder names this administration."""
    found = repository.find(path)
    try:
        return found is not None and found.own.samefile(administration)
    except (OSError, ValueError):
        return False


def move(project: Path, target: str, old: str, new: str, note: str, *, set_files: bool) -> tuple[Path, ...]:
    """Move a branch from one commit to another, or not at all; the worktrees whose files were set with it. Blocks.

    Args:
        project: A worktree of the repository.
        target: The branch.
        old: The commit on which it must stand.
        new: The commit to which it moves.
        note: Written into its log.
        set_files: Whether the files of worktrees in which it is checked out are set as well.

    Raises:
        TargetMovedError: It stands elsewhere; nothing was changed.
        TargetHeldError: It is checked out where files cannot or must not be set; nothing was changed.
        pygit2.GitError, OSError: Git could not do it.
    """
    repo = open_repository(project)
    reference = repo.references.get(f"refs/heads/{target}")
    if reference is None or str(reference.target) != old:
        raise TargetMovedError(f"{target} of {project} does not stand on {old[:12]} any more.")
    held = run_apart(checkouts, project, target, new)
    problems = [f"{one.path} {one.problem}" for one in held if one.problem]
    if held and (problems or not set_files):
        why = "; ".join(problems) if problems else f"{held[0].path} has it checked out"
        raise TargetHeldError(f"{target} was not moved: {why}.")
    for number, one in enumerate(held):
        try:
            _set_files(one.path, old, new, anyway=one.begun)
        except TargetHeldError:
            for other in held[:number]:
                _set_files(other.path, new, old, anyway=True)
            raise
    try:
        reference.set_target(pygit2.Oid(hex=new), note)
    except (pygit2.GitError, OSError) as error:
        for one in held:
            _set_files(one.path, new, old, anyway=True)
        now = repo.references.get(f"refs/heads/{target}")
        if now is not None and str(now.target) == old:
            raise
        raise TargetMovedError(f"{target} of {project} moved at the same moment ({error}).") from error
    return tuple(one.path for one in held)


def hold(project: Path, name: str, commit: str) -> None:
    """Name a commit, so that git's own tidying leaves it. Blocks.

    Args:
        project: A worktree of the repository.
        name: The name of the ref. Example: `refs/chaperon/merging/a1`.
        commit: Its id.
    """
    open_repository(project).references.create(name, pygit2.Oid(hex=commit), force=True)


def release(project: Path, name: str) -> None:
    """Remove a ref that `hold` made; nothing happens if there is none. Blocks."""
    found = open_repository(project).references.get(name)
    if found is not None:
        found.delete()


def held(project: Path) -> tuple[str, ...]:
    """Return the names of what `hold` holds in a project, none if it is gone or cannot be read. Blocks."""
    try:
        references = open_repository(project).references
        return tuple(name.removeprefix(HELD) for name in references if name.startswith(HELD))
    except (ChaperonError, pygit2.GitError, OSError, ValueError):
        return ()


def holds(project: Path, target: str, commit: str) -> bool:
    """Whether a commit is in the history of a branch. Blocks."""
    repo = open_repository(project)
    reference = repo.references.get(f"refs/heads/{target}")
    if reference is None or pygit2.Oid(hex=commit) not in repo:
        return False
    return str(reference.target) == commit or bool(repo.descendant_of(reference.target, pygit2.Oid(hex=commit)))


def drop_branch(project: Path, branch: str, tip: str, *, keep_as: str = "") -> bool:
    """Remove a branch whose work is elsewhere, unless it moved or is checked out; whether it is gone. Blocks.

    Args:
        project: A worktree of the repository.
        branch: The branch.
        tip: The commit on which it must stand.
        keep_as: The ref that keeps this commit, with a number if it keeps another; empty if it is on another branch. It
            is made even if the branch stays, so that what is kept does not count as the branch's own.
    """
    repo = open_repository(project)
    found = repo.branches.local.get(branch)
    if found is None:
        return True
    if keep_as and (merged := pygit2.Oid(hex=tip)) in repo:  # what another agent of that name left stays
        names = (keep_as, *(f"{keep_as}-{number}" for number in range(2, 10_000)))
        free = next(name for name in names if (kept := repo.references.get(name)) is None or kept.target == merged)
        repo.references.create(free, merged, force=True)
    if str(found.target) != tip or any(_on(path, branch) for path in worktrees(project)):
        return False
    found.delete()
    return True


def _on(path: Path, branch: str) -> bool:
    return repository.look(repository.find(path)).branch == f"refs/heads/{branch}"


def _look(path: Path, new: str) -> Checkout:
    state = repository.look(repository.find(path))
    if state.operation:
        return Checkout(path, f"is in the middle of a {state.operation}")
    opened = repository.worktree_or_why(path)
    if isinstance(opened, str):
        return Checkout(path, f"cannot be read ({opened})")
    try:
        changed = {name for name, flags in opened.status(untracked_files="no").items() if flags not in _UNTOUCHED}
        own = changed - _set_before(opened, new) if changed and new else changed
    except (pygit2.GitError, OSError, KeyError, ValueError) as error:
        return Checkout(path, f"cannot be read ({error})")
    are = "is" if len(own) == 1 else "are"
    problem = f"has {counted(len(own), 'change')} that {are} not committed" if own else ""
    return Checkout(path, problem, begun=bool(changed) and not own)


def _set_before(opened: pygit2.Repository, new: str) -> set[str]:
    """Return the paths whose file and index entry are each as in HEAD or as in the new commit: no loss there."""
    before, after = opened.head.peel(pygit2.Commit), opened[new].peel(pygit2.Commit)
    paths = {
        file.path for delta in opened.diff(before.id, after.id).deltas for file in (delta.old_file, delta.new_file)
    }
    opened.index.read()
    found = set()
    for name in paths:
        known = {_entry(before.tree, name), _entry(after.tree, name)}
        staged = opened.index[name].id if name in opened.index else None
        if staged in known and _on_disk(Path(opened.workdir) / name) in known:
            found.add(name)
    return found


def _entry(tree: pygit2.Tree, path: str) -> pygit2.Oid | None:
    return tree[path].id if path in tree else None


def _on_disk(path: Path) -> pygit2.Oid | None:
    if path.is_symlink():
        return pygit2.hash(os.fsencode(path.readlink()))
    return pygit2.hash(path.read_bytes()) if path.is_file() else None


def _set_files(path: Path, old: str, new: str, *, anyway: bool = False) -> None:
    """Set the files and the index of a worktree from one commit to another, all or none.

    Args:
        path: The worktree.
        old: The commit that it has.
        new: The commit that it gets.
        anyway: Whether the files that differ are known to be set already, or to be as they were.

    Raises:
        TargetHeldError: A file is in the way, or there is no room; nothing was changed.
    """
    opened = repository.worktree_or_why(path)
    if isinstance(opened, str):
        raise TargetHeldError(f"The worktree {path} cannot be read ({opened}); nothing was changed.")
    before, after = (opened[commit].peel(pygit2.Commit) for commit in (old, new))
    paths = [delta.new_file.path for delta in opened.diff(before.id, after.id).deltas]
    filtered = [name for name in paths if opened.get_attr(os.fsencode(name), "filter") not in (None, False)]
    if filtered:
        raise TargetHeldError(
            f"{path} was left alone: {filtered[0]} goes through a filter of git's (as Git LFS has), which chaperon runs none of.",
            way_out=f"git -C {path} merge --ff-only {new}",
        )
    _refuse_without_room(path, after, paths)
    in_the_way = [found for name in paths if (found := _in_the_way(path, before, after, name))]
    if in_the_way and not anyway:
        raise TargetHeldError(
            f"{path} was left alone: {in_the_way[0]} is in the way there, which git does not know.",
            way_out=f"Move it away, and then: git -C {path} merge --ff-only {new}",
        )
    added = {name: _content(after, name) for name in paths if name not in before.tree and _is_within(path, name)}
    looks = {name: _looks(path / name) for name in paths}
    try:
        if paths and anyway:
            _force(opened, after, paths)
        else:
            _remove_begun(path, added)
            opened.checkout_tree(after, strategy=CheckoutStrategy.SAFE)  # type: ignore[no-untyped-call]  # untyped
    except (pygit2.GitError, OSError) as error:
        touched = [name for name in paths if anyway or _looks(path / name) != looks[name]]
        raise TargetHeldError(
            f"{path} could not follow ({error}): {_put_back(opened, before, path, touched, added)}.",
            way_out=f"Move away what is in the way, or make room, and then: git -C {path} merge --ff-only {new}",
        ) from error


def _in_the_way(path: Path, before: pygit2.Commit, after: pygit2.Commit, name: str) -> str:
    """Return what git does not know and a new file of a commit would take the place of; empty if nothing."""
    if name not in after.tree:
        return ""
    for folder in reversed(PurePath(name).parents[:-1]):
        place = path / folder
        if os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
            return "" if str(folder) in before.tree else str(folder)
    if name not in before.tree:
        return "" if _may_be_set(path / name, _content(after, name)) else name
    known = before.tree[name]
    return _stranger(path, name, known) if isinstance(known, pygit2.Tree) else ""


def _stranger(path: Path, name: str, known: pygit2.Tree) -> str:
    """Return the first thing in a folder that its tree does not have; empty if there is none."""
    if (path / name).is_symlink() or not (path / name).is_dir():
        return ""
    entries = {os.fsencode(entry.raw_name): entry for entry in known if entry.raw_name is not None}
    for found in sorted(os.listdir(path / name)):  # noqa: PTH208 - names
        entry, inside = entries.get(os.fsencode(found)), f"{name}/{found}"
        if entry is None:
            return inside
        if isinstance(entry, pygit2.Tree) and (stranger := _stranger(path, inside, entry)):
            return stranger
    return ""


def _is_within(path: Path, name: str) -> bool:
    """Whether the way to a file of a worktree leads through no link."""
    return not any((path / folder).is_symlink() for folder in PurePath(name).parents[:-1])


def _looks(path: Path) -> tuple[int, ...] | None:
    """Return what changes if a file is written or put in place of another; None if there is none."""
    try:
        state = path.lstat()
    except OSError:
        return None
    return state.st_ino, state.st_mode, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _force(opened: pygit2.Repository, commit: pygit2.Commit, paths: list[str]) -> None:
    """Set these files from a commit, whatever they are now.

    Raises:
        OSError: A name is no UTF-8, which pygit2 cannot tell libgit2.
    """
    if odd := next((name for name in paths if name.encode(errors="ignore") != os.fsencode(name)), ""):
        raise OSError(errno.EILSEQ, "its name is no UTF-8", odd)
    force = CheckoutStrategy.FORCE | CheckoutStrategy.DISABLE_PATHSPEC_MATCH
    opened.checkout_tree(commit, strategy=force, paths=paths)  # type: ignore[no-untyped-call]  # pygit2 gives it no types


def _refuse_without_room(path: Path, after: pygit2.Commit, paths: list[str]) -> None:
    """Refuse to begin what a full disk would end in the middle."""
    found = (after.tree[name] for name in paths if name in after.tree)
    needed = ROOM_BYTES + sum(one.size + BLOCK_BYTES for one in found if isinstance(one, pygit2.Blob))
    free = shutil.disk_usage(path).free
    if free < needed:
        raise TargetHeldError(
            f"{path} was left alone: its new files need {size(needed)}, and its disk has {size(free)} left.",
            way_out="Make room, and ask again.",
        )


def _content(commit: pygit2.Commit, name: str) -> bytes:
    """Return the content of a file of a commit; that of anything else is empty."""
    if name not in commit.tree:
        return b""
    found = commit.tree[name]
    return found.data if isinstance(found, pygit2.Blob) else b""


def _remove_begun(path: Path, added: Mapping[str, bytes]) -> None:
    """Remove new files that were begun and not completed."""
    for name, content in added.items():
        if os.path.lexists(path / name) and _may_be_set(path / name, content):
            (path / name).unlink()


def _may_be_set(file: Path, content: bytes) -> bool:
    """Whether a new file is not there yet, or all that it holds is the beginning of what it will: no loss there."""
    if not os.path.lexists(file):
        return True
    try:
        return content.startswith(read_plain(file, len(content), links=False))
    except (NotPlainError, TooLargeError):
        return False


def _put_back(
    opened: pygit2.Repository, before: pygit2.Commit, path: Path, paths: list[str], added: Mapping[str, bytes]
) -> str:
    """Put files back of which some were set; returns how that went."""
    try:
        _remove_begun(path, added)
        if known := [name for name in paths if name in before.tree]:
            _force(opened, before, known)
        opened.index.read()
        if left := [name for name in added if name in opened.index]:
            for name in left:
                opened.index.remove(name)
            opened.index.write()
    except (pygit2.GitError, OSError) as error:
        return f"some files are not as they were ({error}), and git has each of them (git -C {path} checkout HEAD -- .)"
    return "its files were left as they were"
