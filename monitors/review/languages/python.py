"""Python by its syntax tree."""

import ast
import warnings
from collections.abc import Iterator
from itertools import islice

from monitors.review.languages.uses import FED, Uses

MAX_NODES = 20_000
"""Most nodes of a tree gone through."""

_RUNS = frozenset({"system", "popen", "run", "call", "check_call", "check_output", "Popen", "getoutput", "getstatusoutput", "spawn", "create_subprocess_shell", "spawnl", "spawnv", "spawnlp", "spawnvp", "posix_spawn"})  # fmt: skip
_RUN_OWNERS = frozenset({"os", "subprocess", "sp", "pty", "commands", "asyncio", "popen2", "pexpect", ""})
_EXECS = frozenset({"execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe"})
_DELETES = frozenset({"rmtree", "remove", "unlink", "rmdir", "removedirs", "truncate"})
_WRITES = frozenset(
    {
        "write_text",
        "write_bytes",
        "copy",
        "copyfile",
        "copy2",
        "copytree",
        "move",
        "rename",
        "replace",
        "symlink",
        "link",
        "makedirs",
        "mkdir",
        "touch",
        "chmod",
        "chown",
        "urlretrieve",
    }
)
_CONNECTS = frozenset(
    {"urlopen", "urlretrieve", "Request", "create_connection", "HTTPConnection", "HTTPSConnection", "FTP", "SMTP"}
)
_HTTP = frozenset({"requests", "httpx", "aiohttp", "urllib3"})
_LISTENS = frozenset({"serve_forever", "listen", "HTTPServer", "TCPServer", "run_server"})
_FIRST = frozenset({"rmtree", "remove", "unlink", "rmdir", "removedirs", "truncate", "makedirs", "mkdir"})


def uses_of(code: str) -> Uses | None:
    """Return the effects of the code, or None if it is not Python 3."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = Uses()
    names: dict[str, ast.expr] = {}
    aliases: dict[str, str] = {}
    nodes = list(islice(ast.walk(tree), MAX_NODES + 1))
    if len(nodes) > MAX_NODES:
        found.hidden = "more than a review goes through"
        nodes.pop()
    for node in nodes:
        if isinstance(node, (ast.For, ast.comprehension)):
            _looped(node, names)
    for node in nodes:
        _node(node, found, names, aliases)
    return found


def _looped(node: ast.For | ast.comprehension, names: dict[str, ast.expr]) -> None:
    """A loop's variable stands for what it is taken from; of several, as `os.walk` gives them, the first."""
    target = node.target.elts[0] if isinstance(node.target, ast.Tuple) and node.target.elts else node.target
    if isinstance(target, ast.Name):
        names.setdefault(target.id, node.iter)


def _node(node: ast.AST, found: Uses, names: dict[str, ast.expr], aliases: dict[str, str]) -> None:
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        names[node.targets[0].id] = node.value
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            aliases[alias.asname or alias.name] = alias.name
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        if "/" in node.value or node.value[:1] == "~":
            found.reads.append(node.value[:1000])
    elif isinstance(node, ast.Call):
        _call(node, found, names, aliases)


def _call(call: ast.Call, found: Uses, names: dict[str, ast.expr], aliases: dict[str, str]) -> None:
    owner, name = _named(call.func)
    name = aliases.get(name, name) if not owner else name
    owner = aliases.get(owner, owner)
    texts = [_text(argument, names) for argument in call.args]
    first = texts[0] if texts else None
    if name in _RUNS and owner in _RUN_OWNERS and (owner or name != "remove"):
        _run(call, found, names, first)
    elif name in _EXECS:
        found.runs = True
        found.scripts.append(_quoted([text for text in texts[:1] if text]))
    elif name in _DELETES and (name not in _ALSO_LISTS or owner in ("os", "shutil", "")):
        found.deletes.append(first if first is not None else _receiver(call.func, names))
        if name == "rmtree":
            found.deletes.append(found.deletes.pop() + "/")
    elif name == "open" or (name in _WRITES and not (name in _ALSO_TEXT and len(texts) > 1 and owner not in _FILES)):
        _opened(call, found, names, name, texts)
    elif name in ("exec", "eval") and not isinstance(call.args[0] if call.args else None, ast.Constant):
        found.hidden = found.hidden or _hidden(call)
    if (
        name in _CONNECTS
        or owner in _HTTP
        or (name == "connect" and owner not in ("sqlite3", "psycopg2", "db", "pymysql", "MySQLdb", "duckdb"))
    ):
        found.connects = True
        found.sends = (
            found.sends
            or name in ("post", "put")
            or len(call.args) > 1
            or bool({"data", "files", "json"}.intersection(keyword.arg or "" for keyword in call.keywords))
        )
    if name in _LISTENS or (name == "test" and owner == "server"):
        found.listens = True


_ALSO_TEXT = frozenset({"replace", "rename", "copy", "link", "move"})
"""Names that texts and tables have as well. With two operands they concern files only if they are called on the
module."""
_FILES = frozenset({"os", "shutil", "path", ""})
_MOVES = frozenset({"move", "rename", "replace", "renames"})
_ALSO_LISTS = frozenset({"remove", "truncate"})
"""Names that lists, sets and open files have as well: they delete only if they are called on the module."""


def _run(call: ast.Call, found: Uses, names: dict[str, ast.expr], first: str | None) -> None:
    found.runs = True
    argument = (
        call.args[0] if call.args else next((keyword.value for keyword in call.keywords if keyword.arg == "args"), None)
    )
    argument = names.get(argument.id, argument) if isinstance(argument, ast.Name) else argument
    if isinstance(argument, (ast.List, ast.Tuple)):
        found.scripts.append(_quoted([_text(element, names) or "$UNKNOWN" for element in argument.elts]))
    elif first is not None:
        found.scripts.append(first)
    elif argument is not None:
        found.hidden = found.hidden or "runs a command that is put together as it goes"


def _opened(call: ast.Call, found: Uses, names: dict[str, ast.expr], name: str, texts: list[str | None]) -> None:
    if name == "open":
        mode = (
            texts[1]
            if len(texts) > 1
            else next((_text(keyword.value, names) for keyword in call.keywords if keyword.arg == "mode"), "r")
        )
        if mode and any(letter in mode for letter in "wax+") and texts and texts[0]:
            found.writes.append(texts[0])
        elif mode and any(letter in mode for letter in "wax+") and not texts:
            found.writes.append(_receiver(call.func, names))
        return
    known = [text for text in texts if text]
    if name in _MOVES and len(texts) > 1 and texts[0]:
        found.moves.append(texts[0])
    if name in ("write_text", "write_bytes", "touch"):
        found.writes.append(_receiver(call.func, names))
    elif known:
        found.writes.append(known[0] if name in _FIRST or name in ("chmod", "chown") else known[-1])


def _named(function: ast.expr) -> tuple[str, str]:
    """Owner and name of what is called: `("os", "system")`."""
    if isinstance(function, ast.Name):
        return "", function.id
    if isinstance(function, ast.Attribute):
        owner = function.value
        if isinstance(owner, ast.Name):
            return owner.id, function.attr
        if isinstance(owner, ast.Attribute):
            return owner.attr, function.attr
        if (
            isinstance(owner, ast.Call)
            and isinstance(owner.func, ast.Name)
            and owner.func.id == "__import__"
            and owner.args
        ):
            return _text(owner.args[0], {}) or "?", function.attr
        return "?", function.attr
    if isinstance(function, ast.Call):
        _, name = _named(function.func)
        if name == "getattr" and len(function.args) > 1:
            return "", _text(function.args[1], {}) or "?"
    return "?", "?"


def _receiver(function: ast.expr, names: dict[str, ast.expr]) -> str:
    """The path of `Path("x").unlink()`."""
    if isinstance(function, ast.Attribute):
        owner: ast.expr = function.value
        owner = names.get(owner.id, owner) if isinstance(owner, ast.Name) else owner
        return _text(owner, names) or "$UNKNOWN"
    return "$UNKNOWN"


def _text(node: ast.expr, names: dict[str, ast.expr], depth: int = 0) -> str | None:
    """The text that an expression makes, where it follows from the code."""
    if depth > 20:
        return None
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name) and node.id in names:
        others = {name: value for name, value in names.items() if name != node.id}
        return _text(names[node.id], others, depth + 4)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
        left, right = _text(node.left, names, depth + 1), _text(node.right, names, depth + 1)
        return None if left is None or right is None else left + ("/" if isinstance(node.op, ast.Div) else "") + right
    if isinstance(node, ast.JoinedStr):
        return "".join(
            _text(value, names, depth + 1) or "$UNKNOWN" if isinstance(value, ast.Constant) else "$UNKNOWN"
            for value in node.values
        )
    if isinstance(node, ast.Call):
        return _called_text(node, names, depth)
    return None


def _called_text(node: ast.Call, names: dict[str, ast.expr], depth: int) -> str | None:
    owner, name = _named(node.func)
    parts = [_text(argument, names, depth + 1) for argument in node.args]
    if name in ("expanduser", "Path", "PosixPath", "abspath", "realpath", "str", "fspath") and len(parts) == 1:
        return parts[0]
    if name in ("join", "joinpath") and owner in ("path", "os") and parts and parts[0] is not None:
        return "/".join("{}" if part is None else part for part in parts)
    if name == "home":
        return "~"
    if name in _LISTS:
        inside = parts[0] if parts and owner in ("os", "glob", "") else _receiver(node.func, names)
        return inside if owner == "glob" or inside in (None, "$UNKNOWN") else f"{inside}/{{}}"
    if name in ("sorted", "list", "reversed", "set", "tqdm") and parts:
        return parts[0]
    return None


_LISTS = frozenset({"walk", "listdir", "scandir", "iterdir", "glob", "iglob", "rglob"})
"""Calls that give what is in a directory, as paths to go on with."""


def _quoted(words: list[str]) -> str:
    return " ".join(word if word == "$UNKNOWN" else "'" + word.replace("'", "'\\''") + "'" for word in words)


def _hidden(call: ast.Call) -> str:
    """Return how the code for `exec` or `eval` is hidden; empty if it is not decoded, downloaded or read."""
    inner = {_named(one.func) for one in _calls(call)}
    if {name for _, name in inner} & {
        "b64decode",
        "decode",
        "decompress",
        "fromhex",
        "unhexlify",
        "urlopen",
        "loads",
        "get",
    }:
        return "decodes and runs code"
    if ("stdin", "read") in inner:
        return FED
    return "decodes and runs code" if "read" in {name for _, name in inner} else ""


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    for child in ast.walk(node):
        if isinstance(child, ast.Call) and child is not node:
            yield child
