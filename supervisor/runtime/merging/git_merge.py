"""A merge of two commits without a worktree: made in memory, and written as objects that nothing names yet.

By libgit2, which runs no hook, no filter and no merge driver: the repository's configuration and its attributes are
ones that an agent could have written. Blocking.
"""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pygit2
from pygit2.enums import SortMode

from monitors.contract.errors import ChaperonError, UsageError
from supervisor.protocol.merges import Conflict, ConflictLevel
from supervisor.runtime.merging.conflicts import explain, level_of

COMMITTER = "chaperon", "chaperon@localhost"

MOST_COMMITS = 5_000
"""Commits of one branch that are rebased: each costs a merge of its trees. A branch with more gets a merge commit."""

MOST_PATHS = 200
"""Files of a merge that are named."""

MOST_LOG = 50
"""Commits of a merge that are named."""

TRAILER = re.compile(r"[A-Za-z0-9-]+: \S.*")

Method = Literal["rebase", "merge"]
"""How the agent's commits come onto the target: each anew on top of it, or by a merge commit."""


class MergeError(ChaperonError):
    """A merge could not be made; nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The branches of a merge, and how it is made."""

    project: Path
    """A worktree of the repository, or the repository itself if it is bare."""
    branch: str
    target: str
    base: str = ""
    """The commit that the branch was made at; empty if that is not known."""
    method: Method = "rebase"
    trailers: tuple[str, ...] = ()
    """Lines that each commit of the agent's gets at its end. Example: `Chaperon-Agent: a1`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeMade:
    """The result of a merge in memory."""

    tip: str
    """The commit on which the branch stands."""
    before: str
    """The commit on which the target stands."""
    merged: str
    """The merged commit; empty if there is a conflict. That of the target, if there is nothing to merge."""
    level: ConflictLevel
    conflicts: tuple[Conflict, ...] = ()
    commits: int = 0
    log: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    files: int = 0
    rewritten: bool = False
    """Whether the commit that the branch was made at is not in the target's history any more."""
    by_merge_commit: bool = False


def make_merge(sides: Sides, *, write: bool = True) -> MergeMade:
    """Merge in memory and return the result; the commits are written, and no branch moves.

    Args:
        sides: What is to be merged.
        write: Whether the merged commits are written, or it is only looked whether there is a conflict.

    Raises:
        UsageError: A branch is missing, or the two have no history in common.
        MergeError: Git cannot read or write what it needs.
    """
    try:
        repo = open_repository(sides.project)
        return _make(repo, sides, write=write)
    except (pygit2.GitError, OSError, ValueError, KeyError) as error:
        why = f"git has no object {error.args[0]}" if isinstance(error, KeyError) else error
        raise MergeError(
            f"The branch {sides.branch} could not be merged into {sides.target} of {sides.project}: {why}. No branch moved.",
            way_out="Look at the repository with git; ask again once it is mended.",
        ) from error


def open_repository(project: Path) -> pygit2.Repository:
    """Open the repository that all worktrees of a project share.

    Raises:
        MergeError: There is none.
    """
    try:
        return pygit2.Repository(str(project))
    except (pygit2.GitError, OSError, ValueError, KeyError) as error:
        raise MergeError(
            f"The repository {project} cannot be opened: {error}. Nothing was changed.",
            way_out="If it was moved, move it back, or merge the branch by hand.",
        ) from error


def branch_tip(repo: pygit2.Repository, name: str) -> pygit2.Commit:
    """Return the commit on which a branch stands.

    Raises:
        UsageError: There is no such branch.
    """
    found = repo.references.get(f"refs/heads/{name}")
    if found is None:
        raise UsageError(
            f"There is no branch {name!r} in {repo.path}; nothing was merged.",
            way_out=f"See which there are: git --git-dir {repo.path} branch",
        )
    return found.peel(pygit2.Commit)


def _make(repo: pygit2.Repository, sides: Sides, *, write: bool) -> MergeMade:
    tip, onto = branch_tip(repo, sides.branch), branch_tip(repo, sides.target)
    base = _commit(repo, sides.base)
    own = list(_own(repo, tip, onto, base))
    made = _Made(repo, sides, tip, onto, own)
    rewritten = base is not None and not _holds(repo, onto, base) and _holds(repo, tip, base)
    if not own:
        return made.result(merged=onto, level=ConflictLevel.NONE)
    ancestor = base if rewritten else _common(repo, tip, onto)
    if ancestor is None:
        raise UsageError(
            f"The branches {sides.branch} and {sides.target} have no history in common; nothing was merged.",
            way_out="A person has to say what it means to merge them.",
        )
    # After the target was rewritten only the agent's own commits count, and not those that were taken out of it.
    index = repo.merge_trees(ancestor.tree, onto.tree, tip.tree) if rewritten else repo.merge_commits(onto, tip)
    ours, theirs = _changed(repo, ancestor, onto), _changed(repo, ancestor, tip)
    if index.conflicts is not None:
        conflicts = list(explain(repo, index, sides.target, sides.branch))
        return made.result(level=level_of(conflicts), conflicts=conflicts, paths=theirs, rewritten=rewritten)
    level = ConflictLevel.TRIVIAL if ours & theirs else ConflictLevel.NONE
    if not write:
        return made.result(level=level, paths=theirs, rewritten=rewritten)
    tree = index.write_tree(repo)
    if tree == onto.tree.id and not rewritten:
        return made.result(merged=onto, level=level)  # the target has all of it already
    merged = made.rebased(tree) if sides.method == "rebase" or rewritten else None
    by_merge_commit = merged is None
    if merged is None and rewritten:
        raise MergeError(
            f"The history of {sides.target} was rewritten below {sides.branch}, whose commits cannot be taken over one by one.",
            way_out="Rebase the branch by hand.",
        )
    merged = merged or made.merge_commit(tree)
    return made.result(merged=merged, level=level, paths=theirs, rewritten=rewritten, by_merge_commit=by_merge_commit)


class _Made:
    """One merge: its sides, and the commits that are written for it."""

    def __init__(
        self,
        repo: pygit2.Repository,
        sides: Sides,
        tip: pygit2.Commit,
        onto: pygit2.Commit,
        own: Sequence[pygit2.Commit],
    ) -> None:
        self._repo, self._sides, self._tip, self._onto, self._own = repo, sides, tip, onto, own

    def result(
        self,
        *,
        level: ConflictLevel,
        merged: pygit2.Commit | None = None,
        conflicts: Sequence[Conflict] = (),
        paths: set[str] | None = None,
        rewritten: bool = False,
        by_merge_commit: bool = False,
    ) -> MergeMade:
        """Return what became of it."""
        named = sorted(paths or ())
        return MergeMade(
            tip=str(self._tip.id),
            before=str(self._onto.id),
            merged="" if merged is None else str(merged.id),
            level=level,
            conflicts=tuple(conflicts),
            commits=len(self._own),
            log=tuple(f"{str(one.id)[:12]} {_subject(one)}" for one in reversed(self._own[-MOST_LOG:])),
            paths=tuple(named[:MOST_PATHS]),
            files=len(named),
            rewritten=rewritten,
            by_merge_commit=by_merge_commit,
        )

    def rebased(self, tree: pygit2.Oid) -> pygit2.Commit | None:
        """Write the agent's commits anew on top of the target.

        Returns None if that has a conflict which the whole has not, if it ends in other files, or if the agent merged
        something itself, whose resolution would be lost.
        """
        if len(self._own) > MOST_COMMITS or any(len(one.parents) > 1 for one in self._own):
            return None
        onto = self._onto
        for one in self._own:
            before = one.parents[0].tree.id if one.parents else self._repo.TreeBuilder().write()
            index = self._repo.merge_trees(before, onto.tree.id, one.tree.id)
            if index.conflicts is not None:
                return None
            after = index.write_tree(self._repo)
            if after == onto.tree.id and one.tree.id != before:
                continue  # the target has this change already
            if one.parents and one.parents[0].id == onto.id and self._signed(one) == _message(one):
                onto = one
                continue
            onto = self._write(one.author, self._signed(one), after, [onto])
        return onto if onto.tree.id == tree else None

    def merge_commit(self, tree: pygit2.Oid) -> pygit2.Commit:
        """Write a merge commit."""
        message = f"Merge branch '{self._sides.branch}' into {self._sides.target}\n"
        return self._write(_committer(), with_trailers(message, self._sides.trailers), tree, [self._onto, self._tip])

    def _signed(self, commit: pygit2.Commit) -> str:
        return with_trailers(_message(commit), self._sides.trailers)

    def _write(
        self, author: pygit2.Signature, message: str, tree: pygit2.Oid, parents: Sequence[pygit2.Commit]
    ) -> pygit2.Commit:
        written = self._repo.create_commit(None, author, _committer(), message, tree, [parent.id for parent in parents])
        return self._repo[written].peel(pygit2.Commit)


def with_trailers(message: str, trailers: Sequence[str]) -> str:
    """Return a commit message with these lines among its trailers, each once."""
    text = message.rstrip("\n")
    missing = [line for line in trailers if line not in text.splitlines()]
    if not missing:
        return message
    last = text.rpartition("\n\n")[2].splitlines()
    has_trailers = "\n\n" in text and bool(last) and all(TRAILER.fullmatch(line) for line in last)
    return "\n".join([text, *([] if has_trailers else [""]), *missing]) + "\n"


def _committer() -> pygit2.Signature:
    return pygit2.Signature(*COMMITTER, int(time.time()), 0)  # noqa: TID251 - git's own record of when it was written


def _message(commit: pygit2.Commit) -> str:
    try:
        return commit.raw_message.decode(commit.message_encoding or "utf-8")
    except (LookupError, UnicodeDecodeError):  # an encoding that nobody knows, or text that is not in it
        return commit.raw_message.decode("utf-8", "replace")


def _subject(commit: pygit2.Commit) -> str:
    return next(iter(_message(commit).strip().splitlines()), "")[:200]


def _commit(repo: pygit2.Repository, name: str) -> pygit2.Commit | None:
    """Return a commit by its id; None if it is not known or gone."""
    try:
        return repo[name].peel(pygit2.Commit) if name else None
    except (KeyError, ValueError, pygit2.GitError):
        return None


def _own(
    repo: pygit2.Repository, tip: pygit2.Commit, onto: pygit2.Commit, base: pygit2.Commit | None
) -> Iterator[pygit2.Commit]:
    """The agent's own commits, parents first: those that neither the target has nor the branch began with."""
    walk = repo.walk(tip.id, SortMode.TOPOLOGICAL | SortMode.REVERSE)
    walk.hide(onto.id)
    if base is not None:
        walk.hide(base.id)
    yield from walk


def _common(repo: pygit2.Repository, one: pygit2.Commit, other: pygit2.Commit) -> pygit2.Commit | None:
    found: pygit2.Oid | None = repo.merge_base(one.id, other.id)
    return None if found is None else repo[found].peel(pygit2.Commit)


def _holds(repo: pygit2.Repository, tip: pygit2.Commit, commit: pygit2.Commit) -> bool:
    """Whether a commit is in the history of another."""
    return tip.id == commit.id or bool(repo.descendant_of(tip.id, commit.id))


def _changed(repo: pygit2.Repository, before: pygit2.Commit, after: pygit2.Commit) -> set[str]:
    """The paths that differ between two commits."""
    diff = repo.diff(before.tree.id, after.tree.id)
    return {name for delta in diff.deltas for name in (_path(delta.old_file), _path(delta.new_file))}


def _path(file: pygit2.DiffFile) -> str:
    return file.raw_path.decode("utf-8", "backslashreplace")
