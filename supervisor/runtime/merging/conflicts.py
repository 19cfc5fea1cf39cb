"""Conflicts of a merge: how bad each is, and an explanation for who resolves it."""

from collections.abc import Iterator, Sequence

import pygit2
from pygit2.enums import FileMode

from interventions import sanitise
from supervisor.protocol.merges import Conflict, ConflictLevel
from supervisor.protocol.plain import harmless

MOST_CONFLICTS = 50
"""Files in conflict from which it is no matter of resolving lines any more, and a person has to look at the plan."""

MOST_EXPLAINED = 10
"""Files whose lines are shown."""

EXCERPT_LINES = 60
"""Lines of both sides that are shown of one file: a screen."""

EXCERPT_CHARACTERS = 3_000
"""The same in characters, for lines that are long."""

LARGEST_BYTES = 1_048_576
"""A file above this is not compared line by line."""

_PLAIN = frozenset({FileMode.BLOB, FileMode.BLOB_EXECUTABLE})

Entry = pygit2.IndexEntry | None
Three = tuple[Entry, Entry, Entry]
"""A path in the common ancestor, in the target and on the agent's branch; None if it is not there."""


def explain(repo: pygit2.Repository, index: pygit2.Index, target: str, branch: str) -> Iterator[Conflict]:
    """Yield the conflicts of a merged index, at most one more than `MOST_CONFLICTS`."""
    for number, three in enumerate(index.conflicts or ()):
        if number > MOST_CONFLICTS:
            return
        yield _explain(repo, three, target, branch, lines=number < MOST_EXPLAINED)


def level_of(conflicts: Sequence[Conflict]) -> ConflictLevel:
    """Return the level of several conflicts together: the worst, and a person's if they are too many."""
    if len(conflicts) > MOST_CONFLICTS:
        return ConflictLevel.PERSON
    return max((one.level for one in conflicts), key=lambda level: level.rank, default=ConflictLevel.NONE)


def _explain(repo: pygit2.Repository, three: Three, target: str, branch: str, *, lines: bool) -> Conflict:
    ancestor, ours, theirs = three
    path = harmless(str(next(one.path for one in three if one is not None)))
    if any(one is not None and one.mode not in _PLAIN for one in three):
        kind = "a submodule" if any(one is not None and one.mode == FileMode.COMMIT for one in three) else "a link"
        return Conflict(path, ConflictLevel.PERSON, f"{target} and {branch} both changed {kind}.")
    if any(one is not None and _no_text(repo, one) for one in three):
        return Conflict(path, ConflictLevel.PERSON, f"{target} and {branch} both changed a file that is no text.")
    if ours is None or theirs is None:
        return Conflict(path, ConflictLevel.AGENT, _one_sided(ancestor, ours, theirs, target, branch))
    what = f"{target} and {branch} both {'changed' if ancestor is not None else 'made'} it."
    level = ConflictLevel.TEXTUAL if ancestor is not None else ConflictLevel.AGENT
    return Conflict(path, level, what, _excerpt(repo, three, target, branch) if lines else "")


def _one_sided(ancestor: Entry, ours: Entry, theirs: Entry, target: str, branch: str) -> str:
    if ours is None and theirs is None:
        return f"{target} and {branch} moved it to different places."
    if ancestor is None:
        return (
            f"{target if ours is not None else branch} has it at this place after a move, and the other side has not."
        )
    left, stays = (target, branch) if ours is None else (branch, target)
    return f"{left} deleted or moved it, and {stays} changed it."


def _no_text(repo: pygit2.Repository, entry: pygit2.IndexEntry) -> bool:
    blob = repo.get(entry.id)
    return not isinstance(blob, pygit2.Blob) or blob.is_binary or blob.size > LARGEST_BYTES


def _excerpt(repo: pygit2.Repository, three: Three, target: str, branch: str) -> str:
    """The lines on which the two sides disagree, each group between markers as git writes them."""
    merged = repo.merge_file_from_index(*three)
    shown: list[str] = []
    inside = False
    for line in str(getattr(merged, "contents", merged)).splitlines():
        if line.startswith("<<<<<<< "):
            inside, line = True, f"<<<<<<< {target}"
        elif line.startswith(">>>>>>> ") and inside:
            shown.append(f">>>>>>> {branch}")
            inside = False
            continue
        if inside:
            shown.append(line)
        if len(shown) >= EXCERPT_LINES:
            shown.append("…")
            break
    return sanitise.text(harmless("\n".join(shown)))[:EXCERPT_CHARACTERS]
