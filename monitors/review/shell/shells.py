"""How a shell is used: for a script in its arguments, in a file, on its input, or for a person to type at."""

import re
from collections.abc import Sequence

from monitors.review.shell.invocation import Arg, Invocation

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "fish", "csh", "tcsh", "yash", "posh", "rbash", "rksh", "rzsh", "bash-static", "sash", "elvish", "xonsh", "nu", "rc", "es", "osh", "pwsh", "powershell", "cmd"})  # fmt: skip
"""Programs that read commands."""

OWN_INPUT = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
"""Names of a program's own input."""
_VALUES = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
_CLUSTER = re.compile(r"[-+][A-Za-z]+\Z")
_TAKES_VALUE = re.compile(r"[-+][a-z]+[oO]\Z")
"""A cluster that ends in an option with a value: `-euo pipefail`."""


class ShellUse:
    """The script that a shell is given. Exactly one of text, file, piped and interactive is set."""

    __slots__ = ("file", "interactive", "parameters", "piped", "source", "text")

    def __init__(self) -> None:
        self.text: Arg | str | None = None
        self.file: Arg | None = None
        self.piped = False
        """Whether it runs what comes down a pipe and is not known."""
        self.interactive = False
        """Whether it waits for a person to type."""
        self.source: tuple[Invocation, ...] = ()
        """The commands whose unknown output it would run."""
        self.parameters: list[Arg] = []


def shell_use(invocation: Invocation) -> ShellUse | None:
    """How the invocation uses a shell, or None if its program is no shell."""
    if invocation.name not in SHELLS:
        return None
    use = ShellUse()
    args = invocation.args
    if invocation.name == "cmd" and any(word[:2].lower() in ("/c", "/k") for word in args):
        use.text = _cmd_script(args)
        return use
    at, code = _options(args)
    if code:
        if at < len(args):
            use.text, use.source, use.parameters = args[at], args[at].source, args[at + 1 :]
        return use
    if at < len(args) and "-s" not in args[:at] and (args[at] not in OWN_INPUT or invocation.input.text is not None):
        use.file, use.source, use.parameters = args[at], args[at].source, args[at:]
        if (args[at] == "-" or args[at] in OWN_INPUT) and invocation.input.text is not None:
            use.text = invocation.input.text
        return use
    if any(word in ("--version", "--help", "-V", "-h") for word in args):
        return use
    _from_input(use, invocation)
    return use


def _cmd_script(args: list[Arg]) -> str:
    """Return the command that `cmd /c` runs: all words that follow, quoted or not."""
    at = next(index for index, word in enumerate(args) if word[:2].lower() in ("/c", "/k"))
    # What is not known is not read a second time: substitutions in it were gone through where they stand.
    return " ".join([args[at][2:], *(word if word.known else "$UNKNOWN" for word in args[at + 1 :])]).strip()


def _options(args: list[Arg]) -> tuple[int, bool]:
    """Return the index after the options, and whether one of them announces a script."""
    at, code = 0, False
    while at < len(args):
        word = args[at]
        if word == "--":
            return at + 1, code
        if word in ("-", "+"):
            return at + 1, code
        if word[:1] not in "-+" or not word:
            break
        lowered = word.lower()
        if lowered in ("-command", "--command", "-commands", "/c") or (
            _CLUSTER.match(word) and word[0] == "-" and "c" in word and not word.startswith("--")
        ):
            code = True
        at += 2 if word in _VALUES or _TAKES_VALUE.match(word) else 1
    return at, code


def _from_input(use: ShellUse, invocation: Invocation) -> None:
    stdin = invocation.input
    if stdin.text is not None and stdin.text:
        use.text, use.source = stdin.text, stdin.source
    elif stdin.given or any(redirect.reads for redirect in invocation.redirects):
        use.piped, use.source = True, stdin.source
        use.file = next((redirect.target for redirect in invocation.redirects if redirect.reads), None)
    else:
        use.interactive = True


_SET_OPTIONS = frozenset("abefhkmnoptuvxyABCEFGHIJKNPTX0123456789")
"""Letters of `set`, in bash and in zsh; with another one it fails."""


def positional(args: Sequence[Arg]) -> list[Arg] | None:
    """Return the positional parameters that `set` is given, or None if it sets options alone, or fails."""
    at = 0
    while at < len(args) and args[at][:1] in ("-", "+") and args[at] not in ("-", "--"):
        if args[at].known and not _SET_OPTIONS.issuperset(args[at][1:]):
            return None
        at += 2 if args[at][1:2] == "o" else 1
    if at < len(args) and args[at] in ("-", "--"):
        return list(args[at + 1 :])
    return list(args[at:]) or None
