"""Queries of addresses, read whatever stands in them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from supervisor.protocol.tasks import TaskState

MOST_DIGITS = 18
"""Digits of a number in an address: the numbers of events have 64 bits, and Python refuses texts of 4,300 digits."""


def number_in(text: str, otherwise: int) -> int:
    """Return the number that a text is, or another value if it is none or too long."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else otherwise


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """The stored tasks that a list shows.

    Args:
        state: Only those in this state; empty for all.
        repository: Only those of the worktree with this path; empty for all.
        page: Counts from 1.
        label: Only those with this label; empty for all.
    """

    state: str = ""
    repository: str = ""
    page: int = 1
    label: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "TaskQuery":
        """Return what the query of an address asks for; a state or a page that cannot be is as if it were not given."""
        asked = query.get("state", "")
        state = next((str(one) for one in TaskState if str(one) == asked), "")
        page = max(1, number_in(query.get("page", ""), 1))
        return cls(state, query.get("repository", ""), page, query.get("label", ""))

    def address(self, at: str = "/tasks") -> str:
        """Return the address of the list, or of its stream."""
        page = str(self.page) if self.page > 1 else ""
        given = {"state": self.state, "repository": self.repository, "label": self.label, "page": page}
        return with_query(at, given)


def with_query(at: str, given: Mapping[str, str]) -> str:
    """Return an address with a query of the values that are not empty."""
    query = urlencode({name: value for name, value in given.items() if value}, errors="replace")
    return f"{at}?{query}" if query else at
