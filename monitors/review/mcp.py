"""Tools of MCP servers, judged by their verb and their fields: what they run, ask a database, delete, write and read.

Servers name what they do. A field that looks like a path, a script or SQL is judged as the same thing done by a command
of the CLI's shell.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from monitors.review import written
from monitors.review.checks import code as code_check
from monitors.review.checks import pages, services
from monitors.review.checks.secrets import INSTEAD
from monitors.review.checks.services import (
    DELETES,
    FROM,
    MAX_DEPTH,
    MAX_FIELDS,
    MAX_TEXT,
    PATHS,
    TO,
    WRITES,
    groups_of,
    words_of,
)
from monitors.review.commands import command_findings, too_many_commands
from monitors.review.languages.code.uses import Uses
from monitors.review.languages.project.containers import pods
from monitors.review.languages.project.projects import merge
from monitors.review.languages.project.recipes import Recipe
from monitors.review.origins import SHOWN
from monitors.review.programs.deleting import deletes_path
from monitors.review.programs.writing import writes_path
from monitors.review.rules import levels
from monitors.review.rules.findings import SPLIT, Finding, effect, not_read_to_its_end, sent_secret
from monitors.review.scene.places import Place
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import Invocation, Setting, arg
from monitors.review.verdict.assess import without_comments
from monitors.review.verdict.scopes import SCOPED, is_rehearsal

MAX_NAMES = 20_000
"""Most names of fields of one group that are looked at: a file of translations has 5,000."""
MAX_MAPPINGS = 1_000
"""Most groups of fields within fields that are judged, 10 to 60 microseconds each: 250 files pushed in one call, a
collection of 200 requests. A later one that has something run is blocked."""
MAX_STATEMENTS = 4 * MAX_TEXT
"""Most characters of statements that a call asks databases, in all of its fields: 80,000 take 30 ms."""
MAX_PLACES = 125_000
"""Most characters that places count for which a call changes: a text for each but the first that it is written to.
30,000 to 1,500 took 4 s."""
MIN_PLACE = 250
"""How many characters a place counts for at the least, so that there are 500: one takes 40 to 70 us."""
MAX_WORDS = 3_000
"""Most words taken of a command that is given as a list: more than a review of a command goes through."""

_MOVES = frozenset({"move", "rename", "mv"})
_RUNS = frozenset({"run", "exec", "execute", "eval", "shell", "bash", "terminal", "cmd", "command", "script", "spawn", "process", "repl", "interpreter", "call", "invoke", "start", "ssh", "code", "tmux", "pty", "tty", "console", "iterm", "screen", "ruby", "php", "perl", "lua"})  # fmt: skip
_BROWSERS = frozenset({"browser", "playwright", "puppeteer", "chrome", "page", "selenium"})
_SQL_SERVERS = frozenset({"sql", "postgres", "postgresql", "pg", "mysql", "mariadb", "sqlite", "db", "database", "duckdb", "snowflake", "bigquery", "supabase", "neon", "clickhouse", "mssql", "oracle", "redshift", "query"})  # fmt: skip
_LOOKS_SQL = re.compile(
    r"\s*(?:/\*|--|\(|(?:with|select|insert|update|delete|drop|truncate|alter|create|grant|revoke|copy|begin|vacuum|merge)\s|(?:commit|rollback|end|abort)\s{0,9};)",
    re.IGNORECASE,
)
_PROGRAMS: Mapping[str, str] = {
    "kubectl": "kubectl", "kubernetes": "kubectl", "k8s": "kubectl", "docker": "docker", "git": "git", "aws": "aws",
    "gcloud": "gcloud", "azure": "az", "terraform": "terraform", "helm": "helm", "redis": "redis-cli", "gh": "gh",
    "mongo": "mongosh --eval", "mongodb": "mongosh --eval", "heroku": "heroku", "npm": "npm",
}  # fmt: skip
"""Programs that servers stand for, by a word of their name."""
_TYPED = frozenset({"keys", "data", "text", "input", "chars", "keystrokes", "characters"})
"""Fields that are typed at a terminal."""
_TERMINALS = frozenset({"tmux", "pty", "tty", "console", "iterm", "screen", "terminal", "shell", "keys", "bash"})
_CODE_FIELDS = frozenset({"script", "code", "source", "snippet", "program", "expression", "statement", "statements", "input", "cell", "body", "commands", "cli_command", "command_line", "commandline", "shell", "line"})  # fmt: skip
_ARGUMENTS = ("args", "arguments", "argv", "params", "parameters")
_STARTED = ("command", "cmd", "program", "executable", "binary", "file")
_WORK = frozenset({"cmd", "run", "sql", "query", "queries", "edits", *_CODE_FIELDS, *_ARGUMENTS, *_STARTED, *PATHS})
"""Fields by which a group has something run, read or written."""
_CONTENTS = frozenset({"content", "contents", "text", "data", "new_string", "newtext", "new_str", "file_text", "body"})


def findings(scene: Scene, tool: str, given: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the findings about what the fields of a call have done, by the verb of the tool."""
    verbs, server = words_of(tool)
    groups = groups_of(given)
    cut = False
    for depth, fields in islice(groups, MAX_MAPPINGS):
        cut |= depth > MAX_DEPTH or _is_cut(fields)
        fields = fields if len(fields) <= MAX_FIELDS else dict(islice(fields.items(), MAX_FIELDS))
        for make in (_scripts, _statements, _paths, _flags):
            yield from make(scene, verbs, server, fields)
        # At the top the reviewer itself takes these for a shell's, whatever the tool is called.
        for text in (fields.get(name) for name in ("command", "cmd", "run") if depth):
            if isinstance(text, str):
                yield from command_findings(text, scene)[0]
    if cut or any(depth > MAX_DEPTH or _works(fields) for depth, fields in groups):
        why = f"is more than a review goes through: over {MAX_MAPPINGS} steps, fields or items, or {MAX_DEPTH} in depth"
        yield not_read_to_its_end(why, "Give them in several calls.", "a list of steps")
    yield from services.findings(tool, verbs, server, given)


def _works(names: Iterable[object]) -> bool:
    return any(isinstance(name, str) and name.lower() in _WORK for name in names)


def _is_cut(fields: Mapping[str, Any]) -> bool:
    """Whether a group has more than is judged of it, and what is left out may have something run."""
    if len(fields) > MAX_NAMES or (len(fields) > MAX_FIELDS and _works(islice(fields, MAX_FIELDS, None))):
        return True
    long = (name for name, value in fields.items() if isinstance(value, (list, tuple)) and len(value) > MAX_FIELDS)
    return _works(long)


# ── what it runs ──────────────────────────────────────────────────────────────────────────────────────────────────


def _scripts(scene: Scene, verbs: list[str], server: list[str], given: Mapping[str, Any]) -> Iterator[Finding]:
    """Judge commands and code, in whatever language the names of tool and server say."""
    every = {*verbs, *server}
    if _BROWSERS.intersection(every):
        yield from _in_page(given)
        yield from pages.check(scene, verbs, given)
        if SHOWN in scene.past and any(
            isinstance(value, str) and _ASKS_SECRET.search(value[:200]) for value in given.values()
        ):
            yield sent_secret(
                f"types into a page that asks for a secret, after `{scene.past[SHOWN].by}` has shown one", INSTEAD
            )
        return
    runs = bool(_RUNS.intersection(every))
    program = next((_PROGRAMS[word] for word in (*verbs, *server) if word in _PROGRAMS), "")
    for text in _command_lines(given) if runs or program else ():
        first = text.split(None, 1)[0] if text.strip() else ""
        line = f"{program} {text}" if program and first != program.split()[0] else text
        yield from command_findings(line, scene)[0]
    service, operation = given.get("service"), given.get("operation", given.get("action", given.get("method")))
    if isinstance(service, str) and isinstance(operation, str) and len(service) + len(operation) <= 200:
        verb = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", operation).lower().replace("_", "-")
        dry = ["--dry-run"] if services.is_dry(given) else []
        yield from command_findings(shlex.join([program or "aws", service.lower(), verb, *dry]), scene)[0]
    if program == "aws" and len(verbs) > 1 and "cli" not in verbs:
        yield from command_findings(shlex.join(["aws", *_as_subcommand(verbs), *_as_options(given)]), scene)[0]
    for text in filter(None, (given.get(name) for name in ("script", "code", "source"))) if _APPLE & every else ():
        if isinstance(text, str):
            yield from command_findings(shlex.join(["osascript", "-e", text[:MAX_TEXT]]), scene)[0]
    if not runs:
        return
    for name, value in given.items():
        stated = str(name).lower() in _CODE_FIELDS or (isinstance(value, str) and _LOSES_ALL.search(value[:MAX_TEXT]))
        stated = stated or (str(name).lower() in _TYPED and not _TERMINALS.isdisjoint(every))
        if isinstance(value, str) and _LOSES_ALL.search(value[:MAX_TEXT]):
            yield from command_findings(f"mongosh --eval {shlex.quote(value[:MAX_TEXT])}", scene)[0]
        if stated and isinstance(value, str) and value.strip():
            yield from _code(scene, every, value[:MAX_TEXT])
            yield from _unread(value)


_APPLE = frozenset({"applescript", "osascript", "jxa"})


def _as_subcommand(verbs: list[str]) -> list[str]:
    """Return the words of a tool as a subcommand of a cloud's program, behind a service that rules pass over."""
    return ["iam" if _OF_ACCOUNTS & {*verbs} else "ec2", "-".join(verbs)]


_OF_ACCOUNTS = frozenset({"user", "role", "policy", "group", "key", "profile", "mfa", "saml", "login"})


def _as_options(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield plain fields as options."""
    for name, value in islice(given.items(), 50):
        if isinstance(value, (str, int)) and not isinstance(value, bool) and len(str(value)) <= 200:
            yield f"--{str(name).replace('_', '-')}"
            yield str(value)


def _unread(text: str) -> Iterator[Finding]:
    """Find what runs and was not judged to its end."""
    if len(text) > MAX_TEXT:
        why = f"is more than a review goes through: code of more than {MAX_TEXT} characters"
        yield not_read_to_its_end(why, SPLIT, "code")


_LOSES_ALL = re.compile(r"\.(?:drop|dropDatabase|deleteMany|remove)\(\s?(?:\{\s?\})?\s?\)")
"""Code for a store of documents that empties it, whatever its field is called."""
_PAGE_SECRET = re.compile(r"document\.cookie|\b(?:local|session)Storage\b|indexedDB\b|navigator\.credentials")
_PAGE_SENDS = re.compile(
    r"(?:fetch|sendBeacon|WebSocket|EventSource)\(\s*[\"'`](?:https?|wss?):|\.open\(\s*[\"'`]\w{3,6}[\"'`]\s*,\s*[\"'`]https?:|\.(?:src|href|action)\s*=\s*[\"'`]https?:|location\s*=\s*[\"'`]https?:"
)
_PAGE_OWN = re.compile(r"[\"'`](?:https?|wss?)://(?:localhost|127\.0\.0\.1|\[::1\])")


_ASKS_SECRET = re.compile(r"passw|passphrase|secret|token|api.?key|\bpin\b|\botp\b|seed phrase|recovery", re.IGNORECASE)


def _in_page(given: Mapping[str, Any]) -> Iterator[Finding]:
    """Judge a script for a page: what it sends to another host of what the page keeps for its own."""
    for value in given.values():
        text = value[:MAX_TEXT] if isinstance(value, str) else ""
        if _PAGE_SECRET.search(text) and _PAGE_SENDS.search(text) and not _PAGE_OWN.search(text):
            yield sent_secret(
                "sends what a page keeps for its own host, its cookies or its store, to another one",
                "Read the one value that is needed.",
                details="sends a page's cookies or store to another host",
            )


def _command_lines(given: Mapping[str, Any]) -> Iterator[str]:
    """Command lines that are put together of a program and its arguments, or given in a field of their own."""
    started = next((given[name] for name in _STARTED if isinstance(given.get(name), str)), "")
    for name in _ARGUMENTS:
        value = given.get(name)
        if isinstance(value, str):
            yield f"{started} {value}"
        elif isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value[:MAX_WORDS]):
            yield f"{started} {shlex.join(value[:MAX_WORDS])}".strip()
    if not any(name in given for name in _ARGUMENTS) and started:
        yield started
    cli = given.get("cli_command", given.get("command_line"))
    if isinstance(cli, str):
        yield cli


def _code(scene: Scene, names: set[str], text: str) -> Iterator[Finding]:
    python = bool({"python", "ipython", "jupyter", "notebook", "ide", "py", "pandas"}.intersection(names))
    javascript = bool({"node", "js", "javascript", "deno", "bun", "typescript"}.intersection(names))
    if _SQL_SERVERS.intersection(names) and _LOOKS_SQL.match(text):
        return
    languages = ["python"] if python else ["other"] if javascript else ["sh", "python", "other"]
    if python:
        for line in text.splitlines()[:MAX_FIELDS]:
            if line.lstrip()[:1] == "!":  # a shell's line of a notebook
                yield from command_findings(line.lstrip()[1:], scene)[0]
        text = "\n".join(line for line in text.splitlines() if line.lstrip()[:1] not in "!%" or not line.strip())
    for language in languages:
        if language != "sh":
            if scene.work.over:
                yield too_many_commands()
                return
            scene.work.commands += 1
        uses = Uses()
        merge(uses, Recipe("", text, language))
        scene.work.code += uses.length if language != "sh" else 0
        for script in uses.scripts:
            yield from command_findings(script, scene)[0]
        if language != "sh":
            runner = Invocation(arg(language), [], Setting(depth=1))
            yield from (found for found in code_check.check(scene, runner, uses) if found is not None)


# ── databases ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _statements(scene: Scene, verbs: list[str], server: list[str], given: Mapping[str, Any]) -> Iterator[Finding]:
    """Judge SQL as a client of a database would be given it."""
    of_database = bool(_SQL_SERVERS.intersection((*verbs, *server)))
    tried = _for_trial(scene, given) or services.of_trial(server)
    for name, value in given.items():
        texts = value if isinstance(value, (list, tuple)) else [value]
        for text in texts[:MAX_FIELDS]:
            named = str(name).lower() in ("sql", "statement", "statements")
            if isinstance(text, str) and (named or of_database) and _LOOKS_SQL.match(text[:200]):
                client = Invocation(arg("psql"), [arg("-c"), arg(text[:MAX_TEXT])])
                client, operands = without_comments(scene, client, scene.book.operands(client))
                scene.work.searched += scene.book.searched(client)
                if scene.work.searched > MAX_STATEMENTS:
                    why = f"asks more of databases than a review goes through: over {MAX_STATEMENTS} characters"
                    yield not_read_to_its_end(why, "Ask it in several calls.", "statements")
                    return
                for rule in scene.book.matching(client, operands):
                    found = rule.finding(client)
                    yield replace(found, risk=min(found.risk, levels.CARE)) if tried and rule.name in SCOPED else found
                yield from _unread(text)
            if isinstance(text, str) and _LOSES_GRAPH.search(text[:MAX_TEXT]):
                yield Finding(
                    "database.lose",
                    levels.HARM,
                    "deletes what the database holds",
                    "Name what is to go by a WHERE.",
                    effect=effect("database", "deletes all nodes of a graph"),
                )


_STORES = frozenset({"database", "db", "dbname", "database_name", "schema", "connection", "connection_string", "connection_name", "dsn", "url", "uri", "database_url", "db_path", "path", "database_path", "file", "environment", "env", "profile"})  # fmt: skip
"""Fields that name the store on which a tool works."""


def _for_trial(scene: Scene, given: Mapping[str, Any]) -> bool:
    """Whether the store that the fields name is one for tests, by its name, or lies in scratch space."""
    said = [value for name, value in given.items() if str(name).lower() in _STORES and isinstance(value, str)]
    named = [arg(value[:200]) for value in said]
    aside = [
        scene.places.place(scene.places.absolute(value)) is Place.SCRATCH
        for value in said
        if "/" in value and "://" not in value
    ]
    return bool(named) and (is_rehearsal(Invocation(arg("psql"), named)) or (bool(aside) and all(aside)))


_LOSES_GRAPH = re.compile(r"\bMATCH\s?\([^()\n]{0,100}\)\s{1,9}(?:DETACH\s{1,9})?DELETE\b", re.IGNORECASE)


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _paths(scene: Scene, verbs: list[str], _server: list[str], given: Mapping[str, Any]) -> Iterator[Finding]:
    """Judge paths by what the tool does with them."""
    contents = _contents(given)
    each = MIN_PLACE
    for name, path in _named(given):
        place = scene.places.absolute(path.removeprefix("file://"))
        top = place in ("/", scene.places.home)
        away = name in FROM and not _MOVES.isdisjoint(verbs)
        deletes = not DELETES.isdisjoint(verbs) or away
        written_to = (
            not WRITES.isdisjoint(verbs) or (not _MOVES.isdisjoint(verbs) and name in TO)
        ) and name not in FROM
        if deletes or written_to:
            scene.work.places += each
            each = max(MIN_PLACE, sum(map(len, contents.values())))
        if scene.work.places > MAX_PLACES:
            why = f"changes more than a review goes through: over {MAX_PLACES // MIN_PLACE} places, or a text in many"
            yield not_read_to_its_end(why, "Do it in several calls.", "files")
            return
        if deletes:
            whole = bool({"directory", "dir", "folder", "rmdir", "tree", "recursive"}.intersection(verbs)) or top
            recursive = whole or given.get("recursive") is True or away
            yield from _known(deletes_path(scene, place, _BY_TOOL, recursive=recursive, forced=recursive))
        if written_to:
            yield from _known(writes_path(scene, place))
            yield from written.findings(scene, place, contents.values())
            for field, text in contents.items():
                scene.origins += written.harm_left(scene, place, text, whole=field in _WHOLE)


_WHOLE = ("content", "contents", "text", "data", "file_text")
"""Fields that have the whole text of a file, and no piece of it."""


def _contents(given: Mapping[str, Any]) -> dict[str, str]:
    """The texts that a call writes, by their field."""
    fields = {str(key): text for key, text in given.items() if str(key).lower() in _CONTENTS}
    edits = given.get("edits")
    for number, edit in enumerate(edits[:MAX_FIELDS] if isinstance(edits, (list, tuple)) else ()):
        if isinstance(edit, Mapping):
            fields |= {f"{number} {key}": text for key, text in edit.items() if str(key).lower() in _CONTENTS}
    return {key: text for key, text in fields.items() if isinstance(text, str)}


_BY_TOOL = Invocation(arg("mcp"), [])


def _known(found: Finding | None) -> Iterator[Finding]:
    if found is not None:
        yield found


def _named(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in given.items():
        if str(name).lower() in PATHS:
            for path in value[:MAX_FIELDS] if isinstance(value, (list, tuple)) else [value]:
                if isinstance(path, str) and 0 < len(path) <= 4096 and "://" not in path.removeprefix("file://"):
                    yield str(name).lower(), path


# ── flags ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _flags(scene: Scene, verbs: list[str], server: list[str], given: Mapping[str, Any]) -> Iterator[Finding]:
    """Judge switches that make a harmless verb a harmful one, as the same switch of the program it stands for."""
    every = {*verbs, *server}
    said = {str(name).lower(): value for name, value in given.items()}
    for applies, line in _LINES:
        command = line(said) if applies(every) else ""
        if command:
            yield from command_findings(command, scene)[0]


def _container(said: Mapping[str, Any]) -> str:
    words = ["--privileged"] if said.get("privileged") is True else []
    for name in ("volumes", "binds", "mounts", "volume"):
        value = said.get(name)
        for mount in value[:MAX_FIELDS] if isinstance(value, (list, tuple)) else [value]:
            if isinstance(mount, Mapping):
                mount = f"{mount.get('source', mount.get('host', ''))}:{mount.get('target', '/x')}"
            words += ["-v", mount] if isinstance(mount, str) and mount[:1] in "/~." else []
    words += ["--pid=host"] if said.get("pid") == "host" or said.get("pid_mode") == "host" else []
    return shlex.join(["docker", "run", *words, "image"]) if words else ""


def _push(said: Mapping[str, Any]) -> str:
    forced = any(said.get(name) is True for name in ("force", "force_push", "forcepush"))
    lists = [value for value in said.values() if isinstance(value, (list, tuple))]
    forced = forced or any(word in ("--force", "-f") for value in lists for word in value if isinstance(word, str))
    return f"git push --force origin {shlex.quote(str(said.get('branch', '')))}" if forced else ""


def _pushed_image(said: Mapping[str, Any]) -> str:
    named = next(
        (said[name] for name in ("image", "name", "image_name", "repository") if isinstance(said.get(name), str)), ""
    )
    tag = said.get("tag")
    return shlex.join(["docker", "push", f"{named}:{tag}" if isinstance(tag, str) else named]) if named else ""


def _request(said: Mapping[str, Any]) -> str:
    method, url = said.get("method"), said.get("url")
    if not isinstance(method, str) or not isinstance(url, str) or "://" not in url:
        return ""
    body = next((said[name] for name in ("body", "data", "json", "payload") if isinstance(said.get(name), str)), "")
    return shlex.join(["curl", "-X", method.upper(), url, *(["-d", body] if body else [])])


def _apply(said: Mapping[str, Any]) -> str:
    approved = any(said.get(name) is True for name in ("auto_approve", "autoapprove", "approve", "yes"))
    return "terraform apply -auto-approve" if approved else ""


def _reset(said: Mapping[str, Any]) -> str:
    hard = said.get("mode") in ("hard", "--hard") or said.get("hard") is True
    folder = next((said[name] for name in ("repo_path", "repo", "path", "cwd") if isinstance(said.get(name), str)), ".")
    return f"git -C {shlex.quote(folder)} reset --hard" if hard else ""


Applies = Callable[[set[str]], bool]


def _kill(said: Mapping[str, Any]) -> str:
    each = [said[name] for name in ("pid", "process_id", "processid", "pids", "name", "pattern") if name in said]
    words = [str(word) for value in each for word in (value if isinstance(value, (list, tuple)) else [value])][:50]
    if not words:
        return ""
    return shlex.join(["kill", "-9", *words] if all(word.lstrip("-").isdigit() for word in words) else ["pkill", "-f", *words[:1]])  # fmt: skip


def _moved_ref(said: Mapping[str, Any]) -> str:
    ref = str(said.get("ref", said.get("branch", "")))
    return f"git push --force origin {shlex.quote(ref)}" if said.get("force") is True else ""


def _flush(said: Mapping[str, Any]) -> str:
    host = next((str(said[name]) for name in ("host", "url") if isinstance(said.get(name), str)), "")
    return shlex.join(["redis-cli", *(["-h", host] if host else []), "FLUSHALL"])


def _manifest(said: Mapping[str, Any]) -> str:
    texts = [said[name] for name in ("manifest", "yaml", "manifests", "content", "resource", "spec") if name in said]
    text = next((text if isinstance(text, str) else repr(text) for text in texts), "")[:MAX_TEXT]
    return next((recipe.code for recipe in pods(text.replace("'", "").replace("True", "true"))), "")


_LINES: tuple[tuple[Applies, Callable[[Mapping[str, Any]], str]], ...] = (
    (lambda names: bool({"kill", "terminate"} & names) and bool({"process", "pid", "proc", "kill"} & names), _kill),
    (lambda names: "ref" in names and bool({"update", "set", "move"} & names), _moved_ref),
    (
        lambda names: (
            bool({"flushall", "flushdb", "flush"} & names)
            and bool({"redis", "valkey", "cache", "db", "all", "flushall", "flushdb"} & names)
        ),
        _flush,
    ),
    (lambda names: bool({"container", "docker", "podman"} & names), _container),
    (lambda names: bool({"k8s", "kubernetes", "kubectl", "manifest", "pod"} & names), _manifest),
    (lambda _names: True, _request),
    (lambda names: "push" in names, _push),
    (lambda names: "push" in names and bool({"docker", "podman", "image"} & names), _pushed_image),
    (lambda names: "reset" in names, _reset),
    (lambda names: {"terraform", "tofu"} & names != set() and "apply" in names, _apply),
)
