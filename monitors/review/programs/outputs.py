"""Programs that write where an option says, and programs that are handed the name of what starts by itself."""

import posixpath
import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from monitors.review.programs.coreutils import MODELS, has, operands, value
from monitors.review.programs.writing import writes
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.scene.places import Place
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Arg, Invocation, arg

_SHORT = {
    "curl": ("-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar", "--trace", "--trace-ascii", "--stderr"),
    **dict.fromkeys(("http", "https", "xh", "axel", "fetch"), ("-o", "--output", "--download-to")),
    **dict.fromkeys(("pip", "pip3"), ("--target", "-t", "--prefix", "--root", "-d", "--dest")),
    "wget": ("-O", "--output-document", "-o", "--output-file", "-a"),
    "sort": ("-o", "--output"), "tree": ("-o",), "shuf": ("-o", "--output"), "iconv": ("-o", "--output"),
    "gcc": ("-o",), "g++": ("-o",), "cc": ("-o",), "c++": ("-o",), "clang": ("-o",), "clang++": ("-o",), "ld": ("-o",), "as": ("-o",), "rustc": ("-o",), "ghc": ("-o",),
    "patch": ("-d", "--directory", "-o", "--output"), "unsquashfs": ("-d", "-dest"), "cabextract": ("-d",), "unar": ("-o",), "innoextract": ("-d",), "gem": ("-i", "--install-dir"),
    "tcpdump": ("-w",), "tshark": ("-w",), "dumpcap": ("-w",), "nmap": ("-oN", "-oX", "-oG", "-oA", "-oS"), "strace": ("-o",), "ltrace": ("-o",),
    "gpg": ("-o", "--output"), "gpg2": ("-o", "--output"), "openssl": ("-out", "-keyout", "-CAserial"), "ssh-keygen": ("-f",), "age": ("-o", "--output"),
    "pandoc": ("-o", "--output"), "dot": ("-o",), "script": ("-O",), "tsc": ("--outFile", "--outDir"), "mypy": ("--junit-xml", "--html-report"), "xxd": (),
    **dict.fromkeys(("pg_dump", "pg_dumpall"), ("-f", "--file")), **dict.fromkeys(("mysqldump", "mariadb-dump"), ("-r", "--result-file")),
    "coredumpctl": ("-o", "--output"), "adb": ("-f",),
    "mongodump": ("-o", "--out", "--archive"), "mongoexport": ("-o", "--out"), "gtester": ("-o",), "aria2c": ("-o", "--out"), "yt-dlp": ("-o", "--output"), "unzip": ("-d",), "tar": ("-C", "--directory"), "bsdtar": ("-C", "--directory"), "7z": (), "git": ("--output",), "iptables-save": ("-f",), "date": (),
    "find": ("-fprint", "-fprintf", "-fprint0", "-fls"), "sqlite3": (), "screencapture": (), "gs": ("-o",), "convert": (), "msgfmt": ("-o",), "time": ("-o", "--output"), "logrotate": ("-s", "--state"), "split": (),
    "xmllint": ("-o", "--output"), "jq": (), "nc": (), "bison": ("-o",), "flex": ("-o",), "protoc": ("--python_out", "--go_out"), "sox": (), "restic": ("--target",), "cpio": ("-D",), "objcopy": (), "mkisofs": ("-o",), "genisoimage": ("-o",), "xorriso": ("-outdev",),
}  # fmt: skip
"""Options by which programs name a file to write. Programs not listed are looked at for `--output` and its like."""
_LONG = (
    "--output",
    "--out",
    "--outfile",
    "--outFile",
    "--output-file",
    "--output-document",
    "--out-file",
    "--logfile",
    "--log-file",
    "--report-file",
    "--filename",
    "--outdir",
    "--output-dir",
)
_LAST = frozenset(
    {
        "convert",
        "ffmpeg",
        "scp",
        "rsync",
        "qpdf",
        "sox",
        "lame",
        "pdftk",
        "objcopy",
        "magick",
        "lwp-download",
        "gifsicle",
        "rclone",
        "csplit-",
        "sftp-get",
    }
)
"""Programs that write to their last operand."""
_WRITERS = frozenset({*_SHORT, *_LAST, "docker", "podman", "uniq", "nmap", "socat", "sed", "gsed", "awk", "gawk", "mawk"})  # fmt: skip
"""Programs that write files by their words; of others long options alone are looked at."""
_PACKS = frozenset({"gzip", "bzip2", "xz", "lzma", "compress", "pigz", "pbzip2", "lzop", "gunzip", "bunzip2", "unxz", "uncompress"})  # fmt: skip
"""Programs that put another file in the place of each one that they are given."""
_KEEPS_PLAIN = re.compile(r"-[a-zA-Z0-9]*[ckltVh]|--(?:stdout|to-stdout|keep|list|test|help|version)\Z")
_PUNCHES = re.compile(r"-[pzci]|--(?:punch-hole|zero-range|collapse-range|insert-range|dig-holes)\Z")
IN_PLACE = re.compile(r"-(?:[nrEsuzlpawF0]*i|-in-place)(?:\.\S*|=\S*|[\"']{2})?\Z")
"""The option by which `sed` and its like change files in place."""
_SED_WRITES = re.compile(r"(?:^|[;{}0-9$/]|[/|#][gpiIM0-9]*)\s*[wW]\s+([^\s;}'\"]+)")
"""`w FILE` in a script of sed."""
MAX_PATHS = 40
"""Most paths looked for in one word."""
_PATH = re.compile(r"(?:^|[=:@,'\"(<>\s])(~?/[^\s'\",;:)<>]+|~/[^\s'\",;:)<>]*)")
_KEEPS = frozenset({"chmod", "chown", "systemctl", "visudo", "ssh-keygen", "ssh", "sftp", "git", "source", ".", "cd", "service", "grep", "man", "id", "groups", "echo", "printf", "nginx", "apachectl", "sudo", "env", "find", "test", "[", "ls", "stat", "getent", "sshd", "cpp", "docker", "podman", "update-rc.d", "run-parts", "gpasswd", "tar", "zip", "rsync", "scp", "awk", "gawk", "mawk", "sed", "perl", "python", "python3", "ruby", "xargs", "nice", "nohup", "time", "crontab", "bash", "sh", "zsh", "dash", "vi", "vim", "nano", "emacs", "ed", "ex", "gedit", "view", "code", "less", "cp", "mv", "mount", "sudoedit", "timeout", "watch", "strace", "su", "exec", "command", "rm", "gpg"})  # fmt: skip
"""Programs that only name such files, or that have a model of their own."""
_EDITORS = frozenset(
    {"vi", "vim", "nvim", "nano", "emacs", "ed", "ex", "gedit", "sudoedit", "pico", "joe", "micro", "code", "vipw"}
)


def check(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Look for files that the invocation writes by an option, or in place."""
    name = invocation.name
    for word in _written(invocation):
        if word not in ("-", ""):
            yield writes(scene, invocation, word)
    if name in ("sed", "gsed", "perl", "ruby", "yq", "rename") and any(
        IN_PLACE.match(word) for word in invocation.args
    ):
        for word in files_in_place(invocation):
            yield writes(scene, invocation, word, how="edits")
    program = scene.book.programs.get(name)
    if program is not None and program.edits and _changes(scene, invocation, program.edits):
        for word in scene.book.operands(invocation):
            if word.known and ("/" in word or word[:1] == "~"):
                yield writes(scene, invocation, word, how="edits")
    for word in _unpacked_to(invocation):
        yield writes(scene, invocation, word)
    if name in _PACKS and not any(_KEEPS_PLAIN.match(word) for word in invocation.args):
        for word in operands(invocation, "-S --suffix -T --threads -b -p"):
            yield writes(scene, invocation, word, how="replaces")
    if name == "fallocate" and any(_PUNCHES.match(word) for word in invocation.args):
        for word in operands(invocation, "-o --offset -l --length"):
            yield writes(scene, invocation, word, how="takes parts out of")
    if name in ("chmod", "chown", "chgrp", "setfacl", "chattr"):
        minus = any(
            _MINUS.fullmatch(word) for word in invocation.args
        )  # a mode that looks like an option: `chmod -x a`
        lists = name == "setfacl"  # whose rights stand behind an option
        named = operands(invocation, _OF_SETFACL if lists else "--reference")
        change = _Change.by(invocation)
        for word in named[0 if minus or lists else 1 :]:
            yield _rights(scene, invocation, word, change)
    if name in _EDITORS:
        told = bool(invocation.input.text) or any(map(_TELLS.match, invocation.args))
        for word in operands(invocation, "-c -S -u"):
            yield _edited(scene, invocation, word, told=told)
    elif name not in _KEEPS and any("/" in word for word in invocation.args) and not scene.reads_only(invocation):
        yield from _handed(scene, invocation)


def _unpacked_to(invocation: Invocation) -> Iterator[Arg]:
    """The folder into which an archive is unpacked, if it is attached to an option, or given to a module of Python."""
    words = invocation.args
    if invocation.name in ("7z", "7za", "7zr", "7zz") and words[:1] in (["x"], ["e"]):
        yield from (arg(word[2:], known=word.known) for word in words if word[:2] == "-o" and len(word) > 2)
    elif words[:1] == ["-m"] and words[1:2] in (["zipfile"], ["tarfile"]) and words[2:3] in (["-e"], ["--extract"]):
        yield from words[4:5]


_OF_SETFACL = "-m -x -M -X --modify --remove --modify-file --remove-file -Rm -Rx -dm -Rdm -dRm --set"


def _changes(scene: Scene, invocation: Invocation, options: str) -> bool:
    """Whether a program is told, by one of these options or by itself, to change the files that it is given."""
    return not scene.reads_only(invocation) and (options == "*" or has(invocation, *options.split()))


def _written(invocation: Invocation) -> Iterator[Arg]:
    long = invocation.has_long()
    if not long and invocation.name not in _WRITERS:
        return
    options = _SHORT.get(invocation.name)
    if options is None:
        options = _LONG if long else ()
    if invocation.name == "ssh-keygen" and any(word[:2] in ("-l", "-y", "-F", "-B", "-L") for word in invocation.args):
        return
    if invocation.name in ("tar", "bsdtar") and not any(map(_EXTRACTS.match, invocation.args)):
        return  # it reads in the folder that it is told
    given = " ".join(word for word in invocation.args if word[:1] == "-") if options else ""
    for option in options if given else ():
        if (option if option[:2] == "--" else option[1]) not in given:
            continue
        word = value(invocation, option)
        if word is not None and not (invocation.name == "wget" and option == "-o" and word.startswith("-")):
            yield word
    if invocation.name in _LAST and not (invocation.name == "rsync" and has(invocation, "-n", "--dry-run")):
        named = [word for word in operands(invocation, "-i -e -P -c -F -l -J -o -q --exclude --include --rsh") if word]
        if len(named) > (invocation.name != "ffmpeg") and not re.match(r"[\w.@-]+:(?!\\)", named[-1]):
            yield named[-1]
    if invocation.name in ("docker", "podman") and invocation.args[:1] == ["cp"] and ":" not in invocation.args[-1]:
        yield invocation.args[-1]
    if invocation.name == "uniq":
        yield from operands(invocation, "-f -s -w --skip-fields --skip-chars --check-chars")[1:2]
    if invocation.name == "nmap":
        yield from (arg(word.partition("=")[2]) for word in invocation.args if re.match(r"-o[NXGAS]=", word))
    if invocation.name == "socat":
        for word in invocation.args:
            match = re.match(r"(?i)(?:open|create|file|gopen):([^,]+)", word)
            if match and "creat" in word.lower():
                yield arg(match[1])
    if invocation.name in ("sed", "gsed"):
        for word in invocation.args:
            yield from (arg(found) for found in _SED_WRITES.findall(word))
    if invocation.name in ("awk", "gawk", "mawk"):
        for word in invocation.args:
            yield from (arg(found) for found in re.findall(r">>?\s*\"([^\"]+)\"", word))


_EXTRACTS = re.compile(r"-?[a-bd-zA-Z]{0,20}x|--(?:extract|get)\b")
"""How `tar` is told to take out what is in an archive."""


def files_in_place(invocation: Invocation) -> list[Arg]:
    """Return the files that `sed`, `perl` or `ruby` is given to change in place."""
    code = "eE" if invocation.name == "perl" else "e"  # to sed, -E is a kind of pattern
    scripted = any(
        word in ("-f", "--expression", "--file") or re.match(rf"-[a-zA-Z]*[{code}]\Z", word) for word in invocation.args
    )
    takes = " ".join(("-f --expression --file", *(f"-{letter}" for letter in code)))
    named = [word for word in operands(invocation, takes) if word]  # `-i ''` of BSD
    return named if scripted else named[1:]


_LISTS = frozenset(
    {"cat", "cut", "awk", "df", "getent", "ls", "find", "fd", "sed", "mount", "findmnt", "lsblk", "head", "tail"}
)
"""Programs that print many names."""


def _rights_of_listed(word: Arg) -> Finding:
    return Finding(
        "permissions.system",
        levels.HARM,
        f"changes the rights of all there is below what `{word.source[0].text()}` names, which is not known",
        "Write the paths out.",
        effect=effect("file_permission", "changes rights below places that are not known"),
        elevated=True,
    )


class _Change(NamedTuple):
    """The change that a command makes to the rights of each file that it names."""

    recursive: bool
    throughout: bool
    """Whether it is made to all below too, by an option or by a search."""
    extreme: bool
    """Whether it lets everybody, or not even its owner."""
    takes_away: bool

    @classmethod
    def by(cls, invocation: Invocation) -> "_Change":
        """Read it once for all files: where each of 1,900 read all words of the command, a review took 1.4 s."""
        recursive, args = has(invocation, "-R", "--recursive"), invocation.args
        return cls(
            recursive,
            recursive or "find" in invocation.via,
            any(map(_OPENS_OR_SHUTS.fullmatch, args)),
            invocation.name == "chmod" and any(map(_TAKES_AWAY.fullmatch, args)),
        )


def _rights(scene: Scene, invocation: Invocation, word: Arg, change: _Change) -> Finding | None:
    if invocation.inside:
        return None
    throughout = change.throughout
    if not word.known:
        return (
            _rights_of_listed(word)
            if throughout and invocation.elevated and _LISTS & {one.name for one in word.source}
            else None
        )
    path = scene.path(word, invocation)
    place = scene.places.place(path)
    if place is Place.TOP and (throughout or change.extreme):
        return Finding(
            "permissions.system",
            levels.DOOM,
            f"changes the rights of {'all there is below ' if throughout else ''}{word}, a whole home or system directory",
            "Name the one file or directory.",
            effect=effect("file_permission", f"changes rights below {word}", target=word),
            elevated=invocation.elevated,
        )
    scene.touch(path, "write")
    if place is Place.PROTECTED:
        return Finding(
            "chaperon.self-protection",
            1.0,
            f"changes the rights of the guard that watches this agent: {word}",
            "Leave chaperon's files alone; ask a person.",
            effect=effect("guard", f"touches {word}"),
            stop=True,
        )
    if place is Place.HOME and invocation.name == "setfacl" and throughout:
        return Finding(
            "permissions.take-away",
            levels.HARM,
            f"changes who may read and change {word} and all below it",
            "Let a person do it.",
            effect=effect("file_permission", f"changes the rights below {word}", target=word),
            elevated=invocation.elevated,
        )
    if place is Place.HOME and invocation.name in ("chown", "chgrp") and change.recursive:
        owner = invocation.args[next((at for at, one in enumerate(invocation.args) if one[:1] != "-"), 0)]
        if owner.known and owner.partition(":")[0].strip(".") != scene.places.home.rpartition("/")[2]:
            return Finding(
                "permissions.take-away",
                levels.HARM,
                f"gives {word} and all below it to {owner}",
                "Let a person do it.",
                effect=effect("file_permission", f"changes the owner of {word}", target=word),
                elevated=invocation.elevated,
            )
    if change.extreme and _SOCKET.match(path):
        return Finding(
            "permissions.system",
            levels.HARM,
            f"lets everybody use {word}, and with it the rights of the program behind it",
            "Let a person give one account these rights.",
            effect=effect("file_permission", f"opens {word}", target=word),
            elevated=invocation.elevated,
        )
    if change.takes_away and (place is Place.STARTUP or _VITAL.match(path)):
        return Finding(
            "permissions.take-away",
            levels.HARM,
            f"stops {word} from working",
            "Let a person do it.",
            effect=effect("file_permission", f"changes the rights of {word}", target=word),
            elevated=invocation.elevated,
        )
    sensitive = scene.places.secret(path) or (place is Place.STARTUP and invocation.name != "chmod")
    if sensitive and not re.fullmatch(
        r"u?[-=]?r?w?|[ugo]*-r?w?x?|0?[0-6]00|go=|og=|0?640|0?700",
        invocation.args[0] if invocation.args else "",
    ):
        return Finding(
            "permissions.secret",
            levels.HARM,
            f"changes who may read or change {word}",
            "Let a person do it.",
            effect=effect("file_permission", f"changes the rights of {word}", target=word),
            elevated=invocation.elevated,
        )
    return None


_TELLS = re.compile(r"\+|-(?:c|e?sc?|-cmd)\Z")
"""Words by which an editor is given commands."""


def _edited(scene: Scene, invocation: Invocation, word: Arg, *, told: bool) -> Finding | None:
    """Return the finding for an editor that opens the file.

    Without a person it changes little, unless it is told commands.
    """
    found = writes(scene, invocation, word, how="opens for editing")
    if found is None or found.stop or told or found.risk < levels.HARM:
        return found
    if invocation.name == "ed" and scene.places.of(word, invocation.cwd) is Place.STARTUP:
        return found
    startup = re.search(r"/cron|sudoers|authorized_keys|shadow|/passwd", word)
    return Finding(
        found.rule,
        levels.HARM if startup else levels.CARE,
        found.why,
        found.instead,
        effect=found.effect,
        elevated=invocation.elevated,
    )


def _handed(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    for word in invocation.args:
        if "/" not in word or word.startswith(("http://", "https://", "ftp://")):
            continue
        for match in islice(_PATH.finditer(word), MAX_PATHS):
            if scene.places.place(scene.places.absolute(match[1], invocation.cwd)) is Place.STARTUP:
                yield Finding(
                    "files.startup-handed",
                    levels.HARM,
                    f"hands {match[1]}, which starts by itself or says who may log in, to a program that may change it",
                    "Let a person change it.",
                    effect=effect("file_write", f"{invocation.name} may change {match[1]}", target=match[1]),
                    elevated=invocation.elevated,
                )


_OPENS_OR_SHUTS = re.compile(
    r"[024-7]?(?:[0-7]{2}[2367]|0[0-7]{2})|(?:[ug]{0,2}[ao][ugo]{0,2})?[+=]\w{0,2}w\w{0,2}|(?:a|u[go]{0,2})?-[rwx]{1,3}"
)
"""Modes that let everybody write, or keep the owner out."""
_MINUS = re.compile(r"-[rwx]+")
_TAKES_AWAY = re.compile(r"[ugoa]*-[rwx]+|0?000")
_SOCKET = re.compile(
    r"/(?:var/)?run/[\w./-]{1,80}\.sock\Z|/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|dm-|mem|kmem|disk/|mapper/)[\w./-]{0,80}\Z"
)
"""Sockets of programs with the rights of the machine, and its disks."""
_VITAL = re.compile(r"/(?:usr/)?(?:s?bin|lib(?:32|64)?)/|/etc/")


_DOWNLOADERS = frozenset({"curl", "wget", "aria2c", "http", "https", "xh", "axel", "fetch", "lwp-download"})


def _under_own_name(invocation: Invocation) -> bool:
    """Whether a download is written to a file of the address's own name."""
    if invocation.name == "curl":
        return has(invocation, "-O", "--remote-name", "--remote-name-all", "-J", "--remote-header-name")
    return not has(invocation, "-O", "--output-document", "-o", "--out", "--output")


def made(invocation: Invocation) -> Iterator[Arg]:
    """Yield the files that the invocation writes by an option, or under the name of what it downloads."""
    if invocation.name in MODELS and invocation.name != "find":
        return
    yield from (word for word in _written(invocation) if word not in ("-", "", "."))
    if invocation.name == "git" and invocation.args[:2] == ["bundle", "create"]:
        yield from (word for word in operands(invocation)[2:3] if word.known)
    if (
        invocation.name == "git"
        and invocation.args[:1] == ["archive"]
        and (into := value(invocation, "-o")) is not None
    ):
        yield into
    if invocation.name == "gh" and invocation.args[:2] == ["release", "download"]:
        folder = value(invocation, "-D", "--dir") or ""
        for word in filter(None, (value(invocation, "-O", "--output"), value(invocation, "-p", "--pattern"))):
            yield arg(posixpath.join(folder, word), known=word.known and "*" not in word)
    if invocation.name == "aria2c" and (below := value(invocation, "-d", "--dir")) is not None:
        for word in filter(None, (value(invocation, "-o", "--out"),)):
            yield arg(posixpath.join(below, word), known=word.known and below.known)
    if invocation.name in _DOWNLOADERS and _under_own_name(invocation):
        folder = value(invocation, "-P", "--directory-prefix", "--output-dir", "-d", "--dir") or ""
        folder = (
            ""
            if folder.startswith("-") or (invocation.name == "curl" and "--output-dir" not in invocation.args)
            else folder
        )
        for word in invocation.args:
            if "://" in word or (invocation.name != "curl" and word[:1] != "-" and "/" in word and word != folder):
                name = posixpath.basename(word.partition("?")[0].rstrip("/")) or "index.html"
                yield arg(posixpath.join(folder, name), known=word.known)
