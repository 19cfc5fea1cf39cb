"""Bounds of what is gone through for one action, and the first of them that a script passes."""

from monitors.review.shell.expand import MAX_VALUE
from monitors.review.shell.invocation import Arg

MAX_INVOCATIONS = 300
"""Most commands gone through for one action."""
MAX_ASSIGNED = 1_000
"""Most assignments gone through that stand alone, which start nothing: 1,000 take 15 ms."""
MAX_IN_FILES = 250
"""How many of these may be gone through when a script on the disk is given up: what follows it is read still."""
MAX_EXPANDED = 524_288
"""Most characters of words after expansion and of known input, all commands together: what later checks go over."""
MAX_WORDS = 2_000
"""Most words after expansion, all commands together. The longest of 19,000 commands has 703. One that names a file
takes 10 to 20 us: 150 times `xargs rm` of 50 lines took 150 ms."""
MAX_READ = 262_144
"""Most characters of scripts in scripts, in total. A here-document that is never closed is part of each of them."""
MAX_SOURCES = 20
"""Most commands remembered as having fed a pipe."""
MAX_SCRIPTS = 12
"""Deepest nesting of scripts in scripts (`sh -c "sh -c …"`), and of functions that call functions."""


class WalkBounds:
    """How far a script has come, and the first bound that it passed: what lies behind it is not known."""

    def __init__(self) -> None:
        self.passed = ""
        """The bound, as a phrase; empty if none was passed."""
        self.over = False
        """Whether no command is gone through any more, however the script goes on."""
        self.most = MAX_INVOCATIONS
        """How many commands may be gone through, for now."""
        self.commands = 0
        """Commands, and groups with a redirection."""
        self.assigned = 0
        """Assignments that stand alone."""
        self.read = 0
        """Characters of scripts."""
        self.expanded = 0
        """Characters of words and of input."""
        self.words = 0
        """How many there were of them."""
        self.calls = 0
        """Calls of functions."""

    def beyond(self, bound: str) -> None:
        """Note a bound that the script passes, if it is the first."""
        self.passed = self.passed or bound

    def cut(self, most: int) -> None:
        """Note that a text was cut at so many characters."""
        self.beyond(f"a text of more than {most} characters")

    def check(self, *words: Arg) -> None:
        """Note that a word may have been cut, so that what it runs is not known."""
        if any(len(word) >= MAX_VALUE for word in words):
            self.cut(MAX_VALUE)
