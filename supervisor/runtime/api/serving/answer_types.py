"""Types of answers whose description is long: made once for all routes, and for all applications of a process."""

from functools import cache
from typing import TYPE_CHECKING

from pydantic import TypeAdapter
from pydantic_core import CoreSchema

from supervisor.core.fold.summary import Summary


@cache
def _described() -> CoreSchema:
    return TypeAdapter(Summary).core_schema


if TYPE_CHECKING:
    AgentAnswer = Summary
else:

    class AgentAnswer:
        """An agent, as routes answer it. Described anew for each route, it was half the work of an application."""

        @classmethod
        def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> CoreSchema:
            return _described()
