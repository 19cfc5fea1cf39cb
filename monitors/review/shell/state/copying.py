"""Programs that copy, link, unpack and fetch: which file comes from which, by their words alone."""

import posixpath
import re
from collections.abc import Iterable, Iterator
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


_IN_PLACE = re.compile(r"-[nrEsuz]{0,5}i|--in-place")
_INSERTS = re.compile(r"(?:^|[\s;{}\d$/])[aic](?:\\\s*\n?|\s)\s*(.+)\Z", re.DOTALL)
"""Text that a script of sed puts above, below or in the place of a line: all that stands behind the command."""
_REPLACES = re.compile(
    r"s([^\w\s\\])(?:(?!\1)[^\\]|\\.){0,2000}+\1((?:(?!\1)[^\\]|\\.){0,2000}+)\1[gIiM0-9]{0,9}(?:\s{0,9};.*)?\Z",
    re.DOTALL,
)


def _scripts_and_files(invocation: Invocation) -> tuple[list[Arg], list[Arg]]:
    scripts = [
        after
        for word, after in pairwise(invocation.args)
        if word in ("-e", "--expression") or re.fullmatch(r"-[nrEsuz]{0,5}e", word)
    ]
    named = invocation.operands(frozenset({"-e", "--expression", "-f", "--file", "-l"}))
    named = [word for word in named if word]  # `-i ''` of BSD
    return (scripts, named) if scripts else (named[:1], named[1:])


def inserted(invocation: Invocation) -> list[str]:
    """Return the lines that `sed` puts into the files that it changes in place; those that replace a text count too."""
    if not any(map(_IN_PLACE.match, invocation.args)):
        return []
    found: list[str] = []
    for script in _scripts_and_files(invocation)[0]:
        match = (_INSERTS.search(script) or _REPLACES.search(script)) if script.known else None
        if match is not None and " " in match[match.re.groups].strip():
            found.append(re.sub(r"\\([&|/\\n])", lambda one: "\n" if one[1] == "n" else one[1], match[match.re.groups]))
    return found


def edited(invocation: Invocation) -> list[Arg]:
    """Return the files that `sed` changes in place."""
    return [word for word in _scripts_and_files(invocation)[1] if word.known and not word.glob]


def bound(invocation: Invocation) -> tuple[Arg, Arg] | None:
    """Return the directory that `mount --bind` shows in another place, and that place."""
    named = invocation.operands(frozenset({"-t", "--types", "-o", "--options"}))
    binds = any(word in ("--bind", "--rbind", "-B", "-R") or word in ("bind", "rbind") for word in invocation.args)
    return (named[0], named[1]) if binds and len(named) == 2 and named[0].known and named[1].known else None


_MOUNTS = frozenset({"-v", "--volume", "--mount"})
_NO_HOST = re.compile(r"[\w][\w.-]*\Z")
"""The name of a volume; what names a directory has a slash, or is `.`."""


def mounted(invocation: Invocation) -> Iterator[tuple[str, Arg, bool]]:
    """Yield each directory of a container that is one of this machine, by an option of `docker run`, with which it is.

    Beside them stands whether it is only shown, and not to be written.

    The container's working directory stands beside an empty name, if it is one of them.
    """
    pairs = [
        (word.partition("=")[0], arg(word.partition("=")[2], known=word.known))
        if "=" in word and word[:2] == "--"
        else (word, after)
        for word, after in pairwise((*invocation.args, arg("")))
    ]
    found: list[tuple[str, Arg, bool]] = []
    for option, value in pairs:
        if option not in _MOUNTS or not value.known:
            continue
        if option == "--mount":
            fields = dict(field.partition("=")[::2] for field in value.split(","))
            host = fields.get("source") or fields.get("src") or ""
            inside = fields.get("target") or fields.get("destination") or fields.get("dst") or ""
            fixed = "readonly" in fields or "ro" in fields
        else:
            host, inside, flags, *_ = (*value.split(":"), "", "", "")
            fixed = "ro" in flags.split(",")
        if host and inside[:1] == "/" and not _NO_HOST.match(host):
            found.append((posixpath.normpath(inside), arg(host), fixed))
    yield from found
    workdir = next((value for option, value in pairs if option in ("-w", "--workdir")), None)
    for inside, host, fixed in found:
        if workdir is not None and (workdir == inside or workdir.startswith(inside.rstrip("/") + "/")):
            yield "", arg(posixpath.join(host, posixpath.relpath(workdir, inside))), fixed


OF_ITS_OWN = "container of its own"
"""How the setting of a command in a new container is called, which is thrown away."""
_KEPT = frozenset({"--volumes-from", "--privileged", "--device", "--pid", "--cgroupns", "--security-opt", "--cap-add"})


def thrown_away(invocation: Invocation) -> bool:
    """Whether `docker run` starts a container that has nothing but its image and folders of this machine."""
    words = iter(pairwise((*invocation.args, arg(""))))
    for word, after in words:
        option, equals, value = word.partition("=")
        if option in _KEPT:
            return False
        if option in _MOUNTS:
            source = value if equals else after
            fields = dict(field.partition("=")[::2] for field in source.split(",")) if option == "--mount" else {}
            host = (fields.get("source") or fields.get("src") or "") if fields else source.partition(":")[0]
            if not after.known or not word.known or (host and _NO_HOST.match(host)):
                return False
    return True


def linking(invocation: Invocation) -> str:
    """Return `symbolic` or `hard` if it makes links, by an option of `cp` too; empty if it copies."""
    flags = {letter for word in invocation.args if word[:1] == "-" and word[1:2] != "-" for letter in word[1:]}
    if "s" in flags or "--symbolic" in invocation.args or "--symbolic-link" in invocation.args:
        return "symbolic" if invocation.name in ("ln", "cp") else ""
    if invocation.name in ("ln", "link"):
        return "hard"
    return "hard" if invocation.name == "cp" and ("l" in flags or "--link" in invocation.args) else ""


def folder_of(invocation: Invocation) -> Arg:
    """Return the folder into which an archive is unpacked."""
    for word, after in pairwise(invocation.args):
        if word in ("-C", "--directory", "-d", "-D"):
            return after
    return arg(".")


_REMOTE = re.compile(r"[a-z][a-z0-9+.-]*://|[\w.-]+@[\w.-]+:|[\w.-]{2,}:(?!\\)")
"""Beginnings of places on another machine: an address, or a host with a colon."""
_VERBS = frozenset({"s3", "cp", "sync", "mv", "storage", "rsync", "compute", "scp", "copy", "copyto", "get", "mirror"})
COPIERS = frozenset({"scp", "rsync", "sftp", "rclone", "s3cmd", "mc", "aws", "gsutil", "gcloud"})
"""Programs that copy from one machine to another, either way."""
_COPIER_VALUES = frozenset({"-i", "-P", "-p", "-F", "-o", "-e", "-l", "-J", "-c", "-f", "--profile", "--region", "--include", "--exclude", "--rsh", "--port"})  # fmt: skip
_CLONERS = {"git": ("clone",), "hg": ("clone",), "svn": ("checkout", "co", "export"), "gh": ("clone",)}
CLONE_VALUES = frozenset({"-b", "--branch", "--depth", "-o", "--origin", "-c", "--config", "-C", "--filter", "-j", "--reference", "--template", "-r", "--revision"})  # fmt: skip
"""Options of a clone whose value is the next word."""
_RECURSIVE = re.compile(r"-(?=[a-zA-Z]*?[rm])[a-zA-Z]++\Z|--(?:recursive|mirror|page-requisites)\Z")


FETCHERS = frozenset({*_CLONERS, "wget", *COPIERS})
"""Programs that may fetch files from another machine into a folder."""


def fetched(invocation: Invocation) -> Arg | None:
    """Return the folder into which a program fetches files from another machine; None if it fetches no folder."""
    name = invocation.name
    if name in _CLONERS:
        named = invocation.operands(CLONE_VALUES)
        at = next((index for index, word in enumerate(named[:3]) if word in _CLONERS[name]), None)
        if at is None or len(named) < at + 2 or (name != "gh" and not _REMOTE.match(named[at + 1])):
            return None
        if len(named) > at + 2:
            return named[at + 2]
        return arg(posixpath.basename(named[at + 1].rstrip("/")).removesuffix(".git") or ".")
    if name == "wget":
        if not any(_RECURSIVE.match(word) for word in invocation.args):
            return None
        return next(
            (after for word, after in pairwise(invocation.args) if word in ("-P", "--directory-prefix")), arg(".")
        )
    if name not in COPIERS:
        return None
    named = invocation.operands(_COPIER_VALUES)
    while named and named[0] in _VERBS:
        named = named[1:]
    if len(named) < 2 or _REMOTE.match(named[-1]) or not any(_REMOTE.match(word) for word in named[:-1]):
        return None
    return named[-1]


def patches(invocation: Invocation, source: Iterable[Invocation]) -> bool:
    """Whether it changes files as a text says that comes from another machine."""
    changes = invocation.name == "patch" or (
        invocation.name == "git"
        and not {"apply", "am"}.isdisjoint(invocation.args[:4])
        and "--check" not in invocation.args
    )
    return changes and any(one.name in ("curl", "wget") or any(map(_REMOTE.match, one.args)) for one in source)
