"""Settings of a repository that the CLI would take in, read from its files. Pure.

The CLI takes in `.claude/settings.json`, `.claude/settings.local.json` (of a worktree: of its main checkout too),
`.mcp.json` of the workspace and of every folder above, and the definitions of skills, commands and subagents, without a
question (2.1.329, contract tests). They are listed here for a person, with a digest of all that could make a
difference.
"""

import posixpath
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

import orjson

from monitors.review.scene import agent_definitions
from monitors.secret_patterns import masked, names_secret
from supervisor.protocol.claude.settings import RepositorySetting

HELPERS = (
    "apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper", "proxyAuthHelper",
    "processWrapper",
)  # fmt: skip
"""Settings that name a program as a text (2.1.329); empty, none is run."""

SHOWN = ("statusLine", "subagentStatusLine", "fileSuggestion")
"""Settings that name a program as an object. The CLI runs none of them without a terminal, and `disableAllHooks`
ends them."""

TEXT = 300
"""Characters of a thing that are shown."""

MOST = 500
"""Most settings listed. A longer list would not be read by a person, and such a file is not read."""

HARMLESS = frozenset({"permission"})
"""Kinds that are listed without a question. Permissions apply to the CLI's own gate, which is the second one; the
first reviews every call."""

Role = Literal["settings", "servers", "definition"]

HashOf = Callable[[str], str]
"""A hash of what a path holds, where it lies in the repository; empty if there is no such file."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file that the CLI takes in."""

    role: Role
    path: str
    """From the workspace's top, or absolute where it lies outside."""
    text: bytes = b""
    problem: str = ""
    """The reason why it could not be read; its settings are then not known."""


@dataclass(frozen=True, slots=True)
class Found:
    """The settings found."""

    things: tuple[RepositorySetting, ...] = ()
    digest: str = ""
    """Digest of all that a person decides about, and of the repository's own files that it names; independent of the
    repository's place. Empty if there is nothing to decide."""

    def of(self, *kinds: str) -> tuple[RepositorySetting, ...]:
        """Those of these kinds."""
        return tuple(thing for thing in self.things if thing.kind in kinds)


def found(files: Sequence[SettingsFile], hash_of: HashOf) -> Found:
    """List what the files bring.

    Args:
        files: Those that there are.
        hash_of: Hashes a file or folder that a command names.
    """
    things: list[RepositorySetting] = []
    hashed = sha256()
    for file in files:
        brought = list(_of(file))
        if len(brought) > MOST:
            brought = [
                (
                    RepositorySetting("unread", file.path, file.path, f"it has over {MOST} things to list"),
                    file.text.hex(),
                )
            ]
        for thing, value in brought:
            things.append(thing)
            if thing.kind in HARMLESS:
                continue
            named = {word: hashes for word in _words(value) if (hashes := hash_of(word))}
            option = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
            hashed.update(orjson.dumps([thing.kind, thing.name, value, named], option=option) + b"\n")
    asked = any(thing.kind not in HARMLESS for thing in things)
    return Found(tuple(things), hashed.hexdigest() if asked else "")


def read_object(text: bytes) -> dict[str, Any] | None:
    """A file of settings as an object; empty if it is, None if it is no such thing."""
    if not text.strip():
        return {}
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


_Thing = tuple[RepositorySetting, Any]
"""A thing, and its whole value for the digest."""


def _of(file: SettingsFile) -> Iterator[_Thing]:
    if file.problem:
        yield RepositorySetting("unread", file.path, file.path, file.problem), file.problem
        return
    if file.role == "definition":
        if brings := agent_definitions.brings(file.text.decode(errors="replace")):
            yield RepositorySetting("definition", file.path, file.path, " and ".join(brings)), file.text.hex()
        return
    given = read_object(file.text)
    if given is None:
        yield RepositorySetting("unread", file.path, file.path, "it is no JSON object"), file.text.hex()
        return
    yield from _servers(file, given) if file.role == "servers" else _settings(file, given)


def _servers(file: SettingsFile, given: Mapping[str, Any]) -> Iterator[_Thing]:
    for name, server in _object(given.get("mcpServers")).items():
        yield RepositorySetting("server", name, file.path, _said(server)), server


def _settings(file: SettingsFile, given: Mapping[str, Any]) -> Iterator[_Thing]:
    for event, groups in _object(given.get("hooks")).items():
        for group in groups if isinstance(groups, list) else [groups]:
            matcher = _object(group).get("matcher") or ""
            hooks = _object(group).get("hooks")
            for hook in hooks if isinstance(hooks, list) else [group]:
                yield (
                    RepositorySetting("hook", f"{event} {matcher}".strip(), file.path, _said(hook)),
                    [event, matcher, hook],
                )
    for name, value in _object(given.get("env")).items():
        secret = names_secret(name)
        yield RepositorySetting("variable", name, file.path, "a secret" if secret else _said(value)), value
    for name in (*HELPERS, *SHOWN):
        if value := given.get(name):
            yield RepositorySetting("helper", name, file.path, _said(value)), value
    permissions = _object(given.get("permissions"))
    for name in ("allow", "additionalDirectories", "defaultMode"):
        if value := permissions.get(name):
            yield RepositorySetting("permission", name, file.path, _said(value)), value
    for name, on in _object(given.get("enabledPlugins")).items():
        if on:
            yield RepositorySetting("plugin", name, file.path), on
    for name, market in _object(given.get("extraKnownMarketplaces")).items():
        yield RepositorySetting("plugin", f"marketplace {name}", file.path, _said(market)), market


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _said(value: object) -> str:
    """A value in a line, without what looks like a secret."""
    given = _object(value)
    text = given.get("command") or given.get("url") or given.get("prompt")
    if isinstance(text, str):
        args = given.get("args")
        text = " ".join([text, *map(str, args)]) if isinstance(args, list) else text
    else:
        text = value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    return masked(" ".join(str(text).split())[:TEXT])


def _words(value: object) -> Iterator[str]:
    """Words of a value that may name a file: of commands, of their arguments, of a folder of plugins."""
    if isinstance(value, str):
        text = value.replace("${CLAUDE_PROJECT_DIR}", ".").replace("$CLAUDE_PROJECT_DIR", ".")
        try:
            words = shlex.split(text)
        except ValueError:
            words = text.split()
        yield from (posixpath.normpath(word) for word in words if word and not word.startswith("-"))
    elif isinstance(value, dict):
        for one in value.values():
            yield from _words(one)
    elif isinstance(value, list):
        for one in value:
            yield from _words(one)
