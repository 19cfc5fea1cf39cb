"""Statements typed at another program's own prompt: a client of a store, of files elsewhere, or a bare connection.

Each client has a language of its own, but they all lose things by the same few verbs at the beginning of a statement.
"""

import re
from collections.abc import Iterator

from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Invocation

CONNECTIONS = frozenset({"nc", "ncat", "netcat", "socat", "telnet", "openssl"})
"""Programs that hand what they are fed to another machine as it stands."""
FILE_CLIENTS = frozenset({"sftp", "ftp", "lftp", "ncftp", "smbclient", "tnftp", "gftp", "psftp", "cadaver"})
"""Programs whose statements are about files of another machine."""
PROGRAMS = CONNECTIONS | FILE_CLIENTS
"""Programs that are asked although more is known of them than what their words say."""
_TYPED = frozenset({"-c", "-e", "-q", "-Q", "--command", "--execute", "--eval", "--query", "--exec", "--statement"})
"""Options whose value is a statement."""
MAX_TEXT = 8_192
"""Most characters of statements that are looked at: what clients of databases are fed is bounded as well."""
_OF_STORES = re.compile(
    r"(?:\A|[;\n]|\\n|\\r)\s{0,20}(?:"
    r"(?:drop|truncate|purge|deleteall|delete_all|disable_all|drop_all)\s{0,9}['\"(]"
    r"|(?:drop|truncate|remove|delete|purge)\s{1,9}(?:all|database|databases|table|tables|schema|keyspace|namespace|collection|index|stream|topic|type|graph|space|bucket|measurement|series|user|vertex|edge|from)\b"
    r"|(?:flush_?all|flush_?db|shutdown|delete-all|deleteall|wipe|nuke|format)\b"
    r"|truncate\s{1,9}\w|changetype:\s{0,9}delete|delete\s{1,9}/\S)",
    re.IGNORECASE,
)
"""Statements that lose what a store holds, in whatever language it has."""
_CALLED = re.compile(
    r"\b(?:_?drop(?:_?database|_?table|_?collection|_?all)?|_?truncate|remove_?all|delete_?all|flush_?all|flush_?db)\(",
    re.IGNORECASE,
)
"""The same as a call."""
_OF_FILES = re.compile(
    r"(?:\A|[;\n]|\\n)\s{0,20}-?(?:rm|rmdir|mrm|del|delete|mdel|mdelete|deltree|rmtree|rename|glob rm)\s{1,9}\S",
    re.IGNORECASE,
)
_HANDLES_TEXT = re.compile(
    r"\A[\w-]{0,40}(?:lint|format|fmt|pars|diff|grep|light|pretty|print|test|spell|doc|copy|log|note|commit|say|explain|check|valid)[\w-]{0,40}\Z"
)
"""Parts of the names of programs and subcommands to which a statement is a text."""
_COUNTS = re.compile(r"\bdelete\s{1,9}from\s.{1,400}?\bwhere\b(?!\s{0,9}(?:1\s?=\s?1|true))", re.IGNORECASE | re.DOTALL)
"""A deletion of the rows that a condition names."""


def typed(invocation: Invocation) -> Iterator[Finding]:
    """Find such a statement in what a command prints into a connection, or hands on to it."""
    words = invocation.operands() if invocation.name in ("echo", "printf") else []
    for text in ("\n".join(words)[:MAX_TEXT], (invocation.input.text or "")[:MAX_TEXT]):
        yield from _losing(invocation, text, _OF_STORES)


def check(scene: Scene, invocation: Invocation) -> Iterator[Finding]:
    """Find one statement by which something is lost.

    Args:
        scene: The action around it.
        invocation: One of `PROGRAMS`, or a program of which nothing is known but what its words say.
    """
    name = invocation.name
    if scene.reads_only(invocation) or any(map(_HANDLES_TEXT.search, (name, *invocation.args[:2]))):
        return
    language = _OF_FILES if name in FILE_CLIENTS else _OF_STORES
    for text in _texts(invocation):
        for found in _losing(invocation, text, language):
            yield found
            return


def _losing(invocation: Invocation, text: str, language: re.Pattern[str]) -> Iterator[Finding]:
    found = language.search(text) or (language is _OF_STORES and _CALLED.search(text))
    if found and not _COUNTS.search(text):
        told = invocation.program or "a connection"
        yield Finding(
            "statements.lose",
            levels.HARM,
            f"types at {told} what loses what it holds: `{text[found.start() :].strip()[:80]}`",
            "Look first what would go, and let a person do it.",
            effect=effect("database", f"{told} is told to lose something", target=invocation.name),
            elevated=invocation.elevated,
        )


def _texts(invocation: Invocation) -> Iterator[str]:
    if invocation.input.text:
        yield invocation.input.text[:MAX_TEXT]
    else:
        for source in invocation.input.source[:20]:
            if source.name in ("echo", "printf"):
                yield "\n".join(source.operands())[:MAX_TEXT]
    before = ""
    for word in invocation.args[:60]:
        option, equals, value = word.partition("=")
        if before in _TYPED or (equals and option in _TYPED):
            yield (value if equals and before not in _TYPED else str(word))[:MAX_TEXT]
        elif before.startswith("--") and (" " in word or "(" in word):
            yield word[:MAX_TEXT]
        before = word
