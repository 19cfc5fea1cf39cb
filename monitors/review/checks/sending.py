"""Data sent to other machines: the environment, stores of credentials, dumps, and the output of earlier commands."""

import re
from collections.abc import Iterator
from itertools import pairwise

from monitors.review.checks.carried import (
    ACCOUNTS,
    AWAY,
    CLIENTS,
    TAKEN_WHOLE,
    asks_strangers,
    dumps,
    packs_repository,
    shows_secret,
    stays,
    tells_all,
)
from monitors.review.checks.secrets import INSTEAD, SENDERS, project_secret, secret_at, sent_environment
from monitors.review.programs.coreutils import has
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, sent_secret
from monitors.review.scene.places import Place
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Invocation
from monitors.review.shell.secret_names import collects, hosts_in

_SERVERS = frozenset({"serve", "http-server", "live-server", "miniserve", "darkhttpd", "webfsd", "browser-sync"})
"""Programs that serve a directory to any client."""
_COPIERS = frozenset({"tar", "zip", "7z", "rsync", "scp", "rclone", "cp", "bsdtar"})
_GIT_WHOLE = frozenset({"archive", "bundle", "fast-export", "-p", "--patch"})
"""Words by which git prints all of a repository, or its history with what was in the files."""
_PACKERS = frozenset({"tar", "zip", "cpio", "rsync", "7z", "bsdtar", "dd"})
_RAW = frozenset({"nc", "ncat", "netcat", "socat"})
_CLIPBOARD = frozenset({"xclip", "xsel", "pbpaste", "wl-paste", "termux-clipboard-get"})
"""Programs that print what a person copied last, which often is a password."""
_WHOLE = frozenset({"cat", "tar", "zip", "base64", "gzip", "head", "xxd", "od", "openssl", "gpg"})
"""Programs that hand on a whole file."""
_PICKS = frozenset({"grep", "egrep", "rg", "sed", "awk", "jq", "cut"})
"""Programs that take something out of many lines."""
_ONE_VALUE = _PICKS - {"grep", "egrep", "rg"}
"""Of these, the ones that take a value out of its line."""
_SECRET_TREES = frozenset({"/", "/etc", "/root", "/home", "/Users", "/var/lib"})
_SECRET_DIRECTORY = re.compile(
    r"(?:~|/root|/home/[^/]+|/Users/[^/]+)/\.(?:aws|kube|docker|azure|config|config/gcloud|config/gh)\Z"
)
_STORES = ("credentials", "config", "config.json", "hosts.yml", "gh/hosts.yml", "x")
"""Files by which a directory of credentials is known to be one."""


def check(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Look at what the invocation sends away, packs or serves."""
    if invocation.name in SENDERS or invocation.name == "ssh" or "s_client" in invocation.args[:1]:
        yield from _fed(scene, invocation)
        for redirect in invocation.redirects:
            yield project_secret(scene, invocation, redirect.target, levels.HARM) if redirect.reads else None
    searches = invocation.name in _SEARCHERS and (
        invocation.name not in ("grep", "egrep") or has(invocation, "-r", "-R", "--recursive")
    )
    if invocation.name in _COPIERS or searches:
        yield from _whole_stores(scene, invocation)
    if invocation.name == "git" and "add" in invocation.args[:5] and has(invocation, "-f", "--force"):
        for word in invocation.args:
            yield project_secret(scene, invocation, word, levels.HARM)
    if invocation.name in _SYNCS:
        yield _sent_whole(scene, invocation)
    if invocation.name in _SERVERS or (
        invocation.name in ("rclone", "caddy", "npx", "bunx") and _SERVES & {*invocation.args[:2]}
    ):
        for word in invocation.args:
            if scene.places.of(word, invocation.cwd) is Place.TOP:
                yield sent_secret(f"shows all of {word} to whoever asks", "Serve the one directory that is meant.")
    yield _serves_home(scene, invocation)
    if invocation.name in _SYNCS or invocation.name in AWAY or invocation.name == "ssh":
        yield _to_guests(invocation)
    if invocation.name in CLIENTS:
        yield from _of_people(invocation)


_SEARCHERS = frozenset({"rg", "ag", "ack", "grep", "egrep"})
_SERVES = frozenset({"serve", "http-server", "file-server"})
_SERVING = {
    **dict.fromkeys(("python", "python2", "python3"), ("http.server", "SimpleHTTPServer")),
    "php": ("-S",), "twist": ("web",), "twistd": ("web",), "ruby": ("httpd",), "busybox": ("httpd",),
    **dict.fromkeys(("serve", "http-server", "live-server", "miniserve", "darkhttpd", "webfsd"), ("",)),
    **dict.fromkeys(("npx", "bunx", "caddy", "rclone"), ("serve", "http-server", "file-server")),
}  # fmt: skip
"""Programs that serve the directory in which they are started, with the words by which they do; `""` for always."""
_NAMES_FOLDER = re.compile(r"-d|--directory|-t|--root|-r|--path")


def _serves_home(scene: Scene, invocation: Invocation) -> Finding | None:
    """Return the finding for a whole home that is served, since the server is started in it and is given no other."""
    words = _SERVING.get(invocation.name)
    if words is None or not (words == ("",) or any(word in words for word in invocation.args)):
        return None
    here = invocation.cwd or scene.places.cwd
    others = [word for word in invocation.args if word[:1] != "-" and ("/" in word or scene.facts.kind(scene.path(word, invocation)) == "directory")]  # fmt: skip
    if others or any(map(_NAMES_FOLDER.fullmatch, invocation.args)) or scene.places.place(here) is not Place.TOP:
        return None
    if any(map(_TO_LOOPBACK.search, invocation.args)):
        return None
    return sent_secret(f"shows all of {here} to whoever asks", "Serve the one directory that is meant.")


_TO_LOOPBACK = re.compile(r"(?:\A|[=/:])(?:127\.0\.0\.1|localhost|\[?::1\]?)(?:\Z|:)")
_GUEST = re.compile(r"(?:\A|://)(?:guest|anonymous|anon|ftp|upload|incoming|public|nobody)(?::[^@/\s]{0,40})?@(?!localhost\b|127\.)[\w.-]{1,200}", re.IGNORECASE)  # fmt: skip
"""A login that all have, at another machine."""


def _to_guests(invocation: Invocation) -> Finding | None:
    """Return the finding for files that go to where all may log in and take them."""
    named = [word for word in invocation.args if word[:1] != "-"]
    sends = invocation.name in _SYNCS or invocation.input.given or any(map(_UPLOADS.match, invocation.args))
    to = named[-1:] if invocation.name in _SYNCS else named
    guest = any(before in ("-u", "--user") and _AS_GUEST.match(after) for before, after in pairwise(invocation.args))
    if not sends or has(invocation, "-n", "--dry-run") or not (guest or any(map(_GUEST.search, to))):
        return None
    return sent_secret("sends files to where all may log in and take them", "Send them to a person's own login.")


_AS_GUEST = re.compile(r"(?:anonymous|guest|anon)(?:[,:]|\Z)")
_UPLOADS = re.compile(r"-[a-zA-Z]{0,4}T|--upload-file|(?:.{0,400}[;\s])?(?:put|mput|mirror -R)\b")
PERSONAL = re.compile(r"\b(?:ssn|social_?security\w{0,10}|dob|date_?of_?birth|birth_?date|iban|passport\w{0,10}|diagnos[ie]s|medical\w{0,20}|salar(?:y|ies)|tax_?id|card_?number|health\w{0,20})\b", re.IGNORECASE)  # fmt: skip
"""Fields of what only the person and a few others may know."""
_REACHES = re.compile(
    r"\b(?:e?mail|phone|address|(?:first_?|last_?|full_?)?name|birthday|zip|postcode)\b", re.IGNORECASE
)
_PEOPLE = re.compile(
    r"(?:\A|[/_.-])(?:customers?|clients?|patients?|employees?|users?|members?|payroll|subscribers?|kyc|pii|crm|contacts)(?=[/_.-]|\Z)[\w./-]{0,80}\.(?:csv|json|jsonl|ndjson|tsv|xlsx?|parquet|sql|db|sqlite)(?:\.gz)?\Z",
    re.IGNORECASE,
)
"""A file that by its name has data of people."""


def _of_people(invocation: Invocation) -> Iterator[Finding]:
    """Yield the finding for data of people that goes to a machine of others."""
    if not asks_strangers(invocation):
        return
    hosts = hosts_in(invocation.args)
    for source in invocation.input.source:
        files = any(_PEOPLE.search(word) and _FOR_TRIAL.search(word) is None for word in source.args)
        text = " ".join(source.args)[:MAX_TEXT]
        whole = source.name == "jq" and not TAKEN_WHOLE.isdisjoint(source.args)
        if (files and (whole or _REACHES.search(text) or any(map(collects, hosts)))) or (
            PERSONAL.search(text)
            and source.name in _PICKS | {"psql", "mysql", "sqlite3", "mongosh", "csvcut", "mlr", "xsv"}
        ):
            yield sent_secret(f"sends data of people to another machine: `{source.text()}`", "Keep it here.")
            return
    named = [
        word
        for word in invocation.args
        if (_PEOPLE.search(word) and word[:1] == "@") or ("=@" in word and _PEOPLE.search(word))
    ]
    if any(_FOR_TRIAL.search(word) is None for word in named) and any(map(collects, hosts)):
        yield sent_secret(f"sends data of people to another machine: {named[0]}", "Keep it here.")


MAX_TEXT = 4_000
"""Most characters of a command that are searched for names of fields."""
_FOR_TRIAL = re.compile(r"(?:\A|[/_.-])(?:tests?|fixtures?|sample|example|fake|mock|synthetic|anonymi[sz]ed|demo)(?:[/_.-]|\Z)", re.IGNORECASE)  # fmt: skip
_SYNCS = frozenset({"rsync", "scp", "rclone", "aws", "gsutil", "gcloud", "azcopy", "s3cmd", "s5cmd"})
PROGRAMS = SENDERS | _COPIERS | _SEARCHERS | _SYNCS | _SERVERS | AWAY | _SERVING.keys() | {"ssh", "git"}
"""Programs that send, pack, search or serve files; another one may be told to by `s_client`."""
_THERE = re.compile(r"(?:s3|gs|https)://|(?:[\w.-]{1,80}@)?([\w.-]{1,200}):(?!//)|rsync://([^/:]{1,200})")
_STRANGER = re.compile(
    r"(?:[\w.-]{1,80}@)?(?!10\.|127\.|0\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)\d{1,3}(?:\.\d{1,3}){3}(?::\S*)?\Z"
)
"""A machine of the internet that has no name."""


def _sent_whole(scene: Scene, invocation: Invocation) -> Finding | None:
    """Return the finding for a whole home that is copied to another machine, or the workspace to a nameless one."""
    named = [word for word in invocation.args if word[:1] != "-"]
    if len(named) < 2 or not _THERE.match(named[-1]) or has(invocation, "-n", "--dry-run"):
        return None
    here = [scene.path(word, invocation) for word in named[:-1] if word.known and not _THERE.match(word)]
    homes = [path for path in here if scene.places.place(path) is Place.TOP]
    if homes or (scene.places.workspace in here and _STRANGER.match(named[-1])):
        return sent_secret(
            f"copies all of {(homes or here)[0]}, with the secrets in it, to another machine",
            "Send the files that are needed, by name.",
        )
    return None


_ENGINES = frozenset({"docker", "podman", "nerdctl", "skopeo", "ctr"})
_IMAGES = frozenset({"save", "export"})


def _fed(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Return the findings for data that comes from commands: by a pipe, or as part of a word."""
    sources = dict.fromkeys((*invocation.input.source, *(one for word in invocation.args for one in word.source)))
    picked = any(source.name in _PICKS for source in sources)
    one_value = picked and any(source.name in _ONE_VALUE for source in sources)
    for source in sources:
        if tells_all(source) and not one_value:
            yield sent_environment()
        if invocation.name in AWAY:
            yield from _given_away(scene, invocation, source)
        if (
            invocation.name == "ssh"
            and source.name in _PACKERS
            and _takes_workspace(scene, source)
            and any(map(_STRANGER.match, invocation.args[:12]))
        ):
            yield sent_secret("sends all of the workspace to a nameless machine", "Push to the remote that it has.")
        image = source.name in _ENGINES and not _IMAGES.isdisjoint(source.args[:2])
        if image and invocation.name in AWAY and not stays(invocation):
            yield sent_secret("sends an image, with all that is in it, to another machine", "Push it to its registry.")
        if packs_repository(source) and invocation.name in AWAY and not stays(invocation):
            yield sent_secret(
                "sends all that this repository holds to another machine", "Push to the remote that it has."
            )
        whole = [word for word in source.args if source.name in _PACKERS and _holds_secrets(scene, source, word)]
        if whole:
            yield sent_secret(
                f"sends all of {whole[0]}, with the secrets in it, to another machine",
                "Send the files that are needed, by name.",
            )
        for word in source.args:
            yield project_secret(scene, source, word, levels.HARM) if source.name in _WHOLE and not picked else None


def _given_away(scene: Scene, invocation: Invocation, source: Invocation) -> Iterator[Finding]:
    """Return the findings for a source whose output no other machine may get."""
    what = f"another machine: `{source.text()}`"
    if source.name in _CLIPBOARD and source in invocation.input.source:
        yield sent_secret(f"sends what a person copied to {what}", "Ask the person for what is needed.")
    if source.name in _WHOLE and ACCOUNTS.intersection(source.args):
        yield sent_secret(f"sends the accounts of this machine to {what}", "Send the one line that is needed.")
    if dumps(source):
        yield sent_secret(f"sends a copy of all that a store holds to {what}", "Keep the copy here.")
    if source in invocation.input.source and shows_secret(scene, source):
        yield sent_secret(f"sends what shows a secret to {what}", INSTEAD)
    packed = invocation.name in _RAW and invocation.args and source.name in _PACKERS
    packed = packed or (invocation.name in CLIENTS and source.name in _PACKERS and _takes_workspace(scene, source))
    packed = packed or (
        invocation.name in CLIENTS | _RAW and source.name == "git" and not _GIT_WHOLE.isdisjoint(source.args[:4])
    )
    if packed and not stays(invocation):
        yield sent_secret(f"sends whole directories to {what}", "Send the files that are needed, by name.")


def _takes_workspace(scene: Scene, packer: Invocation) -> bool:
    """Whether the packer takes all of the workspace, with what git ignores in it, such as `.env`."""
    top = scene.places.workspace or scene.places.cwd
    taken = [scene.path(word, packer) for word in packer.args if word[:1] not in ("-", "")]
    return any(path == top or top.startswith(path.rstrip("/") + "/") for path in taken)


def _holds_secrets(scene: Scene, invocation: Invocation, word: str) -> bool:
    path = scene.places.absolute(word, invocation.cwd)
    return path in _SECRET_TREES or path in ("~", scene.places.home) or _SECRET_DIRECTORY.match(path) is not None


def _whole_stores(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Directories of credentials that are packed or copied as a whole."""
    for word in invocation.args:
        if word[:1] == "-":
            continue
        path = scene.mounted(word, invocation, reads=True) or scene.path(word, invocation)
        if "/." in path and scene.places.secret(f"{path}/x"):
            yield secret_at(scene, invocation, f"{word.rstrip('/')}/x")
        if _SECRET_DIRECTORY.match(path):
            within = (secret_at(scene, invocation, f"{word.rstrip('/')}/{name}") for name in _STORES)
            yield next((found for found in within if found), None)
