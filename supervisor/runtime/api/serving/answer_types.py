"""Types of answers: what checks and writes one is made once, for all routes and all applications of a process."""

from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import RootModel, TypeAdapter

from supervisor.core.fold.summary import Summary

if TYPE_CHECKING:
    AgentAnswer = Summary
else:

    class AgentAnswer(RootModel):
        """An agent, as routes answer it."""

        root: Summary
        # The checks of a model are its own; those of the bare type are made anew for each route that names it: 116 KB,
        # and half the work of an application.


@cache
def _writer(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def facts(record: object) -> dict[str, Any]:
    """Return a dataclass as plain data, ready for JSON. The first of a type takes 3 ms, which no start need pay."""
    kind: Any = type(record)
    data: dict[str, Any] = _writer(kind).dump_python(record, mode="json")
    return data
