"""The only access of reviews to the file system and git.

An implementation looks things up on request, before the action runs. Between the lookup and the action anything may
change: a link can be turned, a file replaced. A review judges the state at its lookups, and lists it as its grounds, so
that it can be checked after the action has run (`monitors.review.verdict.grounds`). The sandbox is the line of defence
behind it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, Protocol

MISSING = "missing"
"""The stamp of a missing file."""

Kind = Literal["file", "directory", "missing", "unknown"]


class FileLookups(Protocol):
    """Answers about paths, all absolute. None and `unknown` mean that the answer is not known."""

    def real(self, path: str) -> str:
        """Return the path with all links in it followed; the path itself if that is not known."""
        ...

    def links_within(self, folder: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the paths within a folder, of those named, that are links or go through one, with where they lead."""
        ...

    def kind(self, path: str) -> Kind:
        """The kind of file at the path, links followed."""
        ...

    def ignored(self, path: str) -> bool | None:
        """Whether git ignores the path, so that no checkpoint has it."""
        ...

    def text(self, path: str, limit: int) -> str | None:
        """The first `limit` characters of a regular file; None if it is none or cannot be read."""
        ...

    def names(self, path: str) -> Sequence[str]:
        """The names in a directory, sorted; none if it is no directory or cannot be read."""
        ...

    def stamp(self, path: str) -> str:
        """A stamp that changes whenever the file at the path does.

        `missing` if there is none, and empty if it is not known.
        """
        ...


class NoFiles:
    """Knows nothing: for the strict profile, for reviews without a machine, for replays without recorded facts."""

    def real(self, path: str) -> str:
        """The path itself."""
        return path

    def links_within(self, folder: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """As `real` says."""
        return _links(self.real, folder, names)

    def kind(self, path: str) -> Kind:  # noqa: ARG002 — the protocol's signature
        """Always unknown."""
        return "unknown"

    def ignored(self, path: str) -> bool | None:  # noqa: ARG002 — the protocol's signature
        """Always unknown."""
        return None

    def text(self, path: str, limit: int) -> str | None:  # noqa: ARG002 — the protocol's signature
        """Always unknown."""
        return None

    def names(self, path: str) -> Sequence[str]:  # noqa: ARG002 — the protocol's signature
        """Always none."""
        return ()

    def stamp(self, path: str) -> str:  # noqa: ARG002 — the protocol's signature
        """Always unknown."""
        return ""


class WithLinks:
    """Lookups after the links that an action itself makes.

    Args:
        facts: Those of the disk.
        resolved: Follow the links that a script makes, the latest script first.
    """

    def __init__(self, facts: FileLookups, resolved: tuple[Callable[[str], str], ...]) -> None:
        self.facts = facts
        self.resolved = resolved
        self.kind, self.ignored, self.text = facts.kind, facts.ignored, facts.text
        self.names, self.stamp = facts.names, facts.stamp

    def real(self, path: str) -> str:
        """Return the path with all links in it followed."""
        for resolved in self.resolved:
            path = resolved(path)
        return self.facts.real(path)

    def links_within(self, folder: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the paths within a folder that are links or go through one, with where they lead."""
        return _links(self.real, folder, names)


def _links(real: Callable[[str], str], folder: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    within = real(folder)
    for name in names:
        if (target := real(f"{folder}/{name}")) != f"{within}/{name}":
            yield name, target
