"""The checks of new and changed tasks, before they are journalled: nothing is added unless all can be."""

from collections.abc import Container, Iterable, Mapping, Sequence

from monitors.contract.errors import UsageError
from supervisor.core.tasks.store import TaskStore, spec_of
from supervisor.protocol.tasks import TaskSpec, TaskState

MOST_OPEN = 10_000
"""Tasks that may be open at once: as many as `task list` shows within 200 ms, and more than a month of one machine."""

MOST_TEXT_BYTES = 64 * 1024 * 1024
"""Most bytes of prompts, goals and constraints of all open tasks together, which are held in memory and written into
each snapshot. Ten thousand tasks of a page each have 20 MB."""


def check_added(store: TaskStore, added: Sequence[TaskSpec]) -> None:
    """Refuse tasks that cannot be added.

    Raises:
        UsageError: A dependency is unknown or cannot be done any more, some depend on one another in a circle, or
            there would be too many. Nothing was added.
    """
    if store.open() + len(added) > MOST_OPEN:
        raise UsageError(
            f"{store.open()} tasks are open, and {len(added)} more would be over the {MOST_OPEN} that the store holds; "
            "nothing was added.",
            way_out="Wait until some are done, or cancel some: chaperon task cancel TASK.",
        )
    open_ = [task.spec for task in (*store.pending(), *store.held())]
    if (text := sum(map(_size, (*open_, *added)))) > MOST_TEXT_BYTES:
        raise UsageError(
            f"The open tasks would have {text} bytes of text, and may have {MOST_TEXT_BYTES}; nothing was added.",
            way_out="Put the long parts into files of the repository, and name the files.",
        )
    new = {spec.id: spec for spec in added}
    for spec in added:
        check_dependencies(store, new, spec)
    refuse_cycle(store, new)


def check_edited(store: TaskStore, edited: TaskSpec) -> None:
    """Refuse a change that cannot be; raises as `check_added`."""
    new = {edited.id: edited}
    check_dependencies(store, new, edited)
    refuse_cycle(store, new)


def check_dependencies(store: TaskStore, new: Container[str], spec: TaskSpec) -> None:
    """Refuse a task that depends on what is no task, or on one that was cancelled; raises UsageError.

    Args:
        store: The tasks that there are.
        new: Ids of those that are added with it.
        spec: The task.
    """
    for id_ in spec.depends_on:
        if id_ in new:
            continue
        known = store.find(id_)
        if known is None:
            raise UsageError(
                f"The task {_named(spec)} depends on {id_!r}, which is no task; nothing was changed.",
                way_out="chaperon task list names them.",
            )
        if known.state is TaskState.CANCELLED:
            raise UsageError(
                f"The task {_named(spec)} depends on {id_}, which was cancelled; nothing was changed.",
                way_out=f"Have that tried again first: chaperon task retry {id_}.",
            )


def refuse_cycle(store: TaskStore, new: Mapping[str, TaskSpec]) -> None:
    """Refuse tasks that wait for one another.

    Raises:
        UsageError: They do; the circle is named.
    """
    safe: set[str] = set()
    for start in new:
        trail: list[str] = []
        on_trail: set[str] = set()
        stack: list[tuple[str, bool]] = [(start, False)]
        while stack:
            id_, leaving = stack.pop()
            if leaving:
                on_trail.discard(trail.pop())
                safe.add(id_)
                continue
            if id_ in on_trail:
                circle = [*trail[trail.index(id_) :], id_]
                names = " → ".join(_named_id(store, new, one) for one in circle)
                raise UsageError(
                    f"These tasks wait for one another: {names}; nothing was changed.",
                    way_out="Take one of the dependencies out.",
                )
            if id_ in safe or (spec := spec_of(new, store, id_)) is None:
                continue
            trail.append(id_)
            on_trail.add(id_)
            stack.append((id_, True))
            stack += ((next_, False) for next_ in spec.depends_on)


def _named_id(store: TaskStore, new: Mapping[str, TaskSpec], id_: str) -> str:
    spec = spec_of(new, store, id_)
    return _named(spec) if spec else id_


def _named(spec: TaskSpec) -> str:
    words = " ".join(spec.prompt.split())
    if not words:
        return spec.id
    return f"{spec.id} ({words[:40]}{'…' if len(words) > 40 else ''})"


def _size(spec: TaskSpec) -> int:
    texts: Iterable[str] = (spec.prompt, *spec.goals, *spec.constraints)
    return sum(len(text) for text in texts)
