"""The output of simple commands that follows from their text alone: `echo`, `printf`, and the filters that hide words.

It undoes the usual ways to hide a command: `$(echo rm)`, `base64 -d <<< …`, `rev`, `tr`, `xxd -r -p`.
"""

import base64
import binascii
import codecs
import re
from collections.abc import Callable

from monitors.review.shell.invocation import Arg, Input, Invocation, program_name
from monitors.review.shell.words import decode_ansi

MAX_PRINTED = 65_536
"""Longest text that a command is taken to print, in characters."""

_FORMAT = re.compile(r"%[-+ 0#]*+\d*+(?:\.\d++)?([sdbqcx%])")


def printed(invocation: Invocation, files: Callable[[Arg], str | None] | None = None) -> str | None:
    """The text on its standard output, cut behind `MAX_PRINTED` characters, or None if it is not known.

    Args:
        invocation: The command.
        files: The text of a file that it names, if that is known.
    """
    say = _PRINTERS.get(invocation.name)
    if say is None or invocation.inside or not all(word.known and not word.glob for word in invocation.args):
        return None
    named = [word for word in invocation.args if word[:1] != "-"] if files and invocation.name in _OF_FILES else []
    if named and files:
        texts = [each for each in map(files, named) if each is not None]
        if len(texts) < len(named):
            return None
        options = [word for word in invocation.args if word[:1] == "-"]
        invocation = Invocation(invocation.program, options, stdin=Input("".join(texts)))
    text: str | None = say(invocation)
    return text if text is None else text[: MAX_PRINTED + 1]


_OF_FILES = frozenset({"cat", "base64", "base32", "rev", "xxd", "sort", "uniq"})
"""Programs whose operands are the files that they print or decode."""


def _echo(invocation: Invocation) -> str | None:
    args = list(invocation.args)
    escapes, newline = False, "\n"
    while args and re.fullmatch(r"-[neE]+", args[0]):
        escapes = escapes or "e" in args[0]
        newline = "" if "n" in args[0] else newline
        args.pop(0)
    text = " ".join(args)
    return (decode_ansi(text) if escapes else text) + newline


def _printf(invocation: Invocation) -> str | None:
    args = invocation.args[1:] if invocation.args[:1] == ["--"] else invocation.args
    if not args or (args is invocation.args and args[0].startswith("-")):
        return None
    values = iter(args[1:])

    def replace(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        value = str(next(values, ""))
        return decode_ansi(value) if match[1] == "b" else value

    form = decode_ansi(args[0])
    taken = max(sum(found[1] != "%" for found in _FORMAT.finditer(form)), 1)
    rounds = max(-(-(len(args) - 1) // taken), 1)  # it is used again until all values are printed
    return "".join(_FORMAT.sub(replace, form) for _ in range(rounds if "%" in form else 1))


def _filter(change: Callable[[str], str]) -> Callable[[Invocation], str | None]:
    def say(invocation: Invocation) -> str | None:
        text = invocation.input.text
        return None if text is None else change(text)

    return say


def _cat(invocation: Invocation) -> str | None:
    return invocation.input.text if not [word for word in invocation.args if word[:1] != "-"] else None


def _base64(invocation: Invocation) -> str | None:
    text = invocation.input.text
    if text is None or [word for word in invocation.args if word[:1] != "-"]:
        return None
    raw = text.encode("utf-8", "replace")
    if not {"-d", "-D", "--decode", "-di", "-id"}.intersection(invocation.args):
        return None
    try:
        decoded = base64.b32decode(raw.strip()) if invocation.name == "base32" else base64.b64decode(raw + b"===")
    except (binascii.Error, ValueError):
        return None
    return decoded.decode("utf-8", "replace")


def _xxd(invocation: Invocation) -> str | None:
    text = invocation.input.text
    flags = "".join(word for word in invocation.args if word[:1] == "-")
    if text is None or "r" not in flags or "p" not in flags:
        return None
    try:
        return bytes.fromhex(re.sub(r"\s", "", text)).decode("utf-8", "replace")
    except ValueError:
        return None


def _tr(invocation: Invocation) -> str | None:
    text = invocation.input.text
    if text is None:
        return None
    if invocation.args[:1] == ["-d"] and len(invocation.args) == 2:
        removed = _letters(invocation.args[1])
        return None if removed is None else "".join(char for char in text if char not in removed)
    if len(invocation.args) != 2:
        return None
    old, new = _letters(invocation.args[0]), _letters(invocation.args[1])
    if not old or not new:
        return None
    return text.translate(str.maketrans(old, new.ljust(len(old), new[-1])[: len(old)]))


def _letters(written: str) -> str | None:
    written = decode_ansi(written)
    if "[" in written:
        return None
    return re.sub(
        r"(.)-(.)",
        lambda span: "".join(map(chr, range(ord(span[1]), min(ord(span[2]) + 1, ord(span[1]) + 128)))),
        written,
    )


def _head(invocation: Invocation) -> str | None:
    text = invocation.input.text
    if text is None or any(word[:1] != "-" for word in invocation.args):
        return None
    return text if len(text.splitlines()) <= 1 else None


def _which(invocation: Invocation) -> str | None:
    names = [word for word in invocation.args if word[:1] != "-"]
    return _found(names[0]) if len(names) == 1 else None


def _command(invocation: Invocation) -> str | None:
    return (
        _found(invocation.args[1]) if len(invocation.args) == 2 and invocation.args[0] in ("-v", "-p", "-P") else None
    )


def _found(name: str) -> str:
    """A path that stands for the one by which the shell finds a program: what counts is that it is the system's."""
    return name if "/" in name else f"/usr/bin/{name}"


def _basename(invocation: Invocation) -> str | None:
    return program_name(invocation.args[0]) if len(invocation.args) == 1 else None


def _mktemp(invocation: Invocation) -> str | None:
    """A name that stands for the one that will be made: what counts is that it is scratch space."""
    template = next((word for word in invocation.args if "/" in word), "")
    return template or "/tmp/mktemp.XXXXXXXXXX"  # noqa: S108 — a stand-in that is never opened


def _path(invocation: Invocation) -> str | None:
    """The path as it is written: links on the way to it are followed where it is judged."""
    named = [word for word in invocation.args if word[:1] != "-"]
    return named[0] if len(named) == 1 and named[0][:1] in "/~" else None


def _python(invocation: Invocation) -> str | None:
    """The folder for packages of the user's own, below the home directory whatever that is."""
    return "~/.local/lib/python3/site-packages" if invocation.args == ["-m", "site", "--user-site"] else None


_PRINTERS: dict[str, Callable[[Invocation], str | None]] = {
    "echo": _echo,
    "printf": _printf,
    "cat": _cat,
    "tee": _filter(str),
    "base64": _base64,
    "base32": _base64,
    "rev": _filter(lambda text: "\n".join(line[::-1] for line in text.split("\n"))),
    "tac": _filter(lambda text: "".join(line + "\n" for line in reversed(text.splitlines()))),
    "rot13": _filter(lambda text: codecs.encode(text, "rot13")),
    "xxd": _xxd,
    "tr": _tr,
    "head": _head,
    "tail": _head,
    "which": _which,
    "command": _command,
    "type": _command,
    "whence": _command,
    "python": _python,
    "python3": _python,
    "basename": _basename,
    "mktemp": _mktemp,
    "readlink": _path,
    "realpath": _path,
    "sort": _head,
    "uniq": _head,
}
