"""Data sent to other machines: the environment, stores of credentials, dumps, and the output of earlier commands."""

import re
from collections.abc import Iterator

from monitors.review.checks.secrets import INSTEAD, SENDERS, project_secret, secret_at
from monitors.review.programs.coreutils import has
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.scene.places import Place
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Invocation

_SERVERS = frozenset({"serve", "http-server", "live-server", "miniserve", "darkhttpd", "webfsd", "browser-sync"})
"""Programs that serve a directory to any client."""
_COPIERS = frozenset({"tar", "zip", "7z", "rsync", "scp", "rclone", "cp", "bsdtar"})
_PACKERS = frozenset({"tar", "zip", "cpio", "rsync", "7z", "bsdtar", "dd"})
_RAW = frozenset({"nc", "ncat", "netcat", "socat"})
_AWAY = frozenset({*_RAW, "curl", "wget", "mail", "mailx", "sendmail"})
"""Programs that send to a named destination; a store of one's own is another matter."""
_ENVIRONMENT = frozenset({"env", "printenv", "export", "set", "declare", "compgen", "history"})
_DUMPS = frozenset({"pg_dump", "pg_dumpall", "mysqldump", "mariadb-dump", "mongodump", "mongoexport"})
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
_NAMES_SECRET = re.compile(r"\$\{?\w*(?:TOKEN|SECRET|PASSW|API_?KEY|CREDENTIAL)", re.IGNORECASE)


def check(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Look at what the invocation sends away, packs or serves."""
    if invocation.name in SENDERS or invocation.name == "ssh" or "s_client" in invocation.args[:1]:
        yield from _fed(scene, invocation)
        for redirect in invocation.redirects:
            yield project_secret(scene, invocation, redirect.target, levels.HARM) if redirect.reads else None
    if invocation.name in ("curl", "wget", "http", "https", "xh"):
        yield _variable_sent(invocation)
    searches = invocation.name in ("rg", "ag", "ack") or (
        invocation.name in ("grep", "egrep") and has(invocation, "-r", "-R", "--recursive")
    )
    if invocation.name in _COPIERS or searches:
        yield from _whole_stores(scene, invocation)
    if invocation.name in _SERVERS:
        for word in invocation.args:
            if scene.places.of(word, invocation.cwd) is Place.TOP:
                yield _sent(f"shows all of {word} to whoever asks", "Serve the one directory that is meant.")


_BODIES = re.compile(r"-d\b|-d|--data(?:-[a-z]+)?(?:=|\Z)|-F|--form|--post-data|--json")
_LOCAL = re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)[:/]")


def _variable_sent(invocation: Invocation) -> Finding | None:
    """Return the finding for a variable that is named as a secret, in an address or a body.

    In a header it is how one logs in.
    """
    before = ""
    local = any(_LOCAL.match(word) for word in invocation.args)
    for word in invocation.args:
        sent = "://" in word or _BODIES.match(before) or _BODIES.match(word)
        if sent and not local and not word.known and _NAMES_SECRET.search(word):
            return _sent(f"sends a variable that is named as a secret to another machine: {word[:120]}")
        before = word
    return None


def _sent(why: str, instead: str = INSTEAD) -> Finding:
    return Finding("secrets.send", levels.HARM, why, instead, effect=effect("network_send", why))


def _fed(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Return the findings for data that comes from commands: by a pipe, or as part of a word."""
    sources = dict.fromkeys((*invocation.input.source, *(one for word in invocation.args for one in word.source)))
    picked = any(source.name in _PICKS for source in sources)
    one_value = picked and any(source.name in _ONE_VALUE for source in sources)
    for source in sources:
        if _prints_environment(source) and not one_value:
            yield _sent(
                "sends the whole environment, with what secrets are in it, to another machine",
                "Send the one value that is needed.",
            )
        if invocation.name in _AWAY:
            yield from _given_away(scene, invocation, source)
        whole = [word for word in source.args if source.name in _PACKERS and _holds_secrets(scene, source, word)]
        if whole:
            yield _sent(
                f"sends all of {whole[0]}, with the secrets in it, to another machine",
                "Send the files that are needed, by name.",
            )
        for word in source.args:
            yield project_secret(scene, source, word, levels.HARM) if source.name in _WHOLE and not picked else None


def _given_away(scene: Scene, invocation: Invocation, source: Invocation) -> Iterator[Finding]:
    """Return the findings for a source whose output no other machine may get."""
    what = f"another machine: `{source.text()}`"
    if source.name in _DUMPS:
        yield _sent(f"sends a copy of a database to {what}", "Keep the copy here.")
    if source in invocation.input.source and _shows_secret(scene, source):
        yield _sent(f"sends what shows a secret to {what}")
    told = any(_NAMES_SECRET.search(word) for word in source.args if not word.known)
    told = told or (source.name == "printenv" and any(_NAMES_SECRET.search(f"${word}") for word in source.args))
    if told and not any(_LOCAL.match(word) or word in _OWN for word in invocation.args):
        yield _sent(f"sends a secret to {what}")
    packed = invocation.name in _RAW and invocation.args and source.name in _PACKERS
    if packed and not _OWN.intersection(invocation.args):
        yield _sent(f"sends whole directories to {what}", "Send the files that are needed, by name.")


_OWN = frozenset({"localhost", "127.0.0.1", "::1"})


def _prints_environment(source: Invocation) -> bool:
    named = [word for word in source.args if word[:1] != "-"]
    return source.name in _ENVIRONMENT and not named and (source.name != "export" or "-p" in source.args)


def _shows_secret(scene: Scene, source: Invocation) -> bool:
    rules = scene.book.matching(source, scene.book.operands(source))
    return any(rule.name == "secrets.show" for rule in rules)


def _holds_secrets(scene: Scene, invocation: Invocation, word: str) -> bool:
    path = scene.places.absolute(word, invocation.cwd)
    return path in _SECRET_TREES or path in ("~", scene.places.home) or _SECRET_DIRECTORY.match(path) is not None


def _whole_stores(scene: Scene, invocation: Invocation) -> Iterator[Finding | None]:
    """Directories of credentials that are packed or copied as a whole."""
    for word in invocation.args:
        if word[:1] != "-" and _SECRET_DIRECTORY.match(scene.path(word, invocation)):
            within = (secret_at(scene, invocation, f"{word.rstrip('/')}/{name}") for name in _STORES)
            yield next((found for found in within if found), None)
