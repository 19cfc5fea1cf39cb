"""The one door through which reviews learn of the file system and of git.

Whoever implements it looks things up when asked, before the action runs. Between the answer and the action anything may
change: a link can be turned, a file replaced. A review judges what was there when it looked, and lists it as its grounds, so
that it can be looked at again once the action has run (`monitors.review.verdict.grounds`); the sandbox is what stands behind it.
"""

from typing import Literal, Protocol

MISSING = "missing"
"""The stamp where there is no file."""

Kind = Literal["file", "directory", "missing", "unknown"]


class FileLookups(Protocol):
    """Answers about paths, all absolute. None and `unknown` mean that nobody knows."""

    def real(self, path: str) -> str:
        """The path with all links in it followed; the path itself where that is not known."""
        ...

    def kind(self, path: str) -> Kind:
        """What stands at the path, links followed."""
        ...

    def ignored(self, path: str) -> bool | None:
        """Whether git ignores the path, so that no checkpoint has it."""
        ...

    def text(self, path: str, limit: int) -> str | None:
        """The first `limit` characters of a regular file; None if it is none or cannot be read."""
        ...

    def stamp(self, path: str) -> str:
        """What changes whenever the file at the path does; `missing` where there is none, and empty where nobody knows."""
        ...


class NoFiles:
    """Knows nothing: for the strict profile, for reviews without a machine, for replays without recorded facts."""

    def real(self, path: str) -> str:
        """The path itself."""
        return path

    def kind(self, path: str) -> Kind:  # noqa: ARG002 — the protocol's signature
        """Always unknown."""
        return "unknown"

    def ignored(self, path: str) -> bool | None:  # noqa: ARG002 — the protocol's signature
        """Always unknown."""
        return None

    def text(self, path: str, limit: int) -> str | None:  # noqa: ARG002 — the protocol's signature
        """Always unknown."""
        return None

    def stamp(self, path: str) -> str:  # noqa: ARG002 — the protocol's signature
        """Always unknown."""
        return ""
