"""Secrets on their way to another machine: variables named as secrets, what prints them, and files that have them.

In a header a secret is how one logs in, and in a file of settings as well. In an address, a body, or a name that is
asked of the name service, it leaves.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from monitors.contract.expressions import later
from monitors.contract.origins import below
from monitors.review.checks.secrets import INSTEAD, named_variable
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, sent_secret
from monitors.review.scene.places import Place
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Arg, Invocation, arg
from monitors.review.shell.secret_names import (
    hosts_in,
    is_own_host,
    names_secret,
    secret_variable,
    shown_to_strangers,
)

CLIENTS = frozenset({"curl", "wget", "http", "https", "xh"})
"""Programs that log in by headers and options, and send addresses and bodies."""
MAILERS = frozenset({
    "mail", "mailx", "sendmail", "mutt", "neomutt", "s-nail", "swaks", "msmtp", "ssmtp", "mpack", "sendemail", "himalaya", "thunderbird",
    "telegram-send", "slackcat", "signal-cli", "matrix-commander", "discord-send", "ntfy", "pushover", "apprise",
})  # fmt: skip
"""Programs that write to people, with files of this machine if they are given any."""
AWAY = CLIENTS | MAILERS | {"nc", "ncat", "netcat", "socat", "telnet", "ftp", "tftp", "lftp", "openssl"}
"""Programs that send what they are given to a named destination; a store of one's own is another matter."""
ASKERS = frozenset({"dig", "nslookup", "host", "drill", "delv", "ping", "ping6", "traceroute", "tracepath", "mtr", "whois", "getent", "resolvectl"})  # fmt: skip
"""Programs that ask other machines for a name: the server of the domain reads the name."""
OWN_MACHINES = frozenset({"ssh", "scp", "sftp", "rsync"})
"""Programs that reach machines on which one has a login."""
_LOCAL = re.compile(r"(?:[a-z]+://)?(?:localhost|127\.0\.0\.1|\[?::1\]?|0\.0\.0\.0)(?:[:/]|\Z)")
_BODIES = re.compile(r"-d\b|-d|--data(?:-[a-z]+)?(?:=|\Z)|-F|--form|--post-data|--json")
_FIELD = re.compile(r"[\w.-]{1,60}(?::=|==|=)")
"""A field of a body or of the address, as httpie has it."""
_UPLOADS = re.compile(r"-[a-zA-Z0-9]*T\Z|--upload-file\Z")
_NAMED_FILE = re.compile(r"(?:@|[^=\s]{1,60}=@|-T|--(?:upload|post|body)-file=)(.+)\Z", re.DOTALL)
_KEYS = frozenset({"-y", "-k", "-i", "-e", "-F", "-S"})
"""Options of programs other than HTTP clients whose value is what they log in with, or where that stands."""
_WHOLE = frozenset({"cat", "base64", "gzip", "xxd", "od", "head", "tail", "tac", "zstd", "xz"})
"""Programs that hand on a file."""
_PACKS = frozenset({"tar", "bsdtar", "gtar", "zip", "7z", "7za", "7zz", "cpio", "pax"})
"""Programs that hand on files and whole folders as one."""
_ENVIRONMENT = frozenset({"env", "printenv", "export", "set", "declare", "compgen", "history"})


def check(scene: Scene, invocation: Invocation) -> Iterator[Finding]:
    """Look for one secret that an invocation of one of `PROGRAMS` would carry away."""
    if _begins(invocation, _SAYS.get(invocation.name, ())):
        yield from _said(scene, invocation)
    risk = _risk(invocation)
    if stays(invocation):
        return
    if risk is None:
        uploads = _PUTS.get(invocation.name)
        if uploads is None or (uploads and invocation.args[:1] and invocation.args[0] not in uploads):
            return
        risk = levels.HARM
        what = next((told for path in _files(scene, invocation) for told in _told(scene, scene.within(path))), "")
        what = what or next((told for path in _files(scene, invocation) for told in _kept(scene, path)), "")
        fed = invocation.input.source if "-" in invocation.args else ()
        what = what or next(_told(scene, fed), "")
    else:
        what = next(_carried(scene, invocation), "")
    if what:
        yield sent_secret(f"sends {what}", INSTEAD, risk=risk)


_PUTS = {
    **dict.fromkeys(("rclone", "gsutil", "s3cmd", "s5cmd", "mc", "b2", "azcopy", "croc", "wormhole", "gist", "pastebinit", "smbclient", "swift"), ()),
    "aws": ("s3", "s3api"), "gh": ("gist", "release"), "glab": ("snippet",), "az": ("storage",), "gcloud": ("storage",),
}  # fmt: skip
"""Programs that put files into places that others may read, with the subcommands by which they do."""


_FORGE = (("issue",), ("pr",), ("mr",), ("release",), ("gist",), ("discussion",), ("snippet",))
_SAYS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "git": (("commit",), ("tag",), ("notes",)), **dict.fromkeys(("gh", "glab", "hub"), _FORGE),
    "jira": (("issue",),), "linear": (("issue",),), "acli": (("jira",),),
    **dict.fromkeys(("kubectl", "oc"), (("create", "configmap"), ("create", "cm"), ("annotate",), ("label",))),
}  # fmt: skip
"""Programs that keep or publish what they are told for others to read, with the subcommands by which they do."""


def _said(scene: Scene, invocation: Invocation) -> Iterator[Finding]:
    """Yield the finding for a secret in a text that others are to read: a message, an issue, notes."""
    fed = arg("-", source=invocation.input.source) if "-" in invocation.args else arg("")
    for word in (*invocation.args[1:], fed):
        name = "" if word.known else secret_variable(word)
        what = named_variable(name) if name else next(_told(scene, word.source), "")
        what = what or ("the whole environment" if any(map(tells_all, word.source)) else "")
        if what:
            yield sent_secret(f"has others read {what}", INSTEAD)
            return


PROGRAMS = OWN_MACHINES.union(AWAY, ASKERS, _PUTS, _SAYS)
"""Programs that carry something to another machine."""
ACCOUNTS = frozenset({"/etc/passwd", "/etc/group", "/etc/master.passwd"})


def stays(invocation: Invocation) -> bool:
    """Whether all goes to this machine itself."""
    named = [word for word in invocation.args if "://" in word or _LOCAL.match(word)]
    return bool(named) and all(_LOCAL.match(word) for word in named)


def asks_strangers(invocation: Invocation) -> bool:
    """Whether a client of the web asks a machine that is neither this one nor of one's own network."""
    hosts = hosts_in(invocation.args) if invocation.name in CLIENTS else []
    return bool(hosts) and not all(map(is_own_host, hosts))


def _risk(invocation: Invocation) -> float | None:
    if invocation.name in OWN_MACHINES:
        return levels.CARE
    if invocation.name == "openssl" and "s_client" not in invocation.args[:1]:
        return None
    return levels.HARM if invocation.name in AWAY or invocation.name in ASKERS else None


def _carried(scene: Scene, invocation: Invocation) -> Iterator[str]:
    for word in _leaving(invocation):
        name = "" if word.known else secret_variable(word)
        if name:
            yield named_variable(name)
        yield from _told(scene, word.source)
    yield from _shown(scene, invocation)
    given = invocation.input
    if not given.known and given.text and (name := secret_variable(given.text)):
        yield named_variable(name)
    yield from _told(scene, given.source)
    for path in _files(scene, invocation):
        yield from _told(scene, scene.within(path))
        yield from (f"{one.by} to another machine" for one in scene.origins if one.path == path and one.how == "secret")
        if scene.places.workspace and scene.places.place(path) is Place.HOME:
            yield f"a file of a person to another machine: {scene.places.shown(path)}"
        if path in ACCOUNTS:
            yield "the accounts of this machine to another machine"
        if any(map(packs_repository, scene.within(path))):
            yield "all that this repository holds to another machine"
        yield from (
            f"a copy of all that a store holds to another machine: `{one.text()}`"
            for one in scene.within(path)
            if dumps(one)
        )
        if any(map(tells_all, scene.within(path))):
            yield "the whole environment, with what secrets are in it, to another machine"
        yield from _kept(scene, path, dumps=True)


def _kept(scene: Scene, path: str, *, dumps: bool = False) -> Iterator[str]:
    """Yield what an earlier call has put into a file: a secret, or a copy of a database where that counts."""
    past = scene.past.get(path)
    if past is not None and past.how == "secret" and (dumps or past.by.partition(" ")[0] not in DUMPS):
        yield f"to another machine what `{past.by}` has written to {scene.places.shown(path)} in an earlier call"


def _shown(scene: Scene, invocation: Invocation) -> Iterator[str]:
    """Yield the secrets by which the invocation logs in at a host that did not give them out."""
    hosts = hosts_in(invocation.args) if invocation.name in CLIENTS else []
    for word in invocation.args if hosts else ():
        name = "" if word.known else secret_variable(word)
        if name and shown_to_strangers(name, hosts):
            yield f"{named_variable(name)}, to {hosts[0]}, which has not given it out"
        for source in word.source:
            within = [one for path in source.args for one in scene.within(scene.path(path, source))]
            for one in (source, *within):
                if shows_secret(scene, one) and shown_to_strangers(one.name, hosts):
                    yield f"a secret to {hosts[0]}, which has not given it out: `{one.text()}`"


def _told(scene: Scene, sources: tuple[Invocation, ...]) -> Iterator[str]:
    for source in sources:
        for word in source.args[:50] if scene.past else ():
            yield from _kept(scene, scene.path(word, source), dumps=True)
        if tells(source) or decrypts(source) or _holds(source) or shows_secret(scene, source):
            yield f"a secret to another machine: `{source.text()}`"
        elif scene.places.workspace and (handed := _handed_on(source)):
            there = scene.places.of(arg("x"), source.cwd) is Place.HOME
            for word in handed:
                if word[:1] != "-" and scene.places.project_secret(word):
                    yield f"secrets of the project to another machine: {word}"
                named = "/" in word or word[:1] == "~" or (there and word[:1] != "-")
                if named and scene.places.of(word, source.cwd) is Place.HOME:
                    yield f"a file of a person to another machine: {word}"


def _handed_on(source: Invocation) -> Sequence[Arg]:
    """Return the words that may name files whose whole text a command hands on."""
    if source.name == "jq":
        return [file for option, file in zip(source.args, source.args[2:], strict=False) if option in TAKEN_WHOLE]
    return source.args if source.name in _WHOLE | _PACKS else ()


TAKEN_WHOLE = frozenset({"--rawfile", "--slurpfile", "--argfile"})
"""Options by which `jq` puts a whole file into what it makes, under a name that stands between."""


def shows_secret(scene: Scene, source: Invocation) -> bool:
    """Whether the command is one that prints a secret out of a store of them."""
    rules = scene.book.matching(source, scene.book.operands(source))
    return any(rule.name == "secrets.show" for rule in rules)


_DECRYPTS = {
    "gpg": {"-d", "--decrypt"}, "gpg2": {"-d", "--decrypt"}, "age": {"-d", "--decrypt"}, "rage": {"-d", "--decrypt"},
    "sops": {"-d", "--decrypt", "decrypt"}, "ansible-vault": {"view", "decrypt"}, "openssl": {"-d", "-decrypt"},
    "git-crypt": {"export-key"}, "ejson": {"decrypt"}, "eyaml": {"decrypt"},
}  # fmt: skip
"""Programs that print what was encrypted, with the words by which they do."""


def decrypts(source: Invocation) -> bool:
    """Whether the command prints what was encrypted, so that no other may read it."""
    return not _DECRYPTS.get(source.name, set()).isdisjoint(source.args)


_HOLDS = {
    **dict.fromkeys(("terraform", "tofu", "terragrunt"), (("output",), ("state", "pull"), ("show",))),
    **dict.fromkeys(("docker", "podman", "nerdctl"), (("inspect",), ("container", "inspect"), ("compose", "config"))),
    "helm": (("get", "values"), ("get", "all")),
    "kubectl": (("get", "configmap"), ("get", "cm"), ("describe", "pod")),
    "ansible": (("-m", "setup"),),
    "systemctl": (("show-environment",),),
}
"""Programs that print settings of what runs elsewhere, in which logins stand, with the subcommands by which they do."""


def _holds(source: Invocation) -> bool:
    named = source.args[-1:] if source.args[:1] == ["output"] else []  # one output, whose name says what it is
    if (
        source.name in _HOLDS
        and named
        and named[0].isidentifier()
        and not names_secret(named[0])
        and named != source.args
    ):
        return False
    return _begins(source, _HOLDS.get(source.name, ()))


def _begins(one: Invocation, beginnings: Iterable[tuple[str, ...]]) -> bool:
    """Whether the words of a command that are no options begin in one of these ways."""
    words = tuple(str(word) for word in one.args if word[:1] != "-")
    return any(words[: len(begin)] == begin for begin in beginnings)


DUMPS = frozenset({"pg_dump", "pg_dumpall", "mysqldump", "mariadb-dump", "mongodump", "mongoexport", "mydumper", "bq", "sqlcmd"})  # fmt: skip
"""Programs that print what a database holds."""
_DUMPING = {
    "adb": {"backup"}, "coredumpctl": {"dump"}, "etcdctl": {"snapshot"}, "consul": {"snapshot"}, "redis-cli": {"--rdb"},
    "jcmd": {"GC.heap_dump"}, "influx": {"backup"}, "influxd": {"backup"}, "idevicebackup2": {"backup"},
}  # fmt: skip
"""Programs that copy all that a store, a telephone or a process holds, with the words by which they do."""


def dumps(source: Invocation) -> bool:
    """Whether a command copies all that a database, a telephone or a process holds."""
    return source.name in DUMPS or not _DUMPING.get(source.name, set()).isdisjoint(source.args)


def packs_repository(source: Invocation) -> bool:
    """Whether a command packs what a repository holds, in one file."""
    return source.name == "git" and (source.args[:2] == ["bundle", "create"] or source.args[:1] == ["archive"])


_SEALS = frozenset({"kubeseal", "sops", "gpg", "gpg2", "age", "rage", "openssl", "ansible-vault", "git-crypt", "ejson", "eyaml", "sha256sum", "md5sum", "wc"})  # fmt: skip
"""Programs whose output does not give away what they are given."""


def committed(scene: Scene, invocation: Invocation) -> Iterator[Finding]:
    """Yield the finding for a secret that git is given, by a file into which a command has put it."""
    words = invocation.operands(("-C", "-c", "-m"))
    whole = words[:1] == ["commit"] and any(_ALL_OF_IT.match(word) for word in invocation.args)
    if words[:1] != ["add"] and not whole:
        return
    here = invocation.cwd or scene.places.cwd
    given = [scene.places.absolute(word, here) for word in words[1:]] if not whole else []
    given = given or [scene.places.workspace or here]
    if scene.put is None:
        scene.put = {path: one for one in scene.commands for path in _puts(scene, one)}
    made: dict[str, Invocation | None] = dict(scene.put)
    made |= dict.fromkeys(path for path, one in scene.past.items() if one.how == "secret" and path not in made)
    for path, by in made.items():
        if not any(below(path, folder) for folder in given) or scene.facts.ignored(path):
            continue
        if scene.places.project_secret(path) or not _gives_away(scene, path, by):
            continue
        pushed = any(one.name == "git" and "push" in one.args[:4] for one in scene.commands)
        yield replace(
            sent_secret(f"gives git {scene.places.shown(path)}, in which a secret stands", "Take it out first."),
            risk=levels.HARM if pushed else levels.CARE,
        )
        return


def shown_on_web(scene: Scene, invocation: Invocation) -> Iterator[Finding]:
    """Yield the finding for a secret that is written to where a web server shows it to everybody."""
    written: list[tuple[Arg, tuple[Invocation, ...]]] = [
        (to.target, (invocation,)) for to in invocation.redirects if to.writes
    ]
    if invocation.name in PLACERS:
        written += [(word, invocation.input.source) for word in invocation.operands()[-1:]]
    for target, sources in written:
        if _WEB.match(scene.path(target, invocation)) is None:
            continue
        copied = [scene.path(word, invocation) for word in invocation.operands()[:-1]]
        kept = any(map(scene.places.project_secret, copied)) if invocation.name != "tee" else False
        if kept or any(confides(scene, one) for one in (*sources, *invocation.input.source)):
            yield sent_secret(f"shows a secret to all who ask the web server: {target}", INSTEAD)
            return


PLACERS = frozenset({"tee", "cp", "mv", "install", "ln", "sponge"})
"""Programs that write to their last operand."""
_WEB = later(r"/(?:var/www|srv/(?:www|http)|usr/share/nginx/html|usr/local/www|Library/WebServer)(?:/|\Z)")
"""Directories that web servers show as they are installed."""
_ALL_OF_IT = re.compile(r"-[a-z]*a|--all\Z")


def _puts(scene: Scene, one: Invocation) -> Iterator[str]:
    """Yield the files that a command writes, as far as they are named."""
    yield from (scene.path(to.target, one) for to in one.redirects if to.writes and to.target.known)
    if one.name in ("tee", "cp", "install"):
        yield from (scene.path(word, one) for word in one.operands()[-1:] if word.known)


def _gives_away(scene: Scene, path: str, by: Invocation | None) -> bool:
    if by is None:
        return True  # as an earlier call has left it
    if by.name in ("cp", "install"):
        return any(scene.places.project_secret(scene.path(word, by)) for word in by.operands()[:-1])
    sources = scene.within(path)
    return any(confides(scene, one) for one in sources) and not any(one.name in _SEALS for one in sources)


def confides(scene: Scene, source: Invocation) -> bool:
    """Whether a command prints what no other machine may get: a secret, or the rows of a database of others."""
    return tells(source) or tells_all(source) or decrypts(source) or dumps(source) or shows_secret(scene, source)


def tells(source: Invocation) -> bool:
    """Whether the output of the command has the value of a variable that is named as a secret."""
    if source.name == "printenv" and any(names_secret(word) for word in source.args):
        return True
    given = source.input
    if not given.known and given.text and secret_variable(given.text):
        return True
    return any(not word.known and secret_variable(word) for word in source.args)


def tells_all(source: Invocation) -> bool:
    """Whether the command prints the whole environment."""
    named = [word for word in source.args if word[:1] != "-"]
    return source.name in _ENVIRONMENT and not named and (source.name != "export" or "-p" in source.args)


def _leaving(invocation: Invocation) -> Iterator[Arg]:
    """Yield the words whose text reaches the other side as data."""
    before = ""
    http = invocation.name in CLIENTS
    for word in invocation.args:
        data = "://" in word or _BODIES.match(before) or _BODIES.match(word)
        if invocation.name in ("http", "https", "xh"):
            data = data or _FIELD.match(word)
        if data or not (http or before in _KEYS):
            yield word
        before = word


def _files(scene: Scene, invocation: Invocation) -> Iterator[str]:
    """Yield the files whose text the invocation sends."""
    before = ""
    for word in invocation.args:
        named = _NAMED_FILE.match(word)
        if before in ("-H", "--header"):
            pass
        elif named:
            yield scene.path(arg(named[1]), invocation)
        elif word[:1] != "-" and (
            _UPLOADS.match(before) or (invocation.name not in CLIENTS and before not in _KEYS and "=" not in word)
        ):
            yield scene.path(word, invocation)
        before = word
    for redirect in invocation.redirects:
        if redirect.reads:
            yield scene.path(redirect.target, invocation)
