"""Lists of what is dealt with one by one: people who are written to, and jobs or processes of all users that end."""

import re
from collections.abc import Iterator

from monitors.review.checks import people
from monitors.review.programs.coreutils import value
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Arg, Invocation

_JOBS = frozenset({"scancel", "qdel", "bkill", "condor_rm", "oardel", "qsig", "llcancel", "lprm", "cancel", "atrm", "mdel"})  # fmt: skip
"""Programs that take jobs out of a queue, which with the rights of the machine are those of others too."""
_ENDS = _JOBS | {"kill", "skill", "taskkill"}
_LISTERS = frozenset({"ps", "top", "squeue", "qstat", "bjobs", "condor_q", "lpstat", "oarstat", "nvidia-smi", "atq", "who", "w", "fuser"})  # fmt: skip
"""Programs that list what all users have running, unless they are told whose."""
_OWN = re.compile(
    r"-u\Z|-U\Z|-u.|--user\b|--me\Z|-p\Z|--pid\b|--ppid\b|-C\Z|-j\Z|--jobs?\b|-n\Z|--name\b|-J\Z|[ux]\Z|T\Z|-s\Z"
)
"""Options by which such a list is one of certain jobs or processes, or of one's own."""
_VITAL = frozenset(
    {
        "sshd",
        "systemd",
        "dbus-daemon",
        "dockerd",
        "containerd",
        "postgres",
        "mysqld",
        "mariadbd",
        "mongod",
        "redis-server",
        "nginx",
        "apache2",
        "httpd",
        "kubelet",
        "etcd",
        "NetworkManager",
        "Xorg",
        "gnome-shell",
        "cron",
        "crond",
        "init",
        "slapd",
        "named",
    }
)
"""Processes that a machine and its other users need."""
_FINDS = frozenset({"grep", "egrep", "rg", "ag", "fgrep"})
_MATCHES = re.compile(r"/[^/]{1,80}/|==|~|\bindex\(|\bmatch\(")
"""Tests of awk, sed and perl by which lines are picked."""
_READERS = frozenset({
    "cat", "awk", "cut", "sed", "jq", "head", "tail", "sort", "uniq", "grep", "tr", "shuf", "csvcut", "xsv", "mlr", "psql", "mysql", "mariadb",
    "sqlite3", "mongosh", "bq", "duckdb", "yq", "getent", "ldapsearch", "gh", "glab", "column", "paste", "python3", "python",
})  # fmt: skip
"""Programs that print lists which stand in a file or a store."""
_NOT_PEOPLE = frozenset({"-s", "-S", "-a", "-A", "-r", "-q", "-e", "-i", "-F", "--subject", "--header", "--body", "--from", "--server", "-f", "-H"})  # fmt: skip
_TO = {
    "swaks": ("--to", "-t"),
    "sendemail": ("-t", "-to"),
    "signal-cli": ("-u",),
    "mail": ("-b", "-c"),
    "mutt": ("-b", "-c"),
}
"""Options whose value is to whom a message goes."""
_MAIL_HOSTS = re.compile(
    r"https://[\w.-]*(?:mailgun|sendgrid|postmarkapp|mandrillapp|mailchimp|sparkpost|resend|brevo|mailjet|twilio|vonage|nexmo|messagebird|plivo|onesignal|klaviyo)\."
)
_CAMPAIGN = re.compile(r"(?:--data\w*=)?@\S{0,200}(?:campaign|newsletter|broadcast|mailing|subscribers)[\w.-]{0,40}\Z")
"""A body for a service of mail out of a file that is named for what goes to many."""
_ADDRESSED = re.compile(r"[\"'\s{,]*(?:to|recipients?|phone|email)\b", re.IGNORECASE)


PROGRAMS = _ENDS | people.PROGRAMS | people.RUNNERS
"""Programs that deal with one thing or person after the other, if they are given a list."""


def check(scene: Scene, invocation: Invocation) -> Iterator[Finding]:
    """Look for what is done to each that a list names."""
    if invocation.name in _ENDS:
        yield from _ended(invocation)
    elif any(_from_list(scene, word, invocation) for word in _people(invocation)):
        if not any(map(people.TRIED.search, invocation.args)):
            ends = invocation.args[1:2] == ["close"]
            yield people.to_many(
                f"{'closes, or writes to, each that' if ends else 'writes to everybody whom'} a list names"
            )
    elif any(map(_MAIL_HOSTS.match, invocation.args)) and any(map(_CAMPAIGN.match, invocation.args)):
        yield people.to_many("sends a campaign to everybody on its list")
    else:
        yield from people.check(invocation)


def _ended(invocation: Invocation) -> Iterator[Finding]:
    sources = [one for word in invocation.args for one in word.source]
    lists = any(map(_lists_all, sources))
    picked = any(map(_picks, sources))
    others = invocation.name in _JOBS and invocation.elevated
    vital = invocation.elevated and any(
        one.name in ("pgrep", "pidof") and not _VITAL.isdisjoint(one.args) for one in sources
    )
    others = others or vital
    if others or (lists and not picked):
        yield Finding(
            "process.of-others",
            levels.HARM,
            "ends what others have running" if others else "ends whatever a list of all jobs or processes names",
            "End what you started, by its id.",
            effect=effect("process_signal", f"{invocation.program} ends what others run"),
            elevated=invocation.elevated,
        )


def _lists_all(one: Invocation) -> bool:
    """Whether a command lists whatever there is of all users, or of one."""
    if one.name == "pgrep":
        return any(word[:2] in ("-u", "-U") for word in one.args) and not one.operands(("-u", "-U", "-g", "-t"))
    return one.name in _LISTERS and not any(map(_OWN.match, one.args))


def _picks(one: Invocation) -> bool:
    if one.name in _FINDS:
        return not any(re.match(r"-[a-zA-Z]*v", word) for word in one.args)
    return one.name in ("awk", "gawk", "sed", "perl") and any(map(_MATCHES.search, one.args))


def _people(invocation: Invocation) -> Iterator[Arg]:
    """Yield the words that say to whom a message goes."""
    if invocation.name not in people.MAILERS:
        if any(map(_MAIL_HOSTS.match, invocation.args)):
            yield from filter(_ADDRESSED.match, invocation.args)
        yield from people.addressed(invocation)
        return
    if (named := value(invocation, *_TO.get(invocation.name, ("-b", "-c")))) is not None:
        yield named
    if invocation.name not in ("swaks", "sendemail"):
        yield from invocation.operands(_NOT_PEOPLE)


def _from_list(scene: Scene, word: Arg, invocation: Invocation) -> bool:
    """Whether a word stands for what a list names one after the other."""
    if word.known and word != "{}":
        return False
    if any(one.name in _READERS for one in word.source):
        return True
    if word == "{}" or "$PIPED" in word:
        return "xargs" in invocation.via or "parallel" in invocation.via
    names = {found[1] for found in _VARIABLE.finditer(word)}
    return any(
        one.name in ("read", "mapfile", "readarray") and not names.isdisjoint(one.args) for one in scene.commands
    )


_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w{0,60})")
