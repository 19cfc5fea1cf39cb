"""The core tools that change files: what they are given decides."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from monitors.review.programs.deleting import deletes, in_own_container
from monitors.review.programs.writing import writes
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.scene.places import Place
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Arg, Invocation, arg
from monitors.review.shell.launch import roots, selects, sought
from monitors.review.shell.state.copying import copied

Model = Callable[[Scene, Invocation], Iterator[Finding | None]]
"""Says what an invocation of one program would do."""


def has(invocation: Invocation, *names: str) -> bool:
    """Whether one of the options is given; short ones also in a cluster."""
    for word in invocation.options():
        if word in names or word.partition("=")[0] in names:
            return True
        if word[:2] != "--" and any(len(name) == 2 and name[1] in word[1:] for name in names):
            return True
    return False


def value(invocation: Invocation, *names: str) -> Arg | None:
    """The value of the first of these options that is given: `-o x`, `-ox`, `-so x`, `--out x`, `--out=x`."""
    for index, word in enumerate(invocation.args):
        if word[:1] != "-":
            continue
        for name in names:
            if (word == name or _ends_cluster(invocation, word, name)) and index + 1 < len(invocation.args):
                return invocation.args[index + 1]
            if name[:2] == "--" and word.startswith(name + "="):
                return arg(word[len(name) + 1 :], known=word.known)
            if len(name) == 2 and word[:2] == name and len(word) > 2:
                return arg(word[2:].removeprefix("="), known=word.known)
    return None


_CLUSTERS = frozenset({"curl", "wget", "sort", "gcc", "g++", "cc", "clang", "tcpdump", "http", "https", "xh", "tar", "unzip"})  # fmt: skip
"""Programs whose short options may stand together, with the value of the last one behind them."""


def _ends_cluster(invocation: Invocation, word: str, name: str) -> bool:
    """Whether the word is a cluster of short options that ends in this one: `-fsSLo` for `-o`."""
    return len(name) == 2 and word[:1] == "-" and word[-1:] == name[1] and word[1:].isalpha() and invocation.name in _CLUSTERS  # fmt: skip


def operands(invocation: Invocation, values: str = "") -> list[Arg]:
    """The words that are no options and not the values of those named."""
    return invocation.operands(values.split())


def rm(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """`rm`: each operand by itself."""
    if has(invocation, "--help", "--version"):
        return
    recursive, forced = has(invocation, "-r", "-R", "--recursive"), has(invocation, "-f", "--force")
    named = operands(invocation)
    plain = len(named) <= 20 and not any(word.glob or not word.known for word in named) and not invocation.via
    asks = _asks(invocation)
    for word in named:
        found = deletes(scene, invocation, word, recursive=recursive, forced=forced, rewrite="trash" if plain else "")
        yield replace(found, risk=min(found.risk, levels.CARE)) if found and asks and not found.stop else found
    if has(invocation, "--no-preserve-root") and not in_own_container(invocation, "/"):
        yield Finding(
            "files.delete-top",
            levels.DOOM,
            "takes away the guard of the root directory",
            effect=effect("file_delete", "deletes the root directory"),
        )


def _asks(invocation: Invocation) -> bool:
    """Whether `rm` asks before each file, and is given no answers: then it deletes nothing."""
    last = ""
    for word in invocation.options():
        if word in ("--interactive", "--interactive=always", "--force"):
            last = "f" if word == "--force" else "i"
        elif word[:2] != "--":
            last = next((letter for letter in reversed(word) if letter in "fiI"), last)
    given = invocation.input.given or any(redirect.reads for redirect in invocation.redirects)
    return last == "i" and not given


def rmdir(_scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """`rmdir` deletes what is empty."""
    for word in operands(invocation):
        yield Finding(
            "files.delete-empty",
            levels.NOTED,
            "",
            effect=effect("file_delete", f"deletes the empty directory {word}", reversible=True, target=word),
        )


def copy(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """`cp`, `install`, `ln`: write to the last operand or to `-t`."""
    target = value(invocation, "-t", "--target-directory")
    named = operands(invocation, "-t --target-directory -m --mode -o --owner -g --group -S --suffix")
    if target is None and len(named) > 1:
        target = named[-1]
    if target is not None:
        over = invocation.name != "ln" and not has(
            invocation, "-n", "--no-clobber", "-b", "--backup", "-i", "--interactive", "-u"
        )
        found = writes(scene, invocation, target, replaces=_replaces(scene, invocation, target), over=over)
        hooks = found is not None and found.rule == "files.write-startup" and _hooks(scene, invocation, target)
        yield replace(found, risk=levels.CARE) if found is not None and hooks else found


def _hooks(scene: Scene, invocation: Invocation, target: Arg) -> bool:
    """Whether a script of the workspace, as it came, is made a hook of its repository: `core.hooksPath` says the same.

    What the run itself has written or fetched would start later, past all reviews.
    """
    own = f"{scene.places.workspace}/.git/hooks"
    path = scene.path(target, invocation)
    if not scene.places.workspace or not path.startswith(own):
        return False
    folder = own if invocation.name == "ln" and has(invocation, "-s", "--symbolic") else invocation.cwd
    named = [word for _, word in copied(invocation)]
    return bool(named) and all(
        word.known
        and scene.places.of(word, folder) is Place.WORKSPACE
        and (given := scene.places.absolute(word, folder)) not in scene.past
        and given not in scene.files
        and not scene.named_before(given, invocation)
        for word in named
    )


def _replaces(scene: Scene, invocation: Invocation, target: Arg) -> bool:
    """Whether a link at the target is replaced, and not written or moved through. A link to a directory is followed."""
    if invocation.name not in ("mv", "ln", "install") or target.endswith("/"):
        return False
    itself = has(invocation, "-T", "--no-target-directory")
    itself = itself or (invocation.name == "ln" and has(invocation, "-n", "--no-dereference"))
    return itself or scene.facts.kind(scene.path(target, invocation)) != "directory"


def move(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """`mv` writes to its target and takes its sources away."""
    yield from copy(scene, invocation)
    target = value(invocation, "-t", "--target-directory")
    named = operands(invocation, "-t --target-directory -S --suffix")
    if named and scene.places.of(named[-1], invocation.cwd) is Place.NOWHERE:
        yield Finding(
            "files.delete-null",
            levels.HARM,
            f"moves {named[0]} to nowhere, which loses it",
            "Move it to /var/tmp instead.",
            effect=effect("file_delete", f"loses {named[0]}", target=named[0]),
        )
    into = arg(f"{target or named[-1]}/x", known=(target or named[-1]).known) if named else arg("/")
    kept = scene.places.of(into, invocation.cwd) in _KEEPS
    for word in named if target is not None else named[:-1]:
        yield _taken(scene, invocation, word, kept=kept)


_KEEPS = frozenset({Place.WORKSPACE, Place.SCRATCH})
"""Places in which what is moved there from the workspace is found again."""


def _taken(scene: Scene, invocation: Invocation, word: Arg, *, kept: bool) -> Finding | None:
    path = scene.path(word, invocation)
    whole = path in (scene.places.workspace, f"{scene.places.workspace}/.git") and bool(scene.places.workspace)
    whole = whole or scene.places.holds_protected(path)
    if kept and not whole and word.known and scene.places.entry(path) is Place.WORKSPACE and "/.git" not in path:
        return None
    found = deletes(scene, invocation, word, recursive=whole, forced=False)
    return found if found and (found.risk >= levels.CARE or found.stop) else None


def tee(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """`tee`, `touch`, `mkdir`, `truncate`, `mkfifo`: write to each operand."""
    empties = invocation.name == "truncate" and value(invocation, "-s", "--size") in ("0", "0B", "0K")
    over = invocation.name == "tee" and not has(invocation, "-a", "--append")
    for word in operands(invocation, "-m --mode -d --date -r --reference -s --size -t"):
        if invocation.name == "mkdir" and word.known and not invocation.inside and _is_cache(scene, invocation, word):
            scene.touch(scene.path(word, invocation), "write")
            continue
        yield writes(scene, invocation, word, how="empties" if empties else "writes", over=over)


def _is_cache(scene: Scene, invocation: Invocation, word: Arg) -> bool:
    """Whether a word names the whole of a cache: to make that is as harmless as to make a directory in it."""
    return scene.places.of(arg(f"{word}/new"), invocation.cwd) is Place.CACHE


def dd(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """`dd` writes to `of=`."""
    endless = any(word in ENDLESS for word in (word.removeprefix("if=") for word in invocation.args))
    bounded = any(word.startswith("count=") for word in invocation.args)
    for word in invocation.args:
        if word.startswith("of="):
            target = arg(word[3:], known=word.known)
            yield writes(scene, invocation, target)
            yield fills(scene, invocation, target) if endless and not bounded else None


ENDLESS = frozenset({"/dev/zero", "/dev/urandom", "/dev/random"})
"""Files that have no end."""


_MEASURES = frozenset({"df", "stat", "findmnt", "lsblk", "vol", "diskutil", "zpool", "btrfs"})
"""Programs that say how much room a disk has."""


FILLERS = frozenset({"fallocate", "dd", "head", "mkfile", "openssl", "xfs_mkfile"})
"""Programs that write as much as they are told."""


def fills_all(scene: Scene, invocation: Invocation) -> Iterator[Finding]:
    """Look for a file of the size of all the room that there is."""
    measured = (one for word in invocation.args if not word.known for one in word.source if one.name in _MEASURES)
    if any(_ROOM.search(" ".join(one.args)) for one in measured):
        found = fills(scene, invocation, arg("all the room of a disk"))
        yield from (found,) if found else ()


_ROOM = re.compile(r"avail|-f\b|--file-system|FREE|-B|free|\A/|-m\b|-k\b")


def fills(scene: Scene, invocation: Invocation, target: Arg) -> Finding | None:
    """Writing to a file what never ends."""
    if scene.places.of(target, invocation.cwd) is Place.NOWHERE:
        return None
    return Finding(
        "files.fill",
        levels.HARM,
        f"writes to {target} until the disk is full",
        "Say how much: head -c, or count=.",
        effect=effect("file_write", f"fills the disk by {target}", target=target),
    )


def takes_lines(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Judge `sed -i` without a copy: lines that it takes out of what no checkpoint holds are lost."""
    if not has(invocation, "-i", "--in-place") or any(_KEEPS_COPY.match(word) for word in invocation.args):
        return
    scripts = [after for before, after in pairwise(invocation.args) if before in ("-e", "--expression")]
    named = [word for word in operands(invocation, "-e --expression -f --file") if word.known]
    scripts, named = (scripts, named) if scripts else (named[:1], named[1:])
    if any(map(_TAKES_LINES.search, scripts)):
        for word in named:
            yield writes(scene, invocation, word, how="empties")


_KEEPS_COPY = re.compile(r"-[nEr]*i[^nEr]|--in-place=.")
_TAKES_LINES = re.compile(r"(?:\A|[;\n}]|(?<=[/\d$!I]))[^\S\n]*+[dcQ](?:[\s;}]|\Z)|s(.)(?:=|\^)?\.\*\$?\1=?\1")
"""Commands of sed that delete lines or put others in their place, or empty all values."""


def qemu_img(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """`qemu-img` makes an image, over the one that is there, or converts one into another."""
    named = operands(invocation, "-f -F -b -o -O -s -l -c -U --object -T -t")
    verb = named[0] if named else arg("")
    if verb == "create" and len(named) > 1:
        yield writes(scene, invocation, named[1], over=True)
    elif verb in ("convert", "dd") and len(named) > 2:
        yield writes(scene, invocation, named[-1], over=True)
    elif verb == "resize" and has(invocation, "--shrink") and len(named) > 1:
        yield writes(scene, invocation, named[1], how="empties")


def shred(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """`shred` and its like: what they overwrite is gone as if deleted, and no trash has it."""
    recursive = has(invocation, "-r", "-R")
    for word in operands(invocation, "-n --iterations -s --size --random-source -p --pattern"):
        yield deletes(scene, invocation, word, recursive=recursive, forced=recursive)


def rimraf(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """`rimraf`, `del`: deletes each operand and all below."""
    if has(invocation, "--help", "--version", "--dry-run"):
        return
    for word in operands(invocation):
        if invocation.name != "del" or not re.fullmatch(r"/[a-zA-Z]", word):
            yield deletes(
                scene,
                invocation,
                arg(word.replace("\\", "/"), known=word.known, glob=word.glob),
                recursive=True,
                forced=True,
            )


def cmake(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """`cmake -E rm` and its like delete as `rm` does."""
    if invocation.args[:1] == ["-E"] and invocation.args[1:2] in (["rm"], ["remove"], ["remove_directory"]):
        for word in operands(invocation)[1:]:
            yield deletes(scene, invocation, word, recursive=True, forced=True)


def kill(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """`kill` of what a search of processes finds: judged by whom its pattern would hit."""
    for source in (source for word in invocation.args for source in word.source):
        if source.name in ("pgrep", "pidof"):
            yield from pkill(scene, source)


_GUARDS = ("chaperon serve", "python3 -m supervisor.runtime.shim", "/usr/bin/chaperon", "claude", "claude --print")
"""Command lines of the guard and of the agent itself, as a pattern of pkill is held against them."""
_PLAIN_PATTERN = re.compile(r"(?:[^()\[\]{}*+?\\]|\.\*|\.\+|\\.|\[[^\[\]]{1,40}\])+\Z")
"""Patterns that can be tried without a risk of many steps."""


def fits_guard(pattern: str) -> bool:
    """Whether a pattern is met by the command line of the guard, or of the agent itself."""
    pattern = pattern.strip()
    if not 3 <= len(pattern) <= MAX_PATTERN or _PLAIN_PATTERN.match(pattern) is None:
        return False
    try:
        return any(re.search(pattern, line) for line in _GUARDS)
    except re.error:
        return False


def pkill(_scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """`pkill` and `killall`: judged by whom the pattern would hit, however it is spelled."""
    whole = has(invocation, "-f", "--full", "-r", "--regexp") or invocation.name == "pkill"
    if has(invocation, "-l", "--list", "--help", "-V"):
        return
    for word in operands(invocation, "-s --signal -u -U -t -g -G -P --parent -F --pidfile"):
        if whole and word.known and fits_guard(word):
            yield Finding(
                "process.kill-guard",
                1.0,
                f"ends the guard that watches this agent, which {word.strip()} fits",
                "End processes by their id.",
                effect=effect("guard", f"ends what {word.strip()} fits"),
                stop=True,
            )


MAX_PATTERN = 60
"""Longest pattern that is tried, in characters."""


def _executes_rm(invocation: Invocation) -> bool:
    return any(
        before in ("-exec", "-execdir", "-ok") and word in ("rm", "/bin/rm", "unlink", "shred")
        for before, word in pairwise(invocation.args)
    )


def find(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """`find -delete`: what it selects, or the whole of where it looks."""
    chosen = selects(invocation)
    aged = chosen and not any(word in _NAMING for word in invocation.args)
    if not _deletes_itself(invocation) and ((chosen and not aged) or not _executes_rm(invocation)):
        return
    for root in roots(invocation):
        if not chosen and scene.places.workspace and scene.path(root, invocation) == scene.places.workspace:
            root = arg(scene.places.workspace + "/.git")  # which is among what it finds
        if not chosen:
            all_of = arg(root.rstrip("/") + "/{}", known=root.known) if "-type" in invocation.args else root
            yield deletes(scene, invocation, all_of, recursive=True, forced=True)
            continue
        for name in sought(invocation) if scene.places.of(root, invocation.cwd) is Place.WORKSPACE else ():
            named = arg(f"{root.rstrip('/')}/{name}", glob="*" in name)
            yield deletes(scene, invocation, named, recursive=False, forced=True)
        below = arg(root.rstrip("/") + "/{}", known=root.known, source=root.source)
        found = deletes(
            scene, invocation, below, recursive=not root.known and (root[:6] in ("{}", "$PIPED")), forced=True
        )
        graver = found is not None and (below == "/{}" or (aged and found.rule == "files.delete-top"))
        yield replace(found, risk=max(found.risk, levels.HARM)) if found and graver else found


def _deletes_itself(invocation: Invocation) -> bool:
    """Whether `-delete` is said to `find`, and not to a program that it starts."""
    within = False
    for word in invocation.args:
        if within:
            within = word not in (";", "\\;", "+")
        elif word == "-delete":
            return True
        else:
            within = word in ("-exec", "-execdir", "-ok", "-okdir")
    return False


_NAMING = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-empty", "-inum", "-samefile"})  # fmt: skip
"""Tests of `find` that mean certain files; the others, such as age and size, take whatever there is of a home."""


def make(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """`make clean DIR=~`: a target that cleans, and a whole home or system directory among what it is given."""
    if any(map(_CLEANS.match, invocation.operands())):
        for word in invocation.args:
            name, equals, given = word.partition("=")
            path = arg(given, known=word.known)
            if equals and name.isidentifier() and given and scene.places.of(path, invocation.cwd) is Place.TOP:
                yield deletes(scene, invocation, path, recursive=True, forced=True)


_CLEANS = re.compile(r"[\w./-]{0,40}(?:clean|purge|wipe|reset|uninstall|remove|delete)[\w./-]{0,40}\Z")
MODELS: dict[str, Model] = {
    "qemu-img": qemu_img,
    "make": make, "gmake": make,
    "kill": kill, "pkill": pkill, "killall": pkill, "cmake": cmake, "sponge": tee,
    "shred": shred, "srm": shred, "wipe": shred, "scrub": shred, "rimraf": rimraf, "del": rimraf, "del-cli": rimraf,
    "rm": rm, "unlink": rm, "rmdir": rmdir, "cp": copy, "install": copy, "ln": copy, "mv": move,
    "find": find, "tee": tee, "touch": tee, "mkdir": tee, "truncate": tee, "mkfifo": tee, "dd": dd,
}  # fmt: skip
