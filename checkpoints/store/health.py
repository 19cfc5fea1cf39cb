"""Verification of a store: every object of every checkpoint is read and checked against its name."""

from collections.abc import Iterator

from checkpoints.errors import StoreDamagedError
from checkpoints.git.objects import EMPTY_TREE
from checkpoints.model import Checkpoint, StoreProblem
from checkpoints.store.records import from_message
from checkpoints.store.store import Store


def examine(store: Store) -> tuple[StoreProblem, ...]:
    """Return what is wrong, worst first; nothing for a sound store. Reads everything once, and changes nothing."""
    return (*_damaged_ledger(store), *_damaged_objects(store), *_unknown_refs(store), *_borrowing(store))


def repair(store: Store) -> tuple[StoreProblem, ...]:
    """Take checkpoints whose line in the ledger was lost back in from their commits, and return what was repaired."""
    repaired = []
    for checkpoint in _lost_checkpoints(store):
        store.take_in(checkpoint)
        what = f"Checkpoint {checkpoint.name} was missing from the ledger and was taken back in from its commit."
        repaired.append(StoreProblem(what, (checkpoint.name,), repaired=True))
    return tuple(repaired)


def _damaged_ledger(store: Store) -> Iterator[StoreProblem]:
    if store.problem:
        yield StoreProblem(store.problem, way_out="What is listed below it is what was lost.")
    for line in store.ledger.damaged:
        yield StoreProblem(
            f"A line of {store.ledger.path} is no record: {line}.",
            way_out="`chaperon checkpoints doctor --repair` takes lost checkpoints back in from their commits.",
        )


def _damaged_objects(store: Store) -> Iterator[StoreProblem]:
    """Walk each tree once; a problem in a shared folder names every checkpoint that has it."""
    bad_below: dict[bytes, str] = {}
    by_problem: dict[str, list[str]] = {}
    for checkpoint in store.checkpoints:
        problem = _first_problem(store, checkpoint, bad_below)
        if problem:
            by_problem.setdefault(problem, []).append(checkpoint.name)
    for problem, names in by_problem.items():
        yield StoreProblem(
            problem,
            tuple(names),
            way_out="These checkpoints cannot be gone back to in full; all others can. The next full capture writes what "
            "the workspace still has anew.",
        )


def _first_problem(store: Store, checkpoint: Checkpoint, seen: dict[bytes, str]) -> str:
    """Return what is wrong with a checkpoint's objects, or nothing. `seen` remembers objects across checkpoints."""
    try:
        tree = store.tree_of(bytes.fromhex(checkpoint.commit))
    except (StoreDamagedError, ValueError) as error:
        return str(error)
    if tree.hex() != checkpoint.tree:
        return f"The commit of {checkpoint.name} holds another tree than the ledger says."
    return _problem_in(store, tree, seen)


def _problem_in(store: Store, tree: bytes, seen: dict[bytes, str]) -> str:
    found = seen.get(tree)
    if found is not None or tree == EMPTY_TREE:
        return found or ""
    found = ""
    try:
        entries = store.read_tree(tree)
        for entry in entries.values():
            if entry.is_folder:
                found = found or _problem_in(store, entry.id, seen)
            elif entry.id not in seen:
                seen[entry.id] = _problem_of(store, entry.id)
            if not entry.is_folder:
                found = found or seen[entry.id]
    except StoreDamagedError as error:
        found = str(error.what)
    seen[tree] = found
    return found


def _problem_of(store: Store, oid: bytes) -> str:
    try:
        store.read(oid)
    except StoreDamagedError as error:
        return str(error.what)
    return ""


def _lost_checkpoints(store: Store) -> Iterator[Checkpoint]:
    """Return checkpoints that have a ref and a commit with a record, and no line in the ledger."""
    known = {checkpoint.name for checkpoint in store.checkpoints}
    for name, commit in store.refs():
        if name not in known:
            try:
                checkpoint = from_message(commit, store.read(bytes.fromhex(commit))[1].decode("utf-8", "replace"))
            except (StoreDamagedError, ValueError):
                continue
            if checkpoint.name == name:
                yield checkpoint


def _unknown_refs(store: Store) -> Iterator[StoreProblem]:
    for checkpoint in _lost_checkpoints(store):
        yield StoreProblem(
            f"Checkpoint {checkpoint.name} has a commit and no line in the ledger.",
            (checkpoint.name,),
            way_out="`chaperon checkpoints doctor --repair` takes it back in.",
        )


def _borrowing(store: Store) -> Iterator[StoreProblem]:
    if store.borrows and store.checkpoints:
        yield StoreProblem(
            f"Checkpoints still rely on objects of {store.project}; they would be damaged if its history were removed.",
            way_out="Packing the store copies them; the daemon does so when it is idle.",
        )
