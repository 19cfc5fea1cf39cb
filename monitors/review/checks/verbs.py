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
    if destroys or any(_OPTIONS.match(word) and word not in _HARMLESS_OPTIONS for word in invocation.args):
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
