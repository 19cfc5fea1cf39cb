"""Programs without a description: the names of their subcommands say most of it."""

import re
from collections.abc import Iterator

from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.shell.invocation import Arg, Invocation

_DESTROYS = frozenset({"delete", "destroy", "purge", "drop", "wipe", "nuke", "erase", "terminate", "obliterate", "truncate", "dropdb", "deleteall", "delete-all", "remove-all", "destroy-all", "purge-all", "factory-reset", "expunge", "decommission", "deregister", "unregister"})  # fmt: skip
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
_OUTSIDE = re.compile(
    r"(?:~|/(?!dev/|tmp/))[^\s]*\Z|(?!\.)(?:[\w-]{1,40}\.){1,6}(?:com|org|net|io|dev|app|cloud|internal|local|lan|example|test|corp)\Z"
)
"""A path outside of the workspace, or the name of a host; a name with one dot is mostly a file's."""
_SPLIT = re.compile(r"[:_.-]")
_HARMLESS_OPTIONS = frozenset({"--delete-on-exit", "--delete-after-use"})


def check(invocation: Invocation, operands: list[Arg]) -> Iterator[Finding | None]:
    """Judge a program by the names of its subcommands and options."""
    name = invocation.program
    if _DRY.intersection(invocation.args):
        yield _runs(invocation, reads=True)
        return
    verbs = [word for word in operands[:3] if word.known and re.fullmatch(r"[A-Za-z][A-Za-z0-9:_-]{1,30}", word)]
    pieces = dict.fromkeys(piece.lower() for word in verbs for piece in (word, *_SPLIT.split(word)))
    destroys = next((piece for piece in pieces if piece in _DESTROYS), "")
    named = _NAMED.search(invocation.name) is not None and bool(invocation.args)
    out = any(_LOSING.match(word) for word in invocation.args) and any(_OUTSIDE.match(word) for word in operands)
    if (
        destroys
        or named
        or out
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
