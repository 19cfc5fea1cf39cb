"""One command that would run, with everything the reviewer asks of it."""

from collections.abc import Collection, Iterable
from itertools import islice
from typing import NamedTuple

MAX_SHOWN = 160
"""Longest line by which a command is shown, in characters; of so many words, no more are looked at."""


class Arg(str):
    """A word after expansion."""

    __slots__ = ("glob", "known", "source")

    known: bool
    """Whether this is exactly what the program would get. Where not, unresolved parts stand as they were written."""
    glob: bool
    """Whether it has unquoted `*`, `?` or `[`: it stands for the paths that match."""
    source: "tuple[Invocation, ...]"
    """The commands whose output is in it, where that output is not known."""


def arg(text: str, *, known: bool = True, glob: bool = False, source: "tuple[Invocation, ...]" = ()) -> Arg:
    """Make a word."""
    made = Arg(text)
    made.known = known
    made.glob = glob
    made.source = source
    return made


class Redirection:
    """A file that the shell opens for a command."""

    __slots__ = ("fd", "operator", "target")

    def __init__(self, operator: str, fd: str, target: Arg) -> None:
        self.operator = operator
        self.fd = fd
        self.target = target

    @property
    def writes(self) -> bool:
        """Whether it creates, empties or appends to a file."""
        return ">" in self.operator and not (
            self.operator in (">&", "<&") and (self.target.isdigit() or self.target == "-")
        )

    @property
    def reads(self) -> bool:
        """Whether it opens a file for reading."""
        return self.operator in ("<", "<>")


class Input:
    """The standard input of a command."""

    __slots__ = ("given", "known", "source", "text")

    def __init__(
        self,
        text: str | None = None,
        source: "tuple[Invocation, ...]" = (),
        *,
        given: bool = True,
        known: bool = True,
    ) -> None:
        self.given = given
        """Whether there is a pipe, a file or a text at all; else it is the terminal's, or none."""
        self.known = known
        """Whether the text is exactly what is read. If not, variables stand in it as they were written."""
        self.text = text
        """The text, if it is known."""
        self.source = source
        """The commands that write it, where it comes from a pipe."""


NO_INPUT = Input(given=False)


class Setting(NamedTuple):
    """The directory and the rights of a command."""

    cwd: str = ""
    """Absolute where known, else relative to where the action starts."""
    via: tuple[str, ...] = ()
    """The launchers it was seen through, outermost first. Example: `("sudo", "env")`."""
    elevated: bool = False
    """Whether it runs with another user's rights."""
    inside: str = ""
    """Its surroundings if not this machine: `container` or `host NAME`; empty for here."""
    depth: int = 0
    """How many scripts deep it stands: 0 for what was typed."""
    mounts: tuple[tuple[str, str, bool], ...] = ()
    """Directories of a container with those of this machine that show there, and whether they may not be written."""


HERE = Setting()
"""Typed by the agent, in the directory where it works."""


class Invocation:
    """A program with its arguments, as it would be started."""

    __slots__ = (
        "args",
        "assignments",
        "cwd",
        "depth",
        "elevated",
        "input",
        "inside",
        "made_by",
        "mounts",
        "name",
        "program",
        "redirects",
        "via",
    )

    def __init__(
        self,
        program: Arg,
        args: list[Arg],
        setting: Setting = HERE,
        *,
        assignments: dict[str, Arg] | None = None,
        redirects: list[Redirection] | None = None,
        stdin: Input = NO_INPUT,
    ) -> None:
        self.program = program
        """The program as written, after expansion; empty if the command is redirections or assignments alone."""
        self.name = program_name(program)
        """Its name in the knowledge: the last part of its path, in lower case, without `.exe`."""
        self.args = args
        self.cwd, self.via, self.elevated, self.inside, self.depth, self.mounts = setting
        self.assignments = assignments or {}
        """Variables set for this command alone, or exported before it in the same script."""
        self.redirects = redirects or []
        self.input = stdin
        self.made_by: tuple[Invocation, ...] = ()
        """The commands whose output is in the script that it runs, if its text is not known."""

    def operands(self, taking: Collection[str] = ()) -> list[Arg]:
        """Return the words that are no options and no options' values.

        Args:
            taking: Options whose value is the next word.
        """
        found: list[Arg] = []
        skip = False
        for index, word in enumerate(self.args):
            if skip:
                skip = False
            elif word == "--":
                return [*found, *self.args[index + 1 :]]
            elif word[:1] == "-" and len(word) > 1:
                skip = word in taking
            else:
                found.append(word)
        return found

    def has_long(self) -> bool:
        """Whether one of its words begins with two dashes."""
        for word in self.args:  # noqa: SIM110 — a loop, for this is asked of each command several times
            if word[:2] == "--":
                return True
        return False

    def text(self) -> str:
        """The command in one line, for people."""
        words = filter(None, (self.program, *self.args))
        line = " ".join(islice(words, MAX_SHOWN))
        return line if len(line) <= MAX_SHOWN else line[: MAX_SHOWN - 3] + "..."

    def options(self) -> Iterable[Arg]:
        """Its words that begin with a dash, up to `--`."""
        for word in self.args:
            if word == "--":
                return
            if word[:1] == "-" and len(word) > 1:
                yield word


def program_name(program: str) -> str:
    """The name by which a program is known, whatever path or spelling it is started by."""
    name = program.rstrip("/").rsplit("/", 1)[-1]
    if name[:1] == "=":  # zsh's way to name the file of a program
        name = name[1:]
    if "\\" in name:
        name = name.rsplit("\\", 1)[-1]
    name = name.lower() if name.isascii() else name
    return name[:-4] if name.endswith((".exe", ".cmd", ".bat")) and len(name) > 4 else name


Output = tuple[str | None, tuple[Invocation, ...]]
"""The output of commands, if it is known, and the commands that print it."""
