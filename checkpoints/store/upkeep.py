"""Upkeep of a store: delete checkpoints by policy, and pack when it gains space. For idle moments."""

from collections.abc import Collection
from dataclasses import dataclass

from checkpoints.retention import RetentionPolicy, to_drop
from checkpoints.store.packing import Packed, pack
from checkpoints.store.restore_journal import in_use
from checkpoints.store.store import Store
from monitors.contract.errors import UsageError

MANY_PACKS = 20
"""Packs from which on looking an object up is worth shortening. Settling makes one for about a hundred captures."""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """The deletions that were done, and the size of the store now, a metric with its quota."""

    dropped: tuple[str, ...]
    packed: Packed | None
    size_bytes: int
    over_quota: bool
    """Whether it is still over the quota: then only checkpoints that must stay are left, and a person has to choose."""


def maintain(
    store: Store,
    now: float,
    policy: RetentionPolicy = RetentionPolicy(),  # noqa: B008
    *,
    held: Collection[str] = (),
    stop: int | None = None,
) -> Upkeep:
    """Settle, sweep, drop and pack as far as that is needed.

    Args:
        store: The store.
        now: Unix time in seconds.
        policy: Which checkpoints stay, and how large the store may be.
        held: Names of checkpoints that must stay whatever the policy says.
        stop: A descriptor that becomes readable if the caller gives it up.

    Raises:
        StoreFullError: There was no room to settle or to pack; nothing is lost.
        CheckpointError: Git is missing or failed; what was dropped is dropped, and takes room until the next time.
    """
    store.settle()
    store.sweep()
    dropped = _drop(store, now, policy, held, over_quota=False)
    if store.lies_open:
        store.blank_log()  # before the rest, which is done again if this is killed in between
    packed = pack(store, stop=stop) if _is_worth_packing(store, dropped) else None
    quota = policy.quota_bytes
    if quota is not None and store.size_bytes > quota:
        more = _drop(store, now, policy, held, over_quota=True)
        packed = pack(store, stop=stop) if more else packed
        dropped += more
    size = store.size_bytes
    return Upkeep(dropped, packed, size, quota is not None and size > quota)


def forget(store: Store, agent: str, stop: int | None = None) -> tuple[str, ...]:
    """Drop an agent's checkpoints with all that only they hold, now; returns their names.

    Killed in between, a second call does the rest.

    Args:
        store: The store.
        agent: The agent's name.
        stop: A descriptor that becomes readable if the caller gives it up.

    Raises:
        UsageError: A restore that was cut short needs one of them; nothing was dropped.
        StoreFullError: There was no room to pack; they are dropped, and take room until the next time.
        CheckpointError: Git is missing or failed; the same.
    """
    names = tuple(one.name for one in store.checkpoints if one.facts.agent == agent)
    if needed := in_use(store) & frozenset(names):
        raise UsageError(f"A rollback that was cut short needs {', '.join(sorted(needed))}; nothing was forgotten.")
    if names:
        store.drop(names)
    store.sweep()
    pack(store, stop=stop)
    store.blank_log()
    return names


def _drop(
    store: Store, now: float, policy: RetentionPolicy, held: Collection[str], *, over_quota: bool
) -> tuple[str, ...]:
    names = to_drop(store.checkpoints, now, policy, held=in_use(store) | frozenset(held), over_quota=over_quota)
    if names:
        store.drop(names)
    return names


def _is_worth_packing(store: Store, dropped: tuple[str, ...]) -> bool:
    borrows = store.borrows and bool(store.checkpoints)
    return bool(dropped) or borrows or store.lies_open or store.pack_count > MANY_PACKS
