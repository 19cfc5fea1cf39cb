"""Programs that copy, link and unpack: which file comes from which, by their words alone."""

import posixpath
from collections.abc import Iterator
from itertools import pairwise

from monitors.review.shell.invocation import Arg, Invocation, arg

_VALUES = frozenset({"-t", "--target-directory", "-m", "--mode", "-o", "--owner", "-g", "--group", "-S", "--suffix"})
UNPACKERS = frozenset({"tar", "bsdtar", "gtar", "unzip", "7z", "7za", "cpio", "unrar", "bsdcpio"})
"""Programs that unpack archives."""


def copied(invocation: Invocation) -> Iterator[tuple[Arg, Arg]]:
    """Yield each file that `cp`, `mv`, `install` or `ln` makes, with what it is made of: a file, or a link's target."""
    options = pairwise(invocation.args)
    target = next((after for word, after in options if word in ("-t", "--target-directory")), None)
    named = invocation.operands(_VALUES)
    if target is None:
        if len(named) == 1 and invocation.name == "ln":
            yield arg(posixpath.basename(named[0]), known=named[0].known), named[0]
        if len(named) < 2:
            return
        *named, target = named
    for given in named:
        # The target may be a directory: the file then stands in it under its own name.
        name = posixpath.basename(given.rstrip("/"))
        if len(named) == 1 and target[-1:] != "/" and "-t" not in invocation.args:
            yield target, given
        if name not in ("", ".", "..", "~"):
            yield arg(posixpath.join(target, name), known=target.known and given.known), given


STDIN = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
"""Names of what a command is fed."""


def bound(invocation: Invocation) -> tuple[Arg, Arg] | None:
    """Return the directory that `mount --bind` shows in another place, and that place."""
    named = invocation.operands(frozenset({"-t", "--types", "-o", "--options"}))
    binds = any(word in ("--bind", "--rbind", "-B", "-R") or word in ("bind", "rbind") for word in invocation.args)
    return (named[0], named[1]) if binds and len(named) == 2 and named[0].known and named[1].known else None


def folder_of(invocation: Invocation) -> Arg:
    """Return the folder into which an archive is unpacked."""
    for word, after in pairwise(invocation.args):
        if word in ("-C", "--directory", "-d", "-D"):
            return after
    return arg(".")
