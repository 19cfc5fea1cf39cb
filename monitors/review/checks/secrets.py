"""Secrets named anywhere among a command's words, in its code, or in the list of files that it is handed."""

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice, pairwise

from monitors.review.languages.project.builds import is_source
from monitors.review.programs.coreutils import value
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect, sent_secret
from monitors.review.scene.agent_definitions import words_with
from monitors.review.scene.places import Place
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Arg, Invocation, arg
from monitors.review.shell.launch import listed, roots

MAX_PATHS = 40
"""Most paths looked for in one word."""
_PATH = re.compile(r"(?:^|[=:@,'\"({\[<>\s])(~?/[^\s'\",;:)}<>]+|~/?[^\s'\",;:)<>]*|\.{1,2}/[^\s'\",;:)<>]+)")
MAX_WORD = 16_384
"""Most characters of one word that are searched for paths; code is gone through by what reads its language."""
_MARKS = (
    *[
        "shadow",
        "sudoers",
        ".ssh",
        ".aws",
        "netrc",
        "pgpass",
        ".gnupg",
        "credential",
        ".docker",
        ".kube",
        "gcloud",
        ".azure",
        "token",
        "hosts.yml",
        "rclone",
        "password",
        "environ",
        "/proc/",
        "cookies",
        ".db",
        "logins",
        "mylogin",
        "wallet",
        "keychain",
        "secrets",
        "passwd",
        "_key",
        "ssl/private",
        "keytab",
        ".npmrc",
        ".pypirc",
        ".my.cnf",
        ".boto",
        ".s3cfg",
        ".mozilla",
        ".config",
        ".bitcoin",
        ".ethereum",
        "/root",
        "/mem",
        "core",
        "kmem",
        "/sss/",
        "samba",
        "networkmanager",
        "wireguard",
        "ipsec",
        ".claude",
        "_history",
        "library/",
    ],
    "login data",
)
"""Words of which every secret path has one, in lower case; only then is the path worked out. They are looked for one by
one: an expression of all of them takes 200 ns a character."""
_ONLY_NAMES = frozenset({"ls", "dir", "stat", "test", "[", "[[", "find", "echo", "printf", "chmod", "chown", "chgrp", "dirname", "basename", "realpath", "readlink", "which", "du", "mkdir", "rm", "touch", "tree", "namei", "git", "cd", "locate", "getfacl", "setfacl", "lsattr", "restorecon", "tee", "truncate", "ssh-keygen", "ssh-add", "ssh", "sftp", "sudoedit", "visudo", "seq", "shred", "unlink", "pushd", "mosh", "autossh", "chattr", "systemctl", "passwd", ":", "true"})  # fmt: skip
"""Programs to which a path is a name: they show or change the name, not the content. ssh uses keys and does not show
them."""
_LISTED = frozenset({"cpio", "pax", "xargs", "tar", "rsync", "zip", "vim", "parallel", "tee-in"})
"""Programs that take names of files from their input."""
SENDERS = frozenset({"curl", "wget", "nc", "ncat", "netcat", "socat", "scp", "rsync", "ftp", "sftp", "http", "https", "xh", "telnet", "mail", "mailx", "sendmail", "rclone", "aws", "gsutil", "gh", "tftp", "smbclient", "lftp", "hping3", "dig", "nslookup", "croc", "wormhole", "gist", "pastebinit"})  # fmt: skip
"""Programs that send what they are given to another machine."""
_SHOWERS: Mapping[str, float] = {
    **dict.fromkeys(
        ("cat", "less", "more", "head", "tail", "bat", "strings", "base64", "xxd", "nl", "tac"), levels.CARE
    ),
    **dict.fromkeys(("source", ".", "grep"), levels.NOTED),
}
"""Programs that show a file, with the risk if it is a project's secret. The last ones read it as input, or show a
line of it."""
TAKEN_FOR_READ = frozenset({*_SHOWERS, "sed", "egrep", "fgrep", "rg"})
"""Programs with whose file the CLI takes in the words for agents of its folder, as with one of Read: cat, head, tail,
nl, sed, grep, egrep, fgrep and rg (measured, 2.1.329). The others are near."""

INSTEAD = "Ask the person for what is needed; secrets do not belong in a conversation."
"""The alternative to reading a secret."""


def named_variable(name: str) -> str:
    """Return how a reason names a variable that goes to another machine and whose name says that it is a secret."""
    return f"a variable that is named as a secret to another machine: ${name}"


def sent_environment(details: str = "") -> Finding:
    """Return the finding for all of the environment that goes to another machine."""
    why = "sends the whole environment, with what secrets are in it, to another machine"
    return sent_secret(why, "Send the one value that is needed.", details=details)


def marked(text: str) -> bool:
    """Whether a secret path may stand in a text."""
    text = text.lower()
    for mark in _MARKS:  # noqa: SIM110 — a loop, for this is asked of most words of a command
        if mark in text:
            return True
    return False


@lru_cache(maxsize=64)
def _holds_secrets(folder: str) -> bool:
    """Whether secrets may lie in a directory; remembered, for most commands work in the same one."""
    return marked(folder)


def check(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Look for secrets among the words and the input."""
    if "/" in invocation.program and marked(invocation.program[:MAX_WORD]):
        yield secret_at(scene, invocation, invocation.program)
    if scene.listing and not scene.reads_only(invocation) and invocation.name not in _ONLY_NAMES:
        named = dict.fromkeys(scene.path(word, invocation) for word in _as_files(invocation) if not is_source(word))
        yield from (secret_in(scene, invocation, scene.files[path]) for path in named if path in scene.listing)
    if invocation.name not in _ONLY_NAMES:
        yield from _among_words(scene, invocation)
    if invocation.name in _TARS:
        yield from _packed_there(scene, invocation)
    if invocation.name not in _ONLY_NAMES or invocation.name == "find":
        yield from _among_found(scene, invocation)
    if invocation.name in _LISTED and invocation.input.text and marked(invocation.input.text):
        yield secret_in(scene, invocation, invocation.input.text)
    if invocation.input.text and marked(invocation.input.text[:MAX_WORD]) and _is_fed(scene, invocation):
        yield secret_in(scene, invocation, invocation.input.text)
    if invocation.name == "ssh" and (settings := value(invocation, "-F")) is not None:
        yield secret_in(scene, invocation, settings)
    if invocation.name == "git" and (message := value(invocation, "-F", "--file")) is not None:
        yield secret_in(scene, invocation, message)
    if invocation.name in _SEEKERS:
        yield from _sought(scene, invocation)
    if invocation.name == "git" and _GIT_SHOWS.intersection(invocation.args[:4]):
        for word in invocation.args:
            yield secret_in(scene, invocation, word)


def _as_files(invocation: Invocation) -> Iterator[Arg]:
    """The words, and what stands in them behind the mark of a file: `@list`, `-Tlist`, `--files-from=list`."""
    for word in invocation.args[:200]:
        yield word
        rest = word[1:] if word[:1] == "@" else word.partition("=")[2] if word[:2] == "--" else word[2:] if word[:1] == "-" else ""  # fmt: skip
        if rest:
            yield arg(rest, known=word.known)


def _among_words(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Secrets that the words name, send or show."""
    sends = invocation.name in SENDERS
    among_secrets = _holds_secrets(invocation.cwd)
    before = ""
    for word in invocation.args:
        first, is_path = word[:1], "/" in word
        if invocation.mounts and (first == "/" or scene.mounted(word, invocation, reads=True)):
            yield secret_at(scene, invocation, word)
        if first in "/~" and " " in word and marked(word[:MAX_WORD]):
            yield secret_at(scene, invocation, word)
        if among_secrets and not is_path:
            yield secret_at(scene, invocation, word)
        elif (is_path or first in "~.") and marked(word[:MAX_WORD]):
            yield secret_in(scene, invocation, word)
        if word.glob and is_path:
            yield _among_globbed(scene, invocation, word)
        used, before = before in _USES_KEY, word
        if sends and not used and word != "-" and not word.startswith(("http://", "https://")):
            named = word.lstrip("@").rpartition("=@")[2].rpartition("@")[2]
            yield project_secret(scene, invocation, named, levels.HARM)
    if invocation.name in ("grep", "egrep", "rg") and _SEEKS_KEYS.search(" ".join(invocation.args[:4])):
        wide = [word for word in invocation.args if scene.places.of(word, invocation.cwd) is Place.TOP]
        if wide:
            yield Finding(
                "secrets.sought",
                levels.HARM,
                f"looks through all of {wide[0]} for keys",
                INSTEAD,
                effect=effect("secret_read", f"looks for keys in {wide[0]}", target=wide[0]),
            )
    risk = _SHOWERS.get(invocation.name)
    if risk is not None:
        for word in invocation.args:
            yield project_secret(scene, invocation, word, risk)
    if invocation.name in TAKEN_FOR_READ and not invocation.inside:
        elsewhere = (invocation.cwd or scene.places.cwd) != scene.places.workspace
        for word in invocation.args:
            if word[:1] != "-" and ("/" in word or elsewhere):  # those at the top came as the CLI started
                yield from secret_words(scene, scene.places.absolute(word, invocation.cwd))


_USES_KEY = frozenset({"--cacert", "--cert", "--key", "-E", "--capath", "--ca-certificate", "--certificate", "--private-key", "--proxy-cacert", "--proxy-cert", "--proxy-key", "-i"})  # fmt: skip
"""Options by which a program logs in with a key or checks by a certificate; it does not send them."""
_SEEKS_KEYS = re.compile(r"PRIVATE KEY|AKIA|ghp_|sk-|xox[bp]|secret|token|passw|api.?key", re.IGNORECASE)


_TARS = frozenset({"tar", "bsdtar", "gtar"})


def _packed_there(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Yield the secrets that a packer takes from a directory to which an option has it go: `tar c -C ~ .ssh`."""
    folder, before = "", ""
    for word in invocation.args:
        if before in ("-C", "--directory") or word.startswith("--directory="):
            folder = word.removeprefix("--directory=")
        elif folder and word[:1] != "-" and marked(f"/{word}"):
            yield secret_at(scene, invocation, f"{folder.rstrip('/')}/{word}")
        before = word


def _among_globbed(scene: Scene, invocation: Invocation, word: str) -> Finding | None:
    """Return the finding for a secret that a glob reaches, in whatever way it is spelled."""
    pattern = scene.places.absolute(word, invocation.cwd)
    home = scene.places.home or "~"
    for path in (*_GLOBBED, *(f"{top}/{name}" for top in (home, "/root") for name in _GLOBBED_AT_HOME)):
        if path.count("/") == pattern.count("/") and fnmatchcase(path, pattern):
            return secret_at(scene, invocation, path)
    return None


_GLOBBED = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh/ssh_host_rsa_key")
_GLOBBED_AT_HOME = (".ssh/id_rsa", ".ssh/id_ed25519", ".aws/credentials", ".netrc", ".git-credentials", ".pgpass")
"""One path for each kind of secret that a glob is likely to be meant for."""


def _among_found(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Yield secrets among what a search found: for `find ~/.ssh -exec cat {} +`, and `find ~/.ssh | xargs cat`."""
    for word in invocation.args[:200]:
        if "/{}" in word:
            yield secret_at(scene, invocation, word.replace("{}", "*"))
        if not word.known:
            for place in listed(word.source):
                yield secret_at(scene, invocation, place.replace("{}", "*"))
        for search in word.source:
            yield from _named_secrets(scene, invocation, search)
    if invocation.name == "find":
        started = (program for option, program in pairwise(invocation.args) if option in _STARTS)
        run = next(started, "").rpartition("/")[2]
        if run and run not in _ONLY_NAMES:
            yield from _named_secrets(scene, invocation, invocation)


_STARTS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
"""Options by which `find` starts a program."""


_NAMED_BY = frozenset({"-name", "-iname"})
_WHOLE_PATH_BY = frozenset({"-path", "-ipath", "-wholename", "-iwholename"})
"""Tests by which `find` looks for a name, and for a path from where it begins."""


def _named_secrets(scene: Scene, invocation: Invocation, search: Invocation) -> Iterator[Finding | None]:
    """Yield the secrets of a home directory that a `find` looks for by their names."""
    if search.name != "find":
        return
    home = scene.places.home or "~"
    for option, pattern in pairwise(search.args):
        if option not in _NAMED_BY | _WHOLE_PATH_BY or not pattern.strip("*./"):
            continue
        fits = pattern.lower() if option[:2] == "-i" else str(pattern)
        for path in (f"{home}/{name}" for name in _GLOBBED_AT_HOME):
            below = any(
                scene.places.of(root, search.cwd) is Place.TOP or path.startswith(f"{scene.path(root, search)}/")
                for root in roots(search)
            )
            if below and fnmatchcase(path.rpartition("/")[2] if option in _NAMED_BY else path, fits):
                yield secret_at(scene, invocation, path)


def _is_fed(scene: Scene, invocation: Invocation) -> bool:
    program = scene.book.programs.get(invocation.name)
    return (program is not None and program.fed) or invocation.name in ("sftp", "ftp", "lftp", "tftp")


def secret_in(scene: Scene, invocation: Invocation, text: str) -> Finding | None:
    """The first secret path in a text."""
    for match in islice(_PATH.finditer(text[:MAX_WORD]), MAX_PATHS):
        found = secret_at(scene, invocation, match[1])
        if found:
            return found
    return secret_at(scene, invocation, text) if "/" in text and " " not in text and text[:1] not in "/~-" else None


def secret_at(scene: Scene, invocation: Invocation, path: str) -> Finding | None:
    """Return the finding for reading the path, if it is a secret."""
    shared = scene.mounted(arg(path), invocation, reads=True) if invocation.mounts else ""
    if invocation.inside.startswith("container") and not shared:
        return None
    absolute = shared or scene.places.absolute(path, invocation.cwd)
    what = scene.places.secret(absolute) or scene.places.secret(scene.facts.real(absolute))
    if not what:
        return None
    scene.touch(absolute, "read")
    return Finding(
        "secrets.read",
        levels.HARM,
        f"reads {what}: {path}",
        INSTEAD,
        effect=effect("secret_read", f"reads {what} in {path}", target=path),
        elevated=invocation.elevated,
    )


def secret_words(scene: Scene, path: str) -> Iterator[Finding]:
    """Yield findings for secrets that the CLI would give its model with a file that a tool reads or writes."""
    yield from secret_links(scene, words_with(scene, path))


def secret_links(scene: Scene, links: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """Yield findings for those among these links that lead to secrets, each given with its target."""
    for words, target in links:
        if what := scene.places.secret(target):
            yield Finding(
                "secrets.read",
                levels.HARM,
                f"has the CLI read {what} with it, for {words} is a link to that",
                "Leave that folder alone, and tell a person of the link.",
                effect=effect("secret_read", f"reads {what} by {words}", target=target),
            )


def project_secret(scene: Scene, invocation: Invocation, word: str, risk: float) -> Finding | None:
    """Return the finding for showing or sending what looks like a project's own secrets."""
    if word[:1] == "-" or not scene.places.project_secret(word) or invocation.inside:
        return None
    what = "sends" if risk >= levels.HARM else "shows"
    return Finding(
        "secrets.project",
        risk,
        f"{what} what looks like secrets of the project: {word}",
        "Name the one value that is needed.",
        effect=effect("secret_read", f"{what} {word}", target=word),
    )


_KEY_FILES = re.compile(r"id_(?:rsa|ed25519|ecdsa|dsa)\b|\.(?:pem|key|kdbx|p12|pfx)\b|credentials|\.env\b|\.netrc")
_FINDS = frozenset({"find", "fd", "fdfind", "locate", "mlocate", "plocate"})
_SEEKERS = frozenset({*_FINDS, *_SHOWERS, *SENDERS})
"""Programs that search for files, or that show or send what a search in their words found."""


def _sought(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Yield findings for keys that are searched for everywhere, and shown or sent when found."""
    shown = invocation.name in _SHOWERS or invocation.name in SENDERS
    searches = [source for word in invocation.args for source in word.source if source.name in _FINDS] if shown else []
    if invocation.name in _FINDS and {"-exec", "-execdir", "-x", "-X"}.intersection(invocation.args):
        searches = [invocation]
    for search in searches:
        if not any(_KEY_FILES.search(word) for word in search.args):
            continue
        if search.name.endswith("locate") or any(
            scene.places.of(word, search.cwd) is Place.TOP for word in search.args
        ):
            yield Finding(
                "secrets.sought",
                levels.HARM,
                f"looks for keys everywhere: `{search.text()}`",
                INSTEAD,
                effect=effect("secret_read", "looks for keys everywhere"),
            )


def guard(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Reaching for chaperon's own files, however they are named."""
    for word in invocation.args:
        if "/" not in word and word[:1] not in "~.":
            continue
        for path in {
            scene.path(word, invocation),
            *(
                scene.places.absolute(match[1], invocation.cwd)
                for match in islice(_PATH.finditer(word[:MAX_WORD]), MAX_PATHS)
            ),
        }:
            if _is_guard(scene, invocation, path):
                yield Finding(
                    "chaperon.self-protection",
                    1.0,
                    f"reaches for the guard that watches this agent: {word[:200]}",
                    "Leave chaperon's files alone; ask a person.",
                    effect=effect("guard", f"touches {word[:200]}", target=word[:200]),
                    stop=True,
                )


_GIT_SHOWS = frozenset({"diff", "grep", "hash-object", "--no-index"})
"""Subcommands by which git shows files that it does not keep."""
_FILLS = frozenset({"rsync", "tar", "bsdtar", "unzip", "7z", "bsdcpio", "cpio", "unrar"})
"""Programs that put whatever they have into a directory."""
_GIT_CHANGES = frozenset({"checkout", "restore", "rm", "mv", "clean", "stash", "reset", "update-index"})
"""Subcommands by which git changes or takes away the files that it is given."""
_READS_SETTINGS = frozenset(
    {
        "ls",
        "stat",
        "cat",
        "head",
        "tail",
        "less",
        "grep",
        "rg",
        "jq",
        "test",
        "[",
        "wc",
        "diff",
        "file",
        "find",
        "git",
        "echo",
        "printf",
        "cd",
        "which",
    }
)


def _is_guard(scene: Scene, invocation: Invocation, path: str) -> bool:
    changes = invocation.name == "git" and not _GIT_CHANGES.isdisjoint(invocation.args[:6])
    if (changes or invocation.name in _FILLS) and path.endswith("/.claude") and scene.places.holds_protected(path):
        return True
    if not scene.places.guards(path):
        return False
    own = scene.places.is_own(path)
    if changes:
        return True
    return invocation.name not in (("ls", "stat", "test", "[", "echo", "printf") if own else _READS_SETTINGS)
