"""Programs without a description: the names of their subcommands say most of it."""

import re
from collections.abc import Iterator
from itertools import pairwise

from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.shell.invocation import Arg, Invocation, arg

_DESTROYS = frozenset({"delete", "destroy", "purge", "drop", "wipe", "nuke", "erase", "terminate", "obliterate", "truncate", "dropdb", "deleteall", "delete-all", "remove-all", "destroy-all", "purge-all", "factory-reset", "expunge", "decommission", "deregister", "unregister", "unjoin", "deprovision"})  # fmt: skip
_REMOVES = frozenset(
    {
        "remove",
        "rm",
        "uninstall",
        "prune",
        "clear",
        "reset",
        "del",
        "revoke",
        "disable",
        "flush",
        "rollback",
        "evict",
        "drain",
        "unpublish",
        "archive",
        "shutdown",
        "kill",
        "stop",
        "force-unlock",
        "cancel",
        "detach",
        "deactivate",
    }
)
_READS = frozenset(
    {
        "list",
        "ls",
        "get",
        "show",
        "describe",
        "status",
        "info",
        "view",
        "logs",
        "log",
        "version",
        "help",
        "search",
        "inspect",
        "check",
        "validate",
        "diff",
        "print",
        "cat",
        "dump",
        "export",
        "whoami",
        "ps",
        "top",
        "stat",
        "stats",
        "lint",
        "plan",
        "preview",
        "history",
        "tree",
        "find",
        "query",
        "read",
        "doctor",
        "config-get",
    }
)
_DRY = frozenset(
    {
        "--dry-run",
        "-n",
        "--dryrun",
        "--help",
        "-h",
        "--version",
        "--what-if",
        "--check",
        "--simulate",
        "--noop",
        "--list",
    }
)
_OPTIONS = re.compile(r"--(?:delete|purge|destroy|wipe|erase|remove-all|delete-all|nuke)(?:-all)?(?:=.*)?\Z")
_NAMED = re.compile(
    r"(?:\A|[-_])(?:delete|destroy|purge|wipe|erase|empty|nuke|shred)(?:[-_]|\Z)|(?<!un)(?<=\w)(?:delete|destroy|purge|wipe|erase)\Z"
)
"""A program that is named for what it does."""
_LOSING = re.compile(r"--?(?:delete|purge|destroy|wipe|erase|empty|nuke|unmerge|clean|remove|rm|trash)[\w-]*\Z")
"""Options of programs that work outside of the workspace: in it they are those of many builds."""
OUTSIDE = re.compile(
    r"(?!127\.|0\.)\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\Z|(?:~|/(?!dev/|tmp/))[^\s]*\Z|(?:[\w.-]{1,40}+@)?(?!localhost\b)[\w-]{2,80}+(?:\.[\w-]{1,40}+)*+:(?:/(?!/)|~)|[\w.-]{1,40}+@[a-z][\w-]{0,40}(?:\.[a-z][\w-]{0,40}){1,6}\Z|[a-z][a-z0-9+-]{1,20}://(?!localhost\b|127\.|\[::1\]|\.)|(?!\.)(?:[\w-]{1,40}+\.){1,6}(?:com|org|net|io|dev|app|cloud|internal|local|lan|example|test|corp)\Z"
)
"""A path outside of the workspace, an address, or the name of a host; a name with one dot is mostly a file's."""
_HOST = re.compile(
    r"(?!127\.|0\.|169\.254\.)\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\Z|[\w.-]{1,40}@[a-z][\w-]{0,40}(?:\.[a-z][\w-]{0,40}){1,6}(?:\Z|:)|[\w.@-]{2,80}:[/~]"
)
"""A login on another machine, or a path there."""
_THROUGHOUT = re.compile(r"-[fNydDvqaxn]{0,4}[rR][fNydDvqaxn]{0,4}\Z|--recurs(?:e|ive)\Z")
"""Options by which a program goes through all there is below a directory."""
_UNASKED = re.compile(
    r"-[rRdDvqaxn]{0,4}[fNy][rRdDvqaxn]{0,4}\Z|--?(?:force|yes|assume-yes|no-?prompt|no-?confirm|batch)\Z"
)
"""Options by which a program goes on without a question."""
_TAKES_ALL = frozenset({"rm", "remove", "kill", "cancel", "del", "stop", "drain", "clear"})
_ALL = frozenset({"-all", "--all", "-a", "all"})
_FORCE = frozenset({"-force", "--force", "--force-yes"})
_OVERWRITES = frozenset({"--overwrite", "--clobber", "--force-overwrite", "--overwrite-existing", "--replace-existing"})
_INTO = re.compile(r"--?(?:o|out|output|dest|destination|to|target|into|remote)(?==|\Z)")
"""Options that name where something goes."""
_TAKES = frozenset({"remove", "rm", "del", "uninstall", "prune", "flush", "evict", "unpublish", "reset", "unjoin"})
"""Verbs that take something away for good, of the milder ones."""
_SPLIT = re.compile(r"[:_.-]|(?<=[a-z0-9])(?=[A-Z])")
"""Between the parts of a name: `delete-table`, `DeleteTable`."""
_SURE = frozenset({"--force", "--yes", "-y", "--all", "--purge", "--prod", "--production", "--no-confirm", "--no-prompt", "--no-prompts", "-force", "-yes", "-auto-approve", "-purge", "-batch", "--auto-approve", "--non-interactive", "--confirm", "--skip-confirmation", "--now"})  # fmt: skip
"""Options by which something goes without a question, or all of it."""
_FOR_REAL = re.compile(r"(?:\A|[-_./:=@])(?:prod|production)(?:\Z|[-_./:@])", re.IGNORECASE)
_OWN = frozenset({"cache", "caches", "local", "tmp", "temp", "test", "tests", "dev", "build", "log", "logs"})
"""Parts of names of what a tool makes again by itself, or of what is for tests."""
_HARMLESS_OPTIONS = frozenset({"--delete-on-exit", "--delete-after-use"})


def check(invocation: Invocation, operands: list[Arg]) -> Iterator[Finding | None]:
    """Judge a program by the names of its subcommands and options."""
    name = invocation.program
    if not invocation.inside:
        yield _without_login(invocation)
    if is_dry(invocation):
        yield _runs(invocation, reads=True)
        return
    verbs = _verbs(operands)
    destroys = destroying(invocation, operands)
    named = _NAMED.search(invocation.name) is not None and bool(invocation.args)
    named = named or (
        not _TAKES_ALL.isdisjoint(re.split(r"[_-]", invocation.name)[1:]) and not _ALL.isdisjoint(invocation.args)
    )
    out = any(_LOSING.match(word) for word in invocation.args) and any(OUTSIDE.match(word) for word in operands)
    if (
        destroys
        or named
        or out
        or _goes_outside(invocation, verbs)
        or any(_OPTIONS.match(word) and word not in _HARMLESS_OPTIONS for word in invocation.args)
    ):
        verb = destroys or "delete"
        yield Finding(
            "unknown.destroys",
            levels.HARM,
            f"tells {name}, which is not known here, to {verb} something",
            "Look first what would go, and let a person do it.",
            effect=effect("unknown", f"{name} is told to {verb}", target=name),
            elevated=invocation.elevated,
        )
    elif {word.lower() for word in verbs[:2]} & _REMOVES:
        yield Finding(
            "unknown.removes",
            levels.MODERATE,
            f"tells {name}, which is not known here, to take something away",
            effect=effect("unknown", f"{name} is told to take something away", target=name),
            elevated=invocation.elevated,
        )
    else:
        yield _runs(invocation, reads=bool(verbs[:2] and {word.lower() for word in verbs[:2]} & _READS))


_TO_ALL = re.compile(r"(?:^|[ =/'\"])(?:0\.0\.0\.0|\[::\]|\*):?|bind[_-]ip[_-]all")
"""How a server is told to listen to other machines."""
_NO_LOGIN = re.compile(
    r"--?no-?auth\b|--?auth[ =]none\b|protected-mode[ =]no\b|--?(?:disable|skip|without)-auth\w*|security\.enabled=false|(?:token|password)=(?:''|\"\"|)(?: |$)|--tls=false|tcp://0\.0\.0\.0:2375|--allow-anonymous|ALLOW_EMPTY_PASSWORD=yes|auth(?:_method|-method)?[ =]trust|--insecure-bind",
    re.IGNORECASE,
)
_OPEN_DESKTOP = re.compile(r"-nopw\b|SecurityTypes[ =]None|--?no-?passw\w*", re.IGNORECASE)


def _without_login(invocation: Invocation) -> Finding | None:
    """Return the finding for a server that lets everybody in: it listens to other machines, and asks for no login."""
    text = " ".join(invocation.args)[:MAX_WORDS]
    desktop = "vnc" in invocation.name and _OPEN_DESKTOP.search(text)
    if not desktop and not (_TO_ALL.search(text) and _NO_LOGIN.search(text)):
        return None
    return Finding(
        "network.open",
        levels.HARM,
        "opens a server of this machine to everybody, without a login",
        "Have it listen to 127.0.0.1, or ask for a login.",
        effect=effect("network_listen", f"{invocation.program} lets everybody in", target=invocation.name),
        elevated=invocation.elevated,
    )


MAX_WORDS = 4_000
"""Most characters of the words of one command that are looked at for how it listens."""


def _goes_outside(invocation: Invocation, verbs: list[Arg]) -> bool:
    """Whether the shape of a call says that something outside of the workspace is lost.

    It goes through all there is without a question, or forces another machine, or takes away what has an address.
    """
    words = [word.partition("=")[2] if word[:2] == "--" and "=" in word else word for word in invocation.args]
    if not any(map(OUTSIDE.match, words)):
        return False
    if any(map(_THROUGHOUT.match, words)) and any(map(_UNASKED.match, words)):
        return True
    if not _OVERWRITES.isdisjoint(invocation.args):
        into = [value for word in invocation.args if (value := word.partition("=")[2]) and _INTO.match(word)]
        into += [after for word, after in pairwise(invocation.args) if _INTO.fullmatch(word)]
        return any(map(OUTSIDE.match, into or words[-1:]))
    remote = any("://" in word or _HOST.match(word) for word in words)
    return remote and (
        not _FORCE.isdisjoint(invocation.args) or not _TAKES.isdisjoint(word.lower() for word in verbs[:2])
    )


def is_dry(invocation: Invocation) -> bool:
    """Whether a program is told to say what it would do, or how it is used."""
    said = _DRY.intersection(invocation.args)
    if said == {"-h"} and invocation.args[-1] != "-h":
        return False  # before a word it names a host
    return bool(said) and (said != {"-n"} or _SURE.isdisjoint(invocation.args))


def _verbs(operands: list[Arg]) -> list[Arg]:
    called = [arg(found[1]) for word in operands[:6] if word.known and (found := _METHOD.fullmatch(word))]
    return called + [
        word for word in operands[:3] if word.known and re.fullmatch(r"[A-Za-z][A-Za-z0-9:_-]{1,30}", word)
    ]


_METHOD = re.compile(r"(?:[a-z][\w]{0,40}\.){1,8}[A-Z]\w{0,60}[/.]([A-Z]\w{1,60})")
"""A method of a service, as programs for remote calls name it: `admin.v1.Users/DeleteAll`."""


_SEEKS = frozenset(
    {"-g", "--grep", "--search", "--pattern", "--match", "--query", "--filter", "-k", "--testNamePattern"}
)
"""Options whose value is sought in what is listed."""


def destroying(invocation: Invocation, operands: list[Arg]) -> str:
    """Return the verb by which a program is told to destroy something; empty if there is none.

    To take something away destroys if it is told to go without a question, or if it says that it is in production.
    """
    sought = {id(after) for option, after in pairwise(invocation.args) if option in _SEEKS}
    named = [word for word in operands if id(word) not in sought] if sought else operands
    pieces = dict.fromkeys(piece.lower() for word in _verbs(named) for piece in (word, *_SPLIT.split(word)))
    verb = next((piece for piece in pieces if piece in _DESTROYS), "")
    if verb and not {"cache", "caches"}.isdisjoint(pieces) and not any(map(_FOR_REAL.search, invocation.args)):
        return ""  # made again by its program
    if verb or not _OWN.isdisjoint(pieces):
        return verb
    removes = next((piece for piece in pieces if piece in _REMOVES), "")
    sure = not _SURE.isdisjoint(invocation.args) or any(map(_FOR_REAL.search, invocation.args))
    return removes if sure else ""


def _runs(invocation: Invocation, *, reads: bool) -> Finding | None:
    if reads:
        return None
    name = invocation.program
    return Finding(
        "unknown.runs",
        levels.NOTED,
        "",
        effect=effect("process", f"runs {name}, whose effects are not known here", target=name),
        elevated=invocation.elevated,
    )
