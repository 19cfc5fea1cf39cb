"""Commands within the words of other programs: settings of git that are run, and programs behind unknown ones."""

import re
import shlex
from collections.abc import Callable

from monitors.review.shell.invocation import Invocation, program_name
from monitors.review.shell.shells import SHELLS

_KEYS = re.compile(
    r"(?:core\.(?:pager|editor|sshcommand|askpass|fsmonitor|gitproxy)|sequence\.editor|pager\.\w+|alias\.[\w-]+|diff\.external|gpg\.program|credential(?:\.[^=]*)?\.helper|(?:diff|merge|filter|difftool|mergetool)\.[\w.-]+\.(?:command|textconv|driver|clean|smudge|process|cmd))\Z",
    re.IGNORECASE,
)
"""Settings of git whose value it runs."""
_RUNS = frozenset({"rm", "shred", "dd", "sudo", "curl", "wget", "terraform", "kubectl", "dropdb", "psql", "aws", "git", "find", "docker", "mkfs", "chmod", "chown", *SHELLS})  # fmt: skip
"""Programs that are looked for behind an unknown program: it may be a launcher."""


def embedded(invocation: Invocation, known: Callable[[str], bool]) -> list[str]:
    """Return the scripts among the words of a command.

    Args:
        invocation: The command.
        known: Whether a program of this name is known, so that its words have a meaning of their own.
    """
    if invocation.name == "git":
        return _of_git(invocation)
    if not invocation.name or invocation.program[:1] in "$`" or known(invocation.name) or "{}" in invocation.args:
        return []
    for at, word in enumerate(invocation.args[:12]):
        behind = invocation.args[at:]
        if word.known and program_name(word) in _RUNS and len(behind) > 1 and (at == 0 or " " not in word):
            return [" ".join(shlex.quote(one) if one.known else "$UNKNOWN" for one in behind)]
    return []


def _of_git(invocation: Invocation) -> list[str]:
    found: list[str] = []
    args = [str(word) for word in invocation.args]
    for at, word in enumerate(args):
        after = args[at + 1] if at + 1 < len(args) else ""
        name, equals, value = word.partition("=")
        if word in ("-x", "--extcmd", "--exec") and {"difftool", "rebase"}.intersection(args[:at]):
            found.append(after)
        elif (equals and name in ("--extcmd", "--exec")) or (
            equals and args[at - 1] == "-c" and at and _KEYS.match(name)
        ):
            found.append(value)
        elif not equals and "config" in args[:at] and _KEYS.match(word):
            found.append(after)
    return [one.lstrip("!") for one in found if " " in one or "/" in one or "$" in one]
