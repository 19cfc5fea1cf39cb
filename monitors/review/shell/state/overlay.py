"""The files of an action as it goes on: what its commands write, copy, link and download before others run it.

A file is a pipe with a name: it has a text, if that is known, and the commands whose output is in it. A runner asks for
both, and judges `curl URL > f; sh f` as it judges `curl URL | sh`.
"""

import posixpath
from collections.abc import Callable, Iterator, Mapping

from monitors.review.shell.invocation import Invocation

MAX_FILES = 400
"""Most files and links remembered for one action. More are more than a review goes through."""
MAX_TEXT = 65_536
"""Longest text kept of a file, in characters; a longer one is not known, and is more than a review goes through."""
MAX_LINKS = 200
"""Most links remembered: 400 in a row, each followed 40 times, took 70 ms."""
MAX_HOPS = 40
"""Most links followed for one path: Linux's own limit."""
MAX_SOURCES = 20
"""Most commands remembered as having written a file."""

Sources = tuple[Invocation, ...]
Content = tuple[str | None, Sources]
"""The text, None where it is not known, and the commands whose output is in it."""


def _nothing(_path: str) -> str | None:
    return None


def _no_folder(_path: str) -> bool:
    return False


class Overlay:
    """Files after the commands gone through so far; the disk is asked for everything else.

    Args:
        disk: The text of a file that stands on the disk; None if it is none or not known.
        folder: Whether a directory stands there on the disk.
        before: The commands of earlier calls whose output is in a file; None if nothing is known of any.
    """

    def __init__(
        self,
        disk: Callable[[str], str | None],
        folder: Callable[[str], bool],
        before: Callable[[str], Sources] | None = None,
    ) -> None:
        self._before = before
        self._disk = disk
        self._folder = folder
        self._removed: set[str] = set()
        self._files: dict[str, Content] = {}
        self._links: dict[str, str] = {}
        self._unmade: dict[str, str] = {}
        self._copies: dict[str, str] = {}
        self._unpacked: dict[str, Sources] = {}
        self._patched: dict[str, Sources] = {}
        self.full = False
        """Whether a file was not remembered, for there were too many."""
        self.cut = False
        """Whether a text was not remembered, for it was too long."""

    def let_go(self) -> None:
        """Drop the disk: no text is asked for any more."""
        self._disk, self._folder, self._before = _nothing, _no_folder, None

    @property
    def linked(self) -> bool:
        """Whether the action makes a link, or takes one away that it made."""
        return bool(self._links or self._unmade)

    def __bool__(self) -> bool:
        """Whether the action changed any file, as far as is known."""
        return bool(self._files or self._links or self._copies or self._unpacked or self._patched or self._before)

    def write(self, path: str, text: str | None, sources: Sources, *, appends: bool = False) -> None:
        """Note that a file is written, or appended to."""
        path = self.resolved(path)
        if appends:
            before = self._files.get(path)
            if before is None and path in self._copies:
                before = (self._disk(self._copies[path]), ())
            if before is not None:
                text = None if text is None or before[0] is None else before[0] + text
                sources = (*before[1], *sources)
        if text is not None and len(text) > MAX_TEXT:
            self.cut, text = True, None
        self._put(path, (text, sources[:MAX_SOURCES]))

    def _put(self, path: str, content: Content) -> None:
        if len(self._files) >= MAX_FILES and path not in self._files:
            self.full = True
            return
        self._copies.pop(path, None)
        self._files[path] = content

    def link(self, path: str, target: str) -> None:
        """Note that a link is made; a relative target counts from the link's directory."""
        if self._folder(path) and path not in self._removed:
            return  # it is made in that directory, under its target's name
        if len(self._links) >= MAX_LINKS:
            self.full = True
            return
        self._files.pop(path, None)
        at_home = target[:1] == "~"
        self._links[path] = target if at_home else posixpath.normpath(posixpath.join(posixpath.dirname(path), target))

    def copy(self, source: str, path: str) -> None:
        """Note that a file is copied or moved. What was not written by the action is read when it is asked for."""
        source, path = self.resolved(source), self.resolved(path)
        known = self._content(source)
        if known is not None:
            self._put(path, known)
        elif len(self._copies) < MAX_FILES:
            self._files.pop(path, None)
            self._copies[path] = source
        else:
            self.full = True

    def remove(self, path: str) -> None:
        """Note that a file, a link or a directory is taken away."""
        if len(self._removed) < MAX_FILES:
            self._removed.add(path)
        if path in self._links:
            self._unmade[path] = self._links[path]
        for known in (self._files, self._links, self._copies):
            known.pop(path, None)

    def unpack(self, folder: str, sources: Sources) -> None:
        """Note that an archive out of these commands is unpacked into the folder."""
        self._unpacked[folder.rstrip("/") or "/"] = sources[:MAX_SOURCES]

    def patch(self, folder: str, sources: Sources) -> None:
        """Note that any file of the folder may be changed as these commands say."""
        self._patched[folder.rstrip("/") or "/"] = sources[:MAX_SOURCES]

    def resolved(self, path: str) -> str:
        """The path with the links that the action makes followed; those on the disk are not."""
        return self._through(path, self._links) if self._links else path

    def once_resolved(self, path: str) -> str:
        """The same with links that the action has taken away again: a command before that went through them."""
        links = {**self._unmade, **self._links} if self._unmade else self._links
        return self._through(path, links) if links else path

    def _through(self, path: str, links: Mapping[str, str]) -> str:
        for _ in range(MAX_HOPS):
            link = next((link for link in self._parts(path) if link in links), None)
            if link is None:
                break
            path = posixpath.normpath(links[link] + path[len(link) :])
        return path

    @staticmethod
    def _parts(path: str) -> Iterator[str]:
        at = 0
        while (at := path.find("/", at + 1)) > 0:
            yield path[:at]
        yield path

    def standing(self, path: str) -> str:
        """Return the file on the disk that a path names or is a copy of; empty if the action writes its text itself."""
        path = self.resolved(path)
        return "" if path in self._files else self._copies.get(path, path)

    def made(self, path: str) -> Content | None:
        """Return the content that the action gives the file; None if it is as it stands on the disk."""
        return self._content(self.resolved(path)) if self else None

    def _content(self, path: str) -> Content | None:
        known = self._files.get(path)
        if known is None and path in self._copies:
            text = self._disk(self._copies[path])
            known = None if text is None else (text, self._before(self._copies[path]) if self._before else ())
        return known

    def text(self, path: str) -> str | None:
        """The text of the file after the commands so far; None if it is not known."""
        known = self.made(path)
        if known is None and self._patched and any(part in self._patched for part in self._parts(path)):
            return None
        return known[0] if known is not None else self._disk(self.resolved(path))

    def sources(self, path: str) -> Sources:
        """The commands whose output is in the file, or in the archive that it was unpacked from."""
        known = self.made(path)
        if known is not None:
            return known[1]
        for folders in (self._patched, self._unpacked):
            if folders and (folders is self._patched or self._disk(path) is None):
                for part in reversed(list(self._parts(path))):
                    if part in folders:
                        return folders[part]
        if self._before is None:
            return ()
        path = self.resolved(path)
        return self._before(self._copies.get(path, path))

    def written(self) -> Iterator[tuple[str, Sources]]:
        """Yield the files and directories that the action writes or takes away, with the commands behind them."""
        for path, (_, sources) in self._files.items():
            yield path, sources
        for path in self._copies:
            yield path, self.sources(path)
        for path, sources in self._unpacked.items():
            yield f"{path}/", sources
        for path in self._removed:
            yield path, ()

    def put(self) -> Iterator[str]:
        """Yield the files that stand there once the action has run, and which it wrote, copied or moved there."""
        yield from self._files
        yield from self._copies

    def texts(self) -> Mapping[str, str]:
        """The files that the action writes with known text."""
        return {path: text for path, (text, _) in self._files.items() if text is not None}
