"""Rewrites of a harmful command into a harmless one. Each returns a new command, or None if it cannot be sure.

A rewrite is made on the text as typed, and only if the whole of it is one plain command, so that the command that runs
is the one that was reviewed.
"""

import re
import shlex
from collections.abc import Callable, Mapping

from monitors.review.shell.invocation import Invocation
from monitors.review.shell.reader import read
from monitors.review.shell.tree import Simple
from monitors.secret_patterns import masked

TRASH = "/var/tmp/chaperon-trash"  # noqa: S108 — kept over a reboot, and a person can look into it
"""The folder to which deletions are redirected."""


def rewritten(name: str, command: str, invocation: Invocation) -> str | None:
    """The command in its harmless form, or None."""
    if not _plain(command) or invocation.via or invocation.depth or invocation.inside:
        return None
    return REWRITES[name](invocation)


def _plain(command: str) -> bool:
    script = read(command)
    node = script.nodes[0] if len(script.nodes) == 1 else None
    return (
        isinstance(node, Simple) and not script.problem and not script.too_much and not node.assignments and not node.redirects
        and all(word.parts is None or all(part.kind in ("text", "quoted") for part in word.parts) for word in node.words)
    )  # fmt: skip


def _force_with_lease(invocation: Invocation) -> str | None:
    words = []
    for word in invocation.args:
        if word == "--force" or word.startswith("--force="):
            words.append("--force-with-lease")
        elif re.fullmatch(r"-[a-zA-Z]*f[a-zA-Z]*", word):
            rest = word.replace("f", "")
            words += ([rest] if rest != "-" else []) + ["--force-with-lease"]
        elif word[:1] == "+" or word.startswith("--force-with-lease-"):
            return None
        else:
            words.append(word)
    return shlex.join([invocation.program, *words])


def _dry_run(invocation: Invocation) -> str | None:
    words = [
        re.sub(r"(?<=^-)([a-zA-Z]*)f", r"\1", word) if re.fullmatch(r"-[a-zA-Z]+", word) else word
        for word in invocation.args
    ]
    words = [word for word in words if word not in ("-", "--force")]
    return shlex.join([invocation.program, *words[:1], "--dry-run", *words[1:]])


def _time_limit(invocation: Invocation) -> str | None:
    return shlex.join(["timeout", "60", invocation.program, *invocation.args])


def _narrow_mode(invocation: Invocation) -> str | None:
    words = ["u+rwX,go+rX" if word in ("777", "0777", "a+rwx", "ugo+rwx") else word for word in invocation.args]
    return shlex.join([invocation.program, *words]) if words != invocation.args else None


def _rsync_dry_run(invocation: Invocation) -> str | None:
    return shlex.join([invocation.program, "--dry-run", *invocation.args])


def _trash(invocation: Invocation) -> str | None:
    named = [word for word in invocation.args if word[:1] != "-"]
    if not named or any(word.glob for word in named):
        return None
    return f"mkdir -p {TRASH} && mv --backup=numbered -t {TRASH} -- {shlex.join(named)}"


def masked_input(given: Mapping[str, object]) -> Mapping[str, object]:
    """The input of a tool with what looks like a secret replaced by its kind, in texts and in what holds them."""
    return {name: _masked(value, 4) for name, value in given.items()}


def _masked(value: object, depth: int) -> object:
    if isinstance(value, str):
        return masked(value)
    if depth and isinstance(value, Mapping):
        return {name: _masked(found, depth - 1) for name, found in value.items()}
    if depth and isinstance(value, (list, tuple)):
        return [_masked(found, depth - 1) for found in value]
    return value


REWRITES: dict[str, Callable[[Invocation], str | None]] = {
    "force-with-lease": _force_with_lease,
    "dry-run": _dry_run,
    "rsync-dry-run": _rsync_dry_run,
    "time-limit": _time_limit,
    "narrow-mode": _narrow_mode,
    "trash": _trash,
}
"""Every rewrite by name."""
