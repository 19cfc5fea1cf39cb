"""The tools that are not a shell: what each would read, write or reach."""

import base64
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_address
from itertools import islice
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from monitors.contract.actions import SHELL_TOOLS, Origin
from monitors.contract.expressions import later
from monitors.review import mcp, written
from monitors.review.checks import pages, services
from monitors.review.checks.secrets import secret_links, secret_words
from monitors.review.commands import definition_findings
from monitors.review.origins import shown, writes_long
from monitors.review.programs.writing import writes_path
from monitors.review.rules import levels
from monitors.review.rules.findings import Finding, effect, not_read_to_its_end, sent_secret
from monitors.review.scene import agent_definitions
from monitors.review.scene.scene import Scene
from monitors.review.shell.invocation import program_name
from monitors.review.shell.secret_names import sets_secret
from monitors.review.shell.shells import SHELLS
from monitors.review.tampering import texts
from monitors.review.verdict import grounds
from monitors.secret_patterns import masked

MAX_TEXT = 100_000
"""Most characters looked at of one text in a tool's input."""
MAX_EDITS = 5_000
"""Most edits of one file that are looked at."""


SHELL_FIELDS = ("command", "cmd")
"""Fields of unknown tools whose value may go to a shell."""


def shell_text(scene: Scene, tool: str, given: Mapping[str, Any]) -> str | None:
    """Return the text that the call hands to a shell, or None; for unknown tools a guess on the safe side.

    Many tools of MCP servers run what they are given, as those of the CLI do. A skill has the CLI run lines of its own.
    """
    if _TOOLS.get(tool) is _skill:
        return agent_definitions.skill_script(scene, *_skill_named(given))
    if tool in QUIET or (tool in _TOOLS and tool not in SHELL_TOOLS):
        return None
    for name in SHELL_FIELDS:
        value = given.get(name)
        if isinstance(value, str):
            behind = given.get("args")
            shell = isinstance(behind, (list, tuple)) and program_name(value.strip()) in SHELLS
            words = behind[: mcp.MAX_WORDS] if shell and behind else ()
            return shlex.join([value, *words]) if words and all(isinstance(word, str) for word in words) else value
        words = value[: mcp.MAX_WORDS] if isinstance(value, (list, tuple)) else ()
        if words and all(isinstance(word, str) for word in words):
            return shlex.join(words)
    return None


def in_background(tool: str, given: Mapping[str, Any]) -> bool:
    """Whether the CLI goes on without waiting for what the call hands to a shell."""
    return tool == "Monitor" or given.get("run_in_background") is True


def is_known(tool: str) -> bool:
    """Whether it is known what the tool does; one that is not is reviewed by what its input looks like."""
    return tool in _TOOLS or tool in QUIET or tool in SHELL_TOOLS


def findings(scene: Scene, tool: str, given: Mapping[str, Any]) -> Iterator[Finding]:
    """Return the findings about the tool call, apart from its shell text."""
    handler = _TOOLS.get(tool)
    if handler is not None:
        yield from (found for found in handler(scene, given) if found is not None)
    elif tool.startswith("mcp__"):
        yield from (found for found in _mcp(scene, tool, given) if found is not None)
    elif tool not in QUIET:
        yield Finding(
            "tools.unknown",
            levels.MODERATE,
            "",
            effect=effect("tool_call", f"calls {tool}, a tool not known here", target=tool),
        )
        yield from mcp.findings(scene, f"unknown__unknown__{tool}", given)
        yield from (found for found in _named_paths(scene, given) if found is not None)


QUIET = frozenset({"TodoWrite", "TodoRead", "ExitPlanMode", "EnterPlanMode", "AskUserQuestion", "BashOutput", "TaskOutput", "ListMcpResourcesTool", "ToolSearch", "LSP", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList", "ListAgents", "ReportFindings", "CronList", "CronDelete", "EnterWorktree"})  # fmt: skip
"""Tools of the CLI that touch nothing outside its own conversation."""


def text(given: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that is a text."""
    for name in names:
        found = given.get(name)
        if isinstance(found, str):
            return found
    return ""


def _write(scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    path = text(given, "file_path", "notebook_path", "path")
    if not path:
        yield Finding(
            "tools.malformed",
            levels.HARM,
            "names no file to write",
            "Give file_path as a text.",
            effect=effect("file_write", "writes to no file that could be named"),
        )
        return
    absolute = scene.places.absolute(path)
    grounds.of_target(scene, absolute)
    whole_text = text(given, "content") if "content" in given else None
    long = writes_long(scene, absolute, whole_text, "Edit" if whole_text is None else "Write")
    if long is not None:
        scene.origins.append(long)
    elif scene.past and "content" in given:
        scene.origins.append(Origin(absolute, "own", ""))
    yield writes_path(scene, absolute)
    yield from secret_words(scene, absolute)
    edits = given.get("edits")
    if isinstance(edits, (list, tuple)) and len(edits) > MAX_EDITS:
        yield not_read_to_its_end(f"makes more than {MAX_EDITS} edits at once", "Make them in parts.", "edits")
    for name, new in new_texts(given).items():
        yield from definition_findings(scene, absolute, text(given, name) or new)
    pieces = new_texts(given).values()
    before, after = _edited(scene, absolute, given) if whole_text is None else ("", whole_text)
    yield from written.findings(
        scene, absolute, pieces if after is None else [after], before, text(given, "old_string")
    )
    yield from texts.findings(
        scene,
        absolute,
        _old_text(given) if whole_text is None else None,
        "\n".join(pieces) if whole_text is None else whole_text,
        whole=whole_text is not None,
    )
    scene.origins += written.harm_left(
        scene, absolute, "\n".join(pieces) if after is None else after, whole=after is not None
    )
    whole = "\n".join(_texts(given, depth=3))[:MAX_TEXT]
    if masked(whole) != whole:
        served = _SERVED.search(scene.places.shown(absolute)) is not None
        yield Finding(
            "secrets.written",
            levels.HARM if served else levels.CARE,
            f"writes what looks like a secret into {path}{', which a server hands out' if served else ''}",
            "Read it from the environment instead.",
            effect=effect("secret_write", f"a secret is written into {path}", target=path),
        )


_SERVED = later(r"(?:\A|/)(?:public|static|wwwroot|htdocs|public_html|www)/[^/][^\n]{0,500}\Z")
"""Files that a web server hands to everybody."""


def _edited(scene: Scene, path: str, given: Mapping[str, Any]) -> tuple[str, str | None]:
    """The text of a file before and after one edit; None for what is not known."""
    before, old = scene.facts.text(path, MAX_TEXT), text(given, "old_string")
    if before is None or not old or old not in before or "edits" in given:
        return "", None
    return before, before.replace(old, text(given, "new_string"), -1 if given.get("replace_all") is True else 1)


def _old_text(given: Mapping[str, Any]) -> str | None:
    """Return the pieces that edits of a file replace; None if they name none."""
    edits = given.get("edits")
    many = [each for each in edits[:MAX_EDITS] if isinstance(each, Mapping)] if isinstance(edits, (list, tuple)) else []
    return (
        "\n".join(text(each, "old_string", "oldText") for each in (given, *many))
        if many or "old_string" in given
        else None
    )


def new_texts(given: Mapping[str, Any]) -> dict[str, str]:
    """The texts that a tool of the CLI writes."""
    texts = {name: text(given, name) for name in ("content", "new_string", "new_source")}
    edits = given.get("edits")
    if isinstance(edits, (list, tuple)):
        texts["edits"] = "\n".join(
            text(each, "new_string", "newText") for each in edits[:MAX_EDITS] if isinstance(each, Mapping)
        )
    return {name: found for name, found in texts.items() if found}


def _read(scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    path = text(given, "file_path", "notebook_path", "path")
    if not path:
        return
    absolute = scene.places.absolute(path)
    scene.touch(absolute, "read")
    if scene.past and shown(scene, absolute):
        scene.origins.append(Origin(absolute, "own", ""))
    if scene.places.is_own(absolute):
        yield _guard(path)
    real = scene.facts.real(absolute)
    chosen = [f"{absolute}/{glob}"] if (glob := text(given, "glob").lstrip("/")) else []
    what = next(filter(None, map(scene.places.secret, (absolute, real, *chosen))), "")
    if what:
        yield Finding(
            "secrets.read",
            levels.HARM,
            f"reads {what}: {path}",
            "Ask the person for what is needed; secrets do not belong in a conversation.",
            effect=effect("secret_read", f"reads {what} in {path}", target=path),
        )
    elif scene.places.project_secret(absolute):
        yield Finding(
            "secrets.project",
            levels.CARE,
            f"shows what looks like secrets of the project: {path}",
            "Name the one value that is needed.",
            effect=effect("secret_read", f"shows {path}", target=path),
        )
    yield from secret_words(scene, absolute)


def _list(scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    """Names alone tell no secret."""
    yield from (found for found in _read(scene, given) if found is not None and not found.rule.startswith("secrets."))


def _guard(path: str) -> Finding:
    return Finding(
        "chaperon.self-protection",
        1.0,
        f"reaches for the guard that watches this agent: {path[:200]}",
        "Leave chaperon's files alone; ask a person.",
        effect=effect("guard", f"touches {path[:200]}", target=path[:200]),
        stop=True,
    )


_METADATA_HOSTS = frozenset(
    {"169.254.169.254", "metadata.google.internal", "metadata", "100.100.100.200", "fd00:ec2::254"}
)


def _fetch(_scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    url = text(given, "url")[:4096]
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
    except ValueError:
        yield Finding(
            "tools.malformed",
            levels.CARE,
            "names an address that is none",
            "Give a whole address.",
            effect=effect("network", "asks an address that is none"),
        )
        return
    yield Finding(
        "network.fetch",
        levels.NOTED,
        "",
        effect=effect("network", f"asks {host or url[:200]}", target=host, reversible=True),
    )
    if host in _METADATA_HOSTS:
        yield Finding(
            "network.metadata",
            levels.HARM,
            f"asks {host}, which hands out the machine's credentials",
            "Leave the metadata service alone.",
            effect=effect("secret_read", f"asks {host}", target=host),
        )
    elif parts.scheme not in ("http", "https", ""):
        yield Finding(
            "network.scheme",
            levels.HARM,
            f"fetches by {parts.scheme}:, past the web",
            "Use http or https.",
            effect=effect("network", f"fetches {url[:200]}"),
        )
    elif _private(host):
        yield Finding(
            "network.private",
            levels.MODERATE,
            "",
            effect=effect("network", f"asks {host}, a host of the local network", target=host),
        )
    if pages.loses_by_address(url):
        yield pages.lost_by_address(url)
    if _TAKES_ORDERS.search(text(given, "prompt")[:4_000]):
        yield Finding(
            "web.orders",
            levels.HARM,
            f"asks {host} for commands that are then run unread",
            "Ask what the page says, and decide from it what to run.",
            effect=effect("network", f"asks {host} for commands", target=host),
        )
    yield _outgoing(given)
    if not pages.is_own(url) and _key_in_address(parts.query):
        yield sent_secret("sends what looks like a key in an address", "Leave the key out.")


_TAKES_ORDERS = later(
    r"\b(?:commands?|scripts?|code|instructions?)\b[^.\n]{0,80}\b(?:will be|to be|are|get) (?:then )?(?:executed|run)\b[^.\n]{0,60}\b(?:without|unread|verbatim|as is|blindly|immediately|next)\b"
    r"|\b(?:execute|run|follow|obey) (?:them|it|all|any|every|whatever)\b[^.\n]{0,60}\b(?:without|unread|verbatim|blindly)\b",
    re.IGNORECASE,
)
"""Prompts by which a page tells what is run."""


def _private(host: str) -> bool:
    try:
        return ip_address(host).is_private
    except ValueError:
        return host.endswith((".internal", ".local", ".lan", ".corp"))


_KEYS = frozenset({"k", "key", "s", "secret", "secret_key", "access_key", "aws", "pw", "pass", "passwd", "password", "pwd", "env", "creds", "credentials", "d", "data"})  # fmt: skip
"""Names under which keys are carried off in an address."""
_LONG_KEY = later(r"(?=[^ ]{0,200}[a-z])(?=[^ ]{0,200}[A-Z])(?=[^ ]{0,200}\d)[A-Za-z0-9+/_-]{24,200}={0,2}\Z")
"""A value in which nothing can be read: letters of both cases and digits, without a word's end."""
_CLOUD_KEY = later(r"A(?:KIA|SIA|IDA)[A-Z0-9]{12,30}\Z")


def _key_in_address(query: str) -> bool:
    """Whether a field of an address has a key as its value, by its looks and its name."""
    for name, values in parse_qs(query[:4096], max_num_fields=100).items():
        plain = name.lower() in _KEYS and any(map(_LONG_KEY.match, values))
        if plain or any(map(_CLOUD_KEY.match, values)):
            return True
    return False


def _search(_scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    yield Finding(
        "network.search",
        levels.NOTED,
        "",
        effect=effect("network", f"searches the web: {text(given, 'query')[:200]}", reversible=True),
    )
    yield _outgoing(given)


def _outgoing(given: Mapping[str, Any], *, settings: bool = False) -> Finding | None:
    """A secret among what would leave the machine; settings with a secret among them too, if they are asked for."""
    said = (one for text in _texts(given, depth=4) for one in (text, *_plain(text)))
    if not any(masked(one) != one or (settings and sets_secret(one)) for one in said):
        return None
    why = "sends what looks like a secret to another machine"
    return sent_secret(why, "Leave the secret out.", details="sends a secret away", rewrite="mask")


_ENCODED = later(r"[A-Za-z0-9+/_-]{40,}")
"""Long enough for the beginning of a key, in base64."""
_ALL_ENCODED = later(r"[A-Za-z0-9+/]{16,400}={0,2}\Z")
"""A short text that may be encoded as a whole."""
_MAX_ENCODED = 50


def _plain(text: str) -> Iterator[str]:
    """Yield what a text says that is encoded as in an address: by percent signs, or by base64."""
    if "%" in text:
        yield unquote(text)
    if _ALL_ENCODED.match(text):
        yield base64.b64decode(text[: len(text) // 4 * 4]).decode("latin-1")
    for match in islice(_ENCODED.finditer(text), _MAX_ENCODED):
        encoded = match[0].replace("-", "+").replace("_", "/")
        yield base64.b64decode(encoded[: len(encoded) // 4 * 4]).decode("latin-1")


def _subagent(scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    if given.get("isolation") == "remote":
        yield Finding(
            "tools.remote",
            levels.HARM,
            "starts an agent on another machine, where nobody reviews what it does",
            "Let it run here: leave isolation out.",
            effect=effect("process", "starts an agent on another machine"),
        )
    if given.get("isolation") == "worktree":
        yield from _enter_worktree(scene, given)
    yield Finding(
        "tools.subagent",
        levels.MINOR,
        "",
        effect=effect("process", f"starts a subagent: {text(given, 'description', 'subagent_type')[:200]}"),
    )
    yield from agent_definitions.subagent_used(scene, text(given, "subagent_type")[:500])


def _enter_worktree(_scene: Scene, _given: Mapping[str, Any]) -> Iterator[Finding | None]:
    yield Finding(
        "tools.worktree",
        levels.CARE,
        "works in a worktree of the CLI's own, which no checkpoint and no merge has",
        "Work in the workspace itself, and leave isolation out.",
        effect=effect("process", "works in a worktree below .claude/worktrees"),
    )


def _workflow(_scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    """Its script can start subagents and nothing else (seen with CLI 2.1.329), and what those do is reviewed."""
    named = text(given, "name", "scriptPath") or "a script"
    yield Finding("tools.subagent", levels.MINOR, "", effect=effect("process", f"starts subagents: {named[:200]}"))


def _skill(scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    name, arguments = _skill_named(given)
    yield from agent_definitions.skill_used(scene, name)
    yield from secret_links(scene, agent_definitions.skill_links(scene, name))
    for path in agent_definitions.skill_mentions(scene, name, arguments):
        yield from _read(scene, {"file_path": path})


def _skill_named(given: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name of the skill or command, and its arguments; a command brings both in one text."""
    name, _, rest = text(given, "skill", "command").lstrip("/").partition(" ")
    return name[:500], " ".join(filter(None, (rest, text(given, "args"))))


def _monitor(_scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    socket = given.get("ws")
    if isinstance(socket, Mapping):
        url = text(socket, "url")[:200]
        yield Finding("network.fetch", levels.NOTED, "", effect=effect("network", f"listens to {url}", target=url))


def _message(_scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    """Yield findings for a message to another session of this machine, which may not be reviewed."""
    to = text(given, "to")[:200]
    yield Finding("tools.message", levels.MINOR, "", effect=effect("message", f"writes to {to}", target=to))
    yield _outgoing(given)


def _wakeup(scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    """The CLI says that it wakes its model later; in a run of one turn it has ended by then (seen with CLI 2.1.329)."""
    if scene.one_turn and given.get("stop") is not True:
        yield Finding(
            "tools.after-the-run",
            levels.HARM,
            "puts off work to when this run has ended: it ends with this turn",
            "Do it in this turn, or wait for a command in the background, whose end starts another turn.",
            effect=effect("process", "puts off work to when the run has ended"),
        )


def _schedule(scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    yield from _wakeup(scene, given)
    if given.get("durable") is True:
        yield Finding(
            "tools.durable-schedule",
            levels.CARE,
            "leaves a task behind for later sessions, which nobody may watch over",
            "Leave durable out, or write down for a person what is to be done later.",
            effect=effect("startup", "leaves a task behind for later sessions"),
        )


def _leave_worktree(_scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    if given.get("discard_changes") is True:
        yield Finding(
            "git.worktree-remove",
            levels.HARM,
            "deletes a worktree with changes in it",
            "Commit what is in it first, or keep it.",
            effect=effect("git_discard", "deletes a worktree with what is not committed or merged"),
        )


def _kill(_scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    yield Finding(
        "tools.kill-shell",
        levels.NOTED,
        "",
        effect=effect("process_signal", f"ends the background command {text(given, 'shell_id', 'task_id')[:100]}"),
    )


_MCP_READS = re.compile(
    r"(?:^|_)(?:get|list|read|search|query|describe|fetch|find|show|view|lookup|count|status|info|help|resolve|browse_read|snapshot|screenshot)(?:_|$)|^(?:get|list|read|search|find|fetch)[A-Z]"
)
_MCP_DESTROYS = re.compile(
    r"(?:^|_)(?:delete|destroy|drop|purge|remove|truncate|terminate|wipe|erase|revoke|force_push|reset_hard|merge(?!_requests?(?:_|$))|archive|uninstall)(?:_|$)|^(?:delete|destroy|drop|purge|remove)[A-Z]"
)
"""A request to merge is a thing, which tools show, make and speak of."""


_MANY = re.compile(r"(?:^|_)(?:batch|bulk|all|everything|many|mass)(?:_|$)")
"""Parts of names of tools that do a thing to many at once."""


def _reads_by_name(tool: str) -> bool:
    return _MCP_READS.search(_own_name(tool)) is not None and not services.destroys_shared(tool)


def _own_name(tool: str) -> str:
    """Return the name of a tool without that of its server, its words parted by `_`."""
    return tool.rsplit("__", 1)[-1].replace("-", "_")


def _mcp(scene: Scene, tool: str, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    """Yield findings by annotations if they are known, else by the tool's name: servers name what they do."""
    name = _own_name(tool)
    hints = scene.settings.tool_hints.get(tool, {})
    destroys = hints.get("destructiveHint", _MCP_DESTROYS.search(name) is not None)
    if hints.get("readOnlyHint", _reads_by_name(tool) and not destroys):
        yield Finding(
            "tools.mcp-read",
            levels.NOTED,
            "",
            effect=effect("network", f"asks {tool}", target=tool, reversible=True)
            if hints.get("openWorldHint", True)
            else None,
        )
    elif (
        destroys
        and not services.for_trial(given)
        and ((services.destroys_shared(tool) and "destructiveHint" not in hints) or _MANY.search(name))
    ):
        yield services.destroying(tool)
    elif destroys:
        yield Finding(
            "tools.mcp-destroys",
            levels.HARM if "destructiveHint" not in hints and services.takes_from_others(tool, given) else levels.CARE,
            f"asks {tool} to take something away",
            "Read first what would go, and let a person do it where it matters.",
            effect=effect("tool_call", f"calls {tool}, which takes something away", target=tool),
        )
    elif services.destroys_shared(tool) and not services.in_test_mode(given) and not services.at_hand(given):
        yield services.destroying(tool)
    else:
        yield Finding("tools.mcp", levels.MINOR, "", effect=effect("tool_call", f"calls {tool}", target=tool))
    yield _outgoing(given, settings=services.leaves(tool))
    for address in (given[key] for key in ("url", "uri", "endpoint") if isinstance(given.get(key), str)):
        yield from (found for found in _fetch(scene, {"url": address}) if found and found.rule in _OF_ADDRESSES)
    yield from _named_paths(scene, given)
    yield from mcp.findings(scene, tool, given)


_OF_ADDRESSES = frozenset({"network.metadata", "web.delete", "secrets.send"})
"""Rules about what is fetched that count for every tool; another scheme may be one of a store, or of the editor."""


def _named_paths(scene: Scene, given: Mapping[str, Any]) -> Iterator[Finding | None]:
    """Paths in the input of tools whose fields are not known: the guard's own, and secrets."""
    for one in _texts(given, depth=4):
        if len(one) > 4096 or "/" not in one:
            continue
        path = scene.places.absolute(one)
        if scene.places.is_protected(path):
            yield _guard(one)
        what = scene.places.secret(path)
        if what:
            yield Finding(
                "secrets.read",
                levels.HARM,
                f"reaches for {what}: {one[:200]}",
                "Secrets do not belong in a conversation.",
                effect=effect("secret_read", f"reaches for {what}", target=one[:200]),
            )


def _texts(given: object, depth: int) -> Iterator[str]:
    if isinstance(given, str):
        yield given[:MAX_TEXT]
    elif depth and isinstance(given, Mapping):
        for value in list(given.values())[:200]:
            yield from _texts(value, depth - 1)
    elif depth and isinstance(given, (list, tuple)):
        for value in given[:200]:
            yield from _texts(value, depth - 1)


_TOOLS: dict[str, Callable[[Scene, Mapping[str, Any]], Iterator[Finding | None]]] = {
    "Write": _write, "Edit": _write, "MultiEdit": _write, "NotebookEdit": _write,
    "Read": _read, "Glob": _list, "Grep": _read, "LS": _list, "NotebookRead": _read, "ReadMcpResourceTool": _read,
    "WebFetch": _fetch, "WebSearch": _search, "Task": _subagent, "Agent": _subagent, "Workflow": _workflow,
    "Skill": _skill, "SlashCommand": _skill, "Monitor": _monitor, "SendMessage": _message, "CronCreate": _schedule, "ScheduleWakeup": _wakeup, "EnterWorktree": _enter_worktree, "ExitWorktree": _leave_worktree,
    "KillShell": _kill, "KillBash": _kill, "TaskStop": _kill,
}  # fmt: skip
