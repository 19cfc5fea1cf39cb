"""The state of a review while it examines one action."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from monitors.contract.actions import Ground, Origin, Touch
from monitors.contract.origins import below
from monitors.review.languages.project.recipes import Recipe
from monitors.review.rules.findings import Finding
from monitors.review.rules.rules import RuleBook
from monitors.review.scene.lookups import FileLookups, WithLinks
from monitors.review.scene.places import ActionPlaces
from monitors.review.settings import ReviewSettings
from monitors.review.shell.invocation import Arg, Invocation
from monitors.review.shell.launch import LauncherBook

MAX_TOUCHES = 200
"""Most paths listed for one action; a person reads no more, and detectors need only their number."""
MAX_COMMANDS = 250
"""Most commands gone through for one action in all of its scripts together before the next is left out: the
fields of a tool, the lines of a file that others run. A command takes 60 to 180 us, and so does a text read as code."""

MAX_CODE_IN_ALL = 80_000
"""Most characters of code gone through for one action before its next piece is left out. 20,000 take 9 ms, and as long
as that takes what dense Python counts as 20,000: see `Uses.length`."""
MAX_SEARCHED = 32_768
"""Most characters of words and input that are matched against the rules of a program. 30 rules take 20 ms for as
much."""
MAX_SEARCHED_IN_ALL = 2 * MAX_SEARCHED
"""Most of them for all commands of an action. What is longer is given to several by variables, files and launchers."""


@dataclass(slots=True)
class ReviewWork:
    """The amount that one review has gone through, and what it found in pieces of files."""

    commands: int = 0
    code: int = 0
    """Characters that were read as code, but for those within commands."""
    places: int = 0
    """Characters that places count for which a tool of a server changes."""
    searched: int = 0
    """Characters in which the rules of programs were sought."""
    judged: dict[Recipe, list[Finding]] = field(default_factory=dict)
    """The findings in pieces of files: one that others run and that is a source too is read once."""

    @property
    def over(self) -> bool:
        """Whether no more is gone through."""
        return self.commands > MAX_COMMANDS or self.code > MAX_CODE_IN_ALL

    @property
    def sought(self) -> bool:
        """Whether rules are sought in no more."""
        return self.searched > MAX_SEARCHED_IN_ALL


class NamedFiles:
    """The files that commands of an action name.

    All at once: where each of 300 deletions went through the commands before it, a review took 150 ms.

    Args:
        commands: In their order.
        names: Gives the files that one names, none if it only reads.
    """

    __slots__ = ("_first", "_numbers", "commands")

    def __init__(self, commands: Sequence[Invocation], names: Callable[[Invocation], Iterable[str]]) -> None:
        self.commands = commands
        self._numbers = {id(one): number for number, one in enumerate(commands)}
        self._first: dict[str, int] = {}
        for number, one in enumerate(commands):
            for path in names(one):
                self._first.setdefault(path, number)

    def before(self, path: str, invocation: Invocation) -> bool:
        """Whether a command before this one names the file."""
        return self._first.get(path, len(self.commands)) < self._numbers.get(id(invocation), len(self.commands))


@dataclass(slots=True)
class Scene:
    """Settings, places and knowledge, and what is collected on the way."""

    settings: ReviewSettings
    places: ActionPlaces
    facts: FileLookups
    book: RuleBook
    launchers: LauncherBook
    touches: dict[tuple[str, str], Touch] = field(default_factory=dict)
    grounds: list[Ground] = field(default_factory=list)
    """Files that what is found rests on."""
    files: dict[str, str] = field(default_factory=dict)
    """Files that the action itself writes with known text, by path."""
    listing: frozenset[str] = frozenset()
    """Those of them in whose text the path of a secret may stand."""
    planting: frozenset[str] = frozenset()
    """Those of them that name a shell for the program that reads them."""
    within: Callable[[str], tuple[Invocation, ...]] = lambda _path: ()
    """Gives the commands of the action whose output is in a file, by its path."""
    commands: Sequence[Invocation] = ()
    """The commands of the action, in their order."""
    put: Mapping[str, Invocation] | None = None
    """The files that the commands of the action write, with the last that does; None until it is asked for."""
    named: NamedFiles | None = None
    """The files that they name, once it was asked."""
    ignored: frozenset[str] = frozenset()
    """Paths of which a command of the action asks git whether it ignores them."""
    made: frozenset[str] = frozenset()
    """Directories that the action itself makes: by a copy, a clone or an archive."""
    background: bool = False
    """Whether the CLI does not wait for the command."""
    beside: set[int] = field(default_factory=set)
    """Commands that the shell does not wait for, by identity."""
    heard: set[int] = field(default_factory=set)
    """The identities of commands whose output a program reads that ends by itself, and ends them with it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that a shell of the agent would expand."""
    past: Mapping[str, Origin] = field(default_factory=dict)
    """Files and remotes that earlier calls of the run have brought, by path."""
    origins: list[Origin] = field(default_factory=list)
    """Files and remotes that this call leaves behind."""
    production: frozenset[str] = frozenset()
    """Programs that a command of the action turns to production for their later calls."""
    own: frozenset[int] = frozenset()
    """Commands that take away what the run itself made, or that work on a cluster of this machine, by identity."""
    one_turn: bool = False
    """Whether the run ends with its turn, so that what is to be done later never is."""
    work: ReviewWork = field(default_factory=ReviewWork)
    """The work of the review so far, that for scripts that are judged by themselves included."""

    def fresh(self, folder: str) -> bool:
        """Whether the action itself makes the directory, and nothing of the workspace was in it before."""
        return (
            folder in self.made
            and folder != self.places.workspace
            and self.facts.kind(folder) in ("missing", "unknown")
        )

    def named_before(self, path: str, invocation: Invocation) -> bool:
        """Whether an earlier command of the action that does not only read names the file, and so may have made it."""
        if not self.commands or self.commands[0] is invocation:
            return False
        if self.named is None or self.named.commands is not self.commands:
            self.named = NamedFiles(self.commands, self._names)
        return self.named.before(path, invocation)

    def _names(self, one: Invocation) -> Iterable[str]:
        if self.reads_only(one):
            return ()
        return [self.path(word, one) for word in (*one.args, *one.assignments.values()) if word.known]

    def apart(self) -> "Scene":
        """Return the same scene with nothing collected, for a script that is judged by itself."""
        places = self.places.apart()
        return replace(
            self,
            places=places,
            touches={},
            grounds=[],
            origins=[],
            files={},
            listing=frozenset(),
            beside=set(),
            heard=set(),
        )

    def follow(self, resolved: Callable[[str], str]) -> None:
        """Follow the links that the action itself makes, before those that stand on the disk."""
        known = self.facts
        if isinstance(known, WithLinks):  # of a script before: one around the other, a thousand would be too deep
            known = WithLinks(known.facts, (resolved, *known.resolved))
        else:
            known = WithLinks(known, (resolved,))
        self.facts = self.places.facts = known

    def touch(self, path: str, access: str, *, entry: bool = False) -> None:
        """Note that the action would reach a path; if it changes the file, also the target of links.

        Args:
            path: Absolute.
            access: As in `Touch`.
            entry: Whether the directory's entry changes: to delete or replace a link does not follow it.
        """
        real = path if access == "read" else self.places.real_entry(path) if entry else self.facts.real(path)
        for each in (path,) if real == path else (path, real):
            if len(self.touches) < MAX_TOUCHES:
                self.touches.setdefault((each, access), Touch(self.places.shown(each), access))

    def path(self, word: Arg, invocation: Invocation) -> str:
        """The absolute path that a word of the invocation names."""
        return self.places.absolute(word, invocation.cwd)

    def mounted(self, word: Arg, invocation: Invocation, *, reads: bool = False) -> str:
        """The path of this machine that a word names in a container; empty if it names one of the container's own.

        To one that only reads, what the container may not write is of this machine as well.
        """
        if not invocation.mounts or not word.known:
            return ""
        within = word[:1] != "/" and any(inside and below(invocation.cwd, inside) for inside, *_ in invocation.mounts)
        path = self.places.absolute(word, invocation.cwd if within else "/") if word[:1] == "/" or within else ""
        for inside, host, fixed in invocation.mounts:
            if fixed and not reads:
                continue
            if not path and not inside:
                return self.places.absolute(word, host)
            if path and inside and (path == inside or path.startswith(inside.rstrip("/") + "/")):
                return self.places.absolute(f"{host}/{path[len(inside) :]}")
        return ""

    def reads_only(self, invocation: Invocation) -> bool:
        """Whether this use of the program is known to change nothing."""
        return not self.work.sought and self.book.only_reads(invocation, self.book.operands(invocation))
