"""Texts that are known as a script goes on: of files, of what commands print, and of what they read."""

import re

from monitors.review.shell.invocation import Arg, Input, Invocation, Redirection, arg
from monitors.review.shell.shells import SHELLS
from monitors.review.shell.state.bounds import MAX_SCRIPTS, WalkBounds
from monitors.review.shell.state.constant import MAX_PRINTED, printed
from monitors.review.shell.state.folders import REDIRECTED, FolderLookups, NoFolders, silent, where
from monitors.review.shell.state.overlay import Overlay
from monitors.review.shell.state.shell_state import ShellState

MAX_FED = 4_000
"""Longest text of a file on the disk that counts as read by a command; the end of a longer one may not be known."""
_RUNS_INPUT = re.compile(r"(?:python|pypy|node|ruby|perl|php|psql|mysql|mariadb|sqlite|mongo)[\w.]*")


class Texts:
    """Finds texts.

    Args:
        state: The shell's state, as it is when a text is asked for.
        overlay: The files, likewise.
        folders: What is known of directories on the disk.
        bounds: Told if a text is too long.
    """

    def __init__(self, state: ShellState, overlay: Overlay, folders: FolderLookups, bounds: WalkBounds) -> None:
        self._state = state
        self._overlay = overlay
        self._folders = folders
        self._bounds = bounds
        self._redirected = False

    def let_go(self) -> None:
        """Drop the disk: no directory is asked for any more."""
        self._folders = NoFolders()

    def file(self, word: Arg) -> str | None:
        """Return the text of a script file: as the script writes it, or as it stands there now.

        One whose name is not known is the one that the script writes by the same name: `/tmp/a.$$`.
        """
        if word.known:
            return self._overlay.text(self._state.path(word))
        made = self._overlay.made(self._state.path(word)) if self._overlay else None
        return self._fed(word) if made is None else made[0]

    def _made(self, word: Arg) -> str | None:
        """Return the text of a file that the script itself has written."""
        known = self._overlay.made(self._state.path(word)) if word.known else None
        return known[0] if known is not None else None

    def _fed(self, word: Arg) -> str | None:
        """Return the known part of what commands print into `<(…)`; None if nothing of it is known."""
        if word[:2] != "<(" or not word.source:
            return None
        last = word.source[0]
        behind = {last, *last.input.source, *(one for given in last.args for one in given.source)}
        if behind.issuperset(word.source):
            return self.printed(last)
        texts = [self.printed(one) for one in word.source[:MAX_SCRIPTS]]
        return "\n".join(text for text in texts if text) or None

    def made_by(self, word: Arg) -> tuple[Invocation, ...]:
        """Return the commands whose output is in the file that a word names."""
        return self._overlay.sources(self._state.path(word)) if self._overlay else ()

    def opened(self, redirect: Redirection) -> Input:
        """Return what a command reads from the file or the descriptor."""
        target = redirect.target
        if not target.known:
            return Input(self._fed(target), target.source)
        known = self._overlay.made(f"/dev/fd/{target}" if redirect.operator == "<&" else self._state.path(target))
        if known is None and redirect.operator == "<" and target[:2] in ("~/", "/h", "/r", "/U"):
            return Input(None, (Invocation(arg("cat"), [target]), *target.source))  # a person's, maybe
        if known is None and redirect.operator == "<":
            text = self._overlay.text(self._state.path(target))
            return Input(text if text is None or len(text) < MAX_FED else None, target.source)
        return Input(None, target.source) if known is None else Input(known[0], (*known[1], *target.source))

    def type_out(self, invocation: Invocation) -> None:
        """Give what runs its input the text of the files that `cat` hands to it."""
        given = invocation.input
        if given.text is None and len(given.source) == 1 and given.source[0].name == "cat" and runs_input(invocation):
            named = [word for word in given.source[0].args if word[:1] != "-"]
            texts = [self.file(word) for word in named[:MAX_SCRIPTS]]
            if named and len(texts) == len(named) and None not in texts:
                invocation.input = Input("".join(text or "" for text in texts), given.source)

    def printed(self, invocation: Invocation) -> str | None:
        """Return what the invocation prints; None if that is not known."""
        text = printed(invocation, self._made)
        if text is None:
            text = self._located(invocation)
        if text is not None and len(text) > MAX_PRINTED:
            self._bounds.cut(MAX_PRINTED)
            return None
        return text

    def _located(self, invocation: Invocation) -> str | None:
        """Return what the invocation prints of where things lie, or that it prints nothing; None if it is not known."""
        if silent(invocation, self._folders, self._stands):
            return ""
        if invocation.name == "git":
            self._redirected = self._redirected or "core.worktree" in invocation.args
            if self._redirected or not REDIRECTED.isdisjoint(self._state.variables):
                return None
        return where(invocation, self._folders, self._stands)

    def _stands(self, path: str) -> bool:
        """Whether the script itself makes a file at or below the path."""
        return any(made == path or made.startswith(f"{path}/") for made in self._overlay.put())


def runs_input(invocation: Invocation) -> bool:
    """Whether the program runs what it reads."""
    return invocation.name in SHELLS or _RUNS_INPUT.fullmatch(invocation.name) is not None
