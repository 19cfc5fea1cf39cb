"""Python by its syntax tree: the statements in their order, with what their expressions can be.

Calls of the code's own functions are followed, loops over known lists run for each item, and code that is given to
`exec` as a known text is read like the rest. Functions that nothing calls are read with operands that are not known.
"""

import ast
import re
import warnings
from collections.abc import Mapping, Sequence

from monitors.review.languages.code import sinks
from monitors.review.languages.code.constants import (
    HOLE,
    LISTS,
    MAX_DEPTH,
    MAX_ITEMS,
    SCRATCH,
    UNKNOWN,
    Local,
    Method,
    Name,
    OpenFile,
    PartialFunction,
    Value,
    binary,
    cut,
    joined,
    method,
    partly,
    pure,
    text_of,
)
from monitors.review.languages.code.uses import FED, Uses
from monitors.review.shell.secret_names import mark, names_secret

MAX_NODES = 12_000
"""Most nodes of a tree gone through. Code of 20,000 characters has 1,600 to 4,000, a table of short numbers 7,000."""
AS_CHARACTERS = 6
"""How many characters of code a node counts for: it takes 3 us, and a character of other languages half of one. There
are eight or more to a node, but for code that is all names and marks."""
MAX_STEPS = 20_000
"""Most expressions and statements gone through, those of functions once for each call."""
MAX_CALLS = 8
"""Deepest calls of the code's own functions, and of code in code."""


def uses_of(code: str, argv: Sequence[str | None] = ()) -> Uses | None:
    """Return the effects of the code, or None if it is not Python 3.

    Args:
        code: The text.
        argv: Words that the code gets as `sys.argv[1:]`; None for one that is not known.
    """
    tree = _parsed(code)
    if tree is None:
        return None
    found = Uses()
    nodes: list[ast.AST] = [tree]
    for node in nodes:  # which grows meanwhile
        nodes += _children(node)
        if len(nodes) > MAX_NODES:
            found.cut = f"code of more than {MAX_NODES} expressions and statements"
            found.length = AS_CHARACTERS * len(nodes)
            return found
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            sinks.named(found, node.value)
    found.length = AS_CHARACTERS * len(nodes)
    reading = _Reading(found, argv)
    reading.whole(tree)
    return found


_PARTS: dict[type[ast.AST], tuple[str, ...]] = {
    kind: tuple(name for name in kind._fields if name not in ("id", "attr", "arg", "kind", "ctx", "type_comment"))
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
"""The fields of each kind of node that may hold others: half of those of a program hold none."""


def _children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes right below one, without those that only name an operator: `ast` takes three times as long."""
    found: list[ast.AST] = []
    for name in _PARTS[type(node)]:
        part = getattr(node, name, None)
        if isinstance(part, list):
            found += [each for each in part if isinstance(each, ast.AST)]
        elif isinstance(part, ast.AST) and part._fields:
            found.append(part)
    return found


def _parsed(code: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _EndedError(Exception):
    """More steps than a review goes through."""


class _Reading:
    """One pass over a program."""

    def __init__(self, found: Uses, argv: Sequence[str | None]) -> None:
        self._found = found
        self._argv: tuple[Value, ...] = ("script", *(UNKNOWN if word is None else word for word in argv))
        self._names: dict[str, Value] = {}
        self._methods: dict[str, Local] = {}
        self._environment: dict[str, Value] = {"HOME": "~", "PWD": "."}
        self._functions: list[Local] = []
        self._called: set[int] = set()
        self._active: list[int] = []  # functions that are being gone through: none is within itself
        self._steps = 0
        self._passes = 1  # of the loops that are being gone through, one within the other
        self._deep = 0
        self._result: Value = UNKNOWN
        self._quiet = False

    def whole(self, tree: ast.Module) -> None:
        """Go through the statements, then through functions that nothing called."""
        try:
            self._block(tree.body)
            self._quiet = True
            for function in self._functions:
                if id(function.node) not in self._called:
                    self._run(function, (), _sent(function.node))
        except _EndedError:
            self._found.cut = f"code of more than {MAX_STEPS} steps"
        except RecursionError:
            self._found.cut = "code that is nested too deep"

    # ── statements ────────────────────────────────────────────────────────────────────────────────────────────────

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise _EndedError

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        self._step()
        if isinstance(node, ast.Expr):  # most are calls
            self._value(node.value)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._imported(node)
        elif isinstance(node, ast.Assign):
            value = self._value(node.value)
            for target in node.targets:
                self._bind(target, value)
        elif isinstance(node, ast.AugAssign):
            self._bind(node.target, binary(node.op, self._value(node.target), self._value(node.value)))
        elif isinstance(node, ast.AnnAssign):
            self._bind(node.target, self._value(node.value) if node.value else UNKNOWN)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._defined(node)
        elif isinstance(node, ast.ClassDef):
            self._class(node)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._loop(node)
        elif isinstance(node, ast.Return):
            self._result = self._value(node.value) if node.value else None
        else:
            self._compound(node)

    def _compound(self, node: ast.stmt) -> None:
        """Any other statement: its expressions, then its blocks one after the other."""
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                value = self._value(item.context_expr)
                if item.optional_vars is not None:
                    self._bind(item.optional_vars, value)
            self._block(node.body)
            return
        if isinstance(node, ast.While) and self._grows_for_ever(node):
            self._found.bomb = True
        for child in _children(node):
            if isinstance(child, ast.stmt):
                self._statement(child)
            elif isinstance(child, ast.expr):
                self._value(child)
            elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
                self._block(child.body)

    def _grows_for_ever(self, node: ast.While) -> bool:
        """Whether a loop does nothing but take memory, and nothing ends it."""
        if not (isinstance(node.test, ast.Constant) and node.test.value):
            return False
        grows = False
        nodes: list[ast.AST] = list(node.body)
        for one in nodes:  # which grows meanwhile
            self._step()
            name = _called_name(one)
            if isinstance(one, _ENDS) or (name and name not in _GROWS):
                return False
            grows = grows or name in ("append", "extend")
            nodes += _children(one)
        return grows

    def _imported(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                self._names[alias.asname or alias.name] = Name(f"{node.module or ''}.{alias.name}".lstrip("."))
            else:
                top = alias.name if alias.asname else alias.name.partition(".")[0]
                self._names[alias.asname or top] = Name(top)
            self._found.imports.add((node.module or "" if isinstance(node, ast.ImportFrom) else alias.name).partition(".")[0])  # fmt: skip

    def _defined(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function = Local(node)
        self._names[node.name] = function
        self._functions.append(function)
        for decorator in node.decorator_list:
            self._value(decorator)

    def _class(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                function = Local(statement)
                self._methods[statement.name] = function
                self._functions.append(function)
            else:
                self._statement(statement)

    def _loop(self, node: ast.For | ast.AsyncFor) -> None:
        over = self._value(node.iter)
        items, before = self._each(over), self._passes
        self._passes *= len(items)
        long = not isinstance(over, tuple) or len(over) >= sinks.MANY or UNKNOWN in over
        self._found.looping += long
        for item in items:
            self._bind(node.target, item)
            self._block(node.body)
        self._found.looping -= long
        self._passes = before
        self._block(node.orelse)

    def _each(self, over: Value) -> Sequence[Value]:
        """Return what a loop binds in turn. An unknown item stands for all that loops in loops leave no pass for."""
        if not isinstance(over, tuple):
            return (self._item(over),)
        most = MAX_ITEMS // self._passes or 1
        return over[:most] if 0 < len(over) <= most else (*over[:most], UNKNOWN)

    @staticmethod
    def _item(over: Value) -> Value:
        """An item of what is looped over: of a listing, the path that stands for all in it."""
        return over if isinstance(over, str) and ("{}" in over or "*" in over) else UNKNOWN

    def _bind(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self._names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            known = value if isinstance(value, tuple) else ()
            for index, element in enumerate(target.elts[:MAX_ITEMS]):
                # Of several, as `os.walk` gives them, the first is the directory.
                first = value if not index and isinstance(value, str) else UNKNOWN
                self._bind(element, known[index] if index < len(known) else first)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value)
        elif isinstance(target, ast.Subscript):
            owner, key = self._value(target.value), self._value(target.slice)
            if owner == Name("os.environ") and isinstance(key, str):
                self._environment[key] = value
                self._found.environment[key] = partly(value)

    # ── expressions ───────────────────────────────────────────────────────────────────────────────────────────────

    def _value(self, node: ast.expr, depth: int = 0) -> Value:
        self._step()
        if depth > MAX_DEPTH:
            return UNKNOWN
        if isinstance(node, ast.Constant):
            value = node.value
            return value if isinstance(value, (str, bytes, int)) or value is None else UNKNOWN
        if isinstance(node, ast.Name):
            return self._names.get(node.id, "." if node.id == "__file__" else Name(node.id))
        if isinstance(node, ast.Attribute):
            return self._attribute(self._value(node.value, depth + 1), node.attr)
        if isinstance(node, ast.Call):
            return self._called_with(node, depth)
        if isinstance(node, ast.BinOp):
            return binary(node.op, self._value(node.left, depth + 1), self._value(node.right, depth + 1))
        if isinstance(node, ast.JoinedStr):
            return cut("".join(partly(self._value(part, depth + 1)) for part in node.values))
        if isinstance(node, ast.FormattedValue):
            return self._value(node.value, depth + 1)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return tuple(self._items(node.elts, depth + 1))
        if isinstance(node, ast.Subscript):
            return self._subscript(node, depth + 1)
        return self._other(node, depth + 1)

    def _other(self, node: ast.expr, depth: int) -> Value:
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            return self._comprehended(node, 0, depth)
        if isinstance(node, ast.Lambda):
            return Local(node)
        if isinstance(node, ast.NamedExpr):
            value = self._value(node.value, depth)
            self._bind(node.target, value)
            return value
        if isinstance(node, ast.Dict):
            return tuple(self._items(list(node.values), depth))
        values = [self._value(child, depth) for child in _children(node) if isinstance(child, ast.expr)]
        if isinstance(node, (ast.Await, ast.Starred, ast.Yield)):
            return values[0] if values else None
        if isinstance(node, ast.UnaryOp):
            number = values[0]
            return -number if isinstance(node.op, ast.USub) and isinstance(number, int) else UNKNOWN
        if isinstance(node, ast.BoolOp):
            return next((value for value in values if text_of(value)), UNKNOWN)
        if isinstance(node, ast.IfExp):
            return next((value for value in values[1:] if value is not UNKNOWN), UNKNOWN)
        return UNKNOWN

    def _items(self, nodes: Sequence[ast.expr], depth: int) -> list[Value]:
        made: list[Value] = []
        for node in nodes[:MAX_ITEMS]:
            if isinstance(node, ast.Starred):
                value = self._value(node.value, depth)
                made += value if isinstance(value, tuple) else [UNKNOWN]
            else:
                made.append(self._value(node, depth))
        if len(nodes) > MAX_ITEMS:
            for node in nodes[MAX_ITEMS:]:
                self._value(node, depth)
            made.append(UNKNOWN)
        return made

    def _attribute(self, of: Value, name: str) -> Value:
        if isinstance(of, Name):
            return "." if (of.path, name) in (("os", "curdir"), ("", "__file__")) else Name(f"{of.path}.{name}")
        if isinstance(of, str) and name in ("parent", "name", "stem"):
            return of.rpartition("/")[0] or "." if name == "parent" else of.rpartition("/")[2]
        return Method(of, name)

    def _subscript(self, node: ast.Subscript, depth: int) -> Value:
        of = self._value(node.value, depth)
        of = self._argv if of == Name("sys.argv") else of
        if isinstance(node.slice, ast.Slice):
            return self._sliced(of, node.slice, depth)
        key = self._value(node.slice, depth)
        if of == Name("os.environ"):
            return self._variable(key) if isinstance(key, str) else UNKNOWN
        if sinks.is_sent(of):
            return of
        if isinstance(of, (tuple, str)) and isinstance(key, int):
            return of[key] if -len(of) <= key < len(of) else UNKNOWN
        if isinstance(of, tuple) and isinstance(node.value, ast.Dict):
            keys = [self._value(each, depth) if each else UNKNOWN for each in node.value.keys]
            return of[keys.index(key)] if key in keys and keys.index(key) < len(of) else UNKNOWN
        return UNKNOWN

    def _variable(self, name: str) -> Value:
        """The value of a variable; for one that is named as a secret, the text that stands for it."""
        return self._environment.get(name, mark(name) if names_secret(name) else UNKNOWN)

    def _sliced(self, of: Value, node: ast.Slice, depth: int) -> Value:
        if not isinstance(of, (str, bytes, tuple)):
            return UNKNOWN
        bounds = [self._value(part, depth) if part else None for part in (node.lower, node.upper, node.step)]
        numbers = [bound for bound in bounds if isinstance(bound, int) or bound is None]
        if len(numbers) < len(bounds) or numbers[2] == 0:
            return UNKNOWN
        return of[slice(*numbers)]

    def _comprehended(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, at: int, depth: int
    ) -> Value:
        if at >= len(node.generators):
            return self._value(node.value if isinstance(node, ast.DictComp) else node.elt, depth)
        generator = node.generators[at]
        over = self._value(generator.iter, depth)
        made: list[Value] = []
        items, before = self._each(over), self._passes
        self._passes *= len(items)
        long = not isinstance(over, tuple) or len(over) >= sinks.MANY
        self._found.looping += long
        for item in items:
            self._bind(generator.target, item)
            for condition in generator.ifs:
                self._value(condition, depth)
            made.append(self._comprehended(node, at + 1, depth))
        self._found.looping -= long
        self._passes = before
        listing = made[0] if len(made) == 1 and isinstance(made[0], str) and not isinstance(over, tuple) else None
        return listing if listing is not None else tuple(made[:MAX_ITEMS])

    # ── calls ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _called_with(self, node: ast.Call, depth: int) -> Value:
        function = self._value(node.func, depth + 1)
        values = self._items(node.args, depth + 1)
        named = {keyword.arg or "": self._value(keyword.value, depth + 1) for keyword in node.keywords}
        if isinstance(function, Name) and function.path in ("exec", "eval", "builtins.exec", "compile"):
            return self._code(node, values[0] if values else UNKNOWN, function.name)
        return self._call(function, values, named)

    def _call(self, function: Value, values: list[Value], named: dict[str, Value]) -> Value:
        self._step()
        if isinstance(function, PartialFunction):
            return self._call(function.function, [*function.operands, *values], named)
        if isinstance(function, Local):
            return self._run(function, values, named)
        if isinstance(function, Method):
            return self._method(function, values, named)
        return self._named(function, values, named) if isinstance(function, Name) else UNKNOWN

    def _run(self, function: Local, values: Sequence[Value], named: dict[str, Value]) -> Value:
        """Go through a function of the code itself."""
        node = function.node
        self._called.add(id(node))
        if self._deep >= MAX_CALLS or id(node) in self._active:
            return UNKNOWN  # a function with four calls of itself would take 4 ** 8 passes
        before, self._deep = dict(self._names), self._deep + 1
        self._active.append(id(node))
        parameters = [*node.args.posonlyargs, *node.args.args]
        if parameters and parameters[0].arg in ("self", "cls"):
            values = (UNKNOWN, *values)
        for index, parameter in enumerate((*parameters, *node.args.kwonlyargs)):
            given = values[index] if index < len(values) else named.get(parameter.arg, UNKNOWN)
            self._names[parameter.arg] = _FIXTURES.get(parameter.arg, given) if given is UNKNOWN else given
        self._defaults(node.args, len(values), named)
        if node.args.vararg is not None:
            self._names[node.args.vararg.arg] = tuple(values[len(parameters) :])
        if isinstance(node, ast.Lambda):
            self._result = self._value(node.body)
        else:
            self._result = None
            self._block(node.body)
        before.update((name, self._names[name]) for name in _declared(node) if name in before and name in self._names)
        self._names = before
        self._active.pop()
        self._deep -= 1
        return self._result

    def _defaults(self, args: ast.arguments, given: int, named: dict[str, Value]) -> None:
        positional = [*args.posonlyargs, *args.args]
        for parameter, default in zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True):
            if positional.index(parameter) >= given and parameter.arg not in named:
                self._names[parameter.arg] = self._value(default)
        for parameter, one in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            if one is not None and parameter.arg not in named:
                self._names[parameter.arg] = self._value(one)

    def _method(self, function: Method, values: list[Value], named: dict[str, Value]) -> Value:
        of, name = function.of, function.name
        if name in self._methods:
            return self._run(self._methods[name], values, named)
        if name == "glob" and isinstance(of, str) and of[:1] == "~" and values and isinstance(values[0], str):
            return joined([of, values[0]])
        if name in LISTS and isinstance(of, str):
            return f"{of.rstrip('/') or '/'}/{{}}".replace("//", "/")
        if name in ("map", "submit") and values:
            return self._applied(values[0], values[1:], each=name == "map")
        if name == "append":
            return None
        if name == "open" and isinstance(of, str):
            return sinks.opened(self._found, [of, *values], named)
        found = method(of, name, values, named)
        if name in sinks.HEARS or (isinstance(of, Method) and of.name in sinks.HEARS) or sinks.is_sent(of):
            return sinks.SENT
        if found is UNKNOWN or sinks.IS_PATH.search(partly(of)):
            sinks.called(self._found, "?", name, values, named, receiver=of, quiet=self._quiet)
        return found

    def _named(self, function: Name, values: list[Value], named: dict[str, Value]) -> Value:
        name, path = function.name, function.path
        if name == "getattr" and len(values) > 1 and isinstance(values[1], str):
            return self._attribute(values[0], values[1])
        if name in ("__import__", "import_module") and values and isinstance(values[0], str):
            return Name(values[0])
        if path in ("os.getenv", "os.environ.get", "os.environ.pop", "os.environ.setdefault", "getenv") and values:
            known = self._variable(partly(values[0]))
            return values[1] if known is UNKNOWN and len(values) > 1 else known
        if path == "monkeypatch.setenv" and len(values) > 1 and isinstance(values[0], str):
            self._environment[values[0]] = values[1]
        if name == "partial" and values:
            return PartialFunction(values[0], tuple(values[1:]))
        if name in ("map", "filter", "starmap") and len(values) > 1:
            return self._applied(values[0], values[1:], each=True)
        if name in ("Thread", "Process", "Timer") and "target" in named:
            operands = named.get("args", ())
            return self._call(named["target"], list(operands) if isinstance(operands, tuple) else [], {})
        if path == "open" or name in ("fdopen", "NamedTemporaryFile"):
            return sinks.opened(self._found, values, named) if path == "open" else OpenFile(SCRATCH)
        if name in self._methods and "." in path:
            return self._run(self._methods[name], values, named)
        if path == "sys.argv.copy":
            return self._argv
        found = pure(function, values)
        sinks.called(self._found, function.owner, name, values, named, path=path, quiet=self._quiet)
        if found is not UNKNOWN:
            return found
        return function if "." in path else UNKNOWN  # what it returns, by the way it came about

    def _applied(self, function: Value, lists: list[Value], *, each: bool) -> Value:
        if not each:
            return self._call(function, lists, {})
        first = lists[0] if lists else UNKNOWN
        return tuple(self._call(function, [item], {}) for item in self._each(first))

    def _code(self, node: ast.Call, code: Value, name: str) -> Value:
        """Code that is given as a text: read like the rest if it is known."""
        text = text_of(code)
        if sinks.is_sent(code):
            self._found.hidden = self._found.hidden or sinks.RUNS_SENT
        if name == "compile":
            return code
        if not isinstance(node.args[0] if node.args else None, ast.Constant):
            self._found.hidden = self._found.hidden or _hidden(node)
            if self._found.connects and (text is None or HOLE in text):
                self._found.hidden = self._found.hidden or "decodes or fetches code, and runs code"
        if text is not None and HOLE not in text:
            tree = _parsed(text)
            if tree is not None and self._deep < MAX_CALLS:
                self._deep += 1
                self._block(tree.body)
                self._deep -= 1
        return UNKNOWN


_GROWS = frozenset({"append", "extend", "bytearray", "bytes", "list", "range", "copy"})
"""Calls that make more of what there is, and do nothing else."""


_ENDS = (ast.Break, ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)
"""Statements and expressions by which a loop may be left."""


def _called_name(node: ast.AST) -> str:
    """Return the last name of what is called; nothing if the node is no call, or not of a name."""
    called = node.func if isinstance(node, ast.Call) else None
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


_ROUTES = frozenset({"route", "get", "post", "put", "patch", "delete", "websocket", "websocket_route", "api_route", "any", "tool"})  # fmt: skip
"""Decorators that have a server call a function for a request, with what stands in that."""


def _sent(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> dict[str, Value]:
    """Return the parameters of a function that a server calls for a request: what others send it."""
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    called = (one.func for one in decorators if isinstance(one, ast.Call))
    if not any(isinstance(one, ast.Attribute) and one.attr in _ROUTES for one in called):
        return {}
    return {one.arg: sinks.SENT for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}


_FIXTURES: Mapping[str, Value] = {
    **dict.fromkeys(("tmp_path", "tmpdir", "tmp_path_factory", "temp_dir", "tmp", "tmp_dir"), SCRATCH),
    "monkeypatch": Name("monkeypatch"),
}
"""Parameters that tests get a fresh directory by, and the one by which they set variables."""


def _declared(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[str]:
    """Return the names outside of a function that it says to change."""
    body = [] if isinstance(node, ast.Lambda) else node.body
    return [name for one in body if isinstance(one, (ast.Global, ast.Nonlocal)) for name in one.names]


_BRINGS = frozenset({"b64decode", "decode", "decompress", "fromhex", "unhexlify", "urlopen", "loads", "get"})


def _hidden(call: ast.Call) -> str:
    """Return how the code for `exec` or `eval` is hidden; empty if it is not decoded, downloaded or read."""
    names = {_called_name(one) for one in ast.walk(call) if one is not call}
    if names & _BRINGS:
        return "decodes and runs code"
    if re.search(r"stdin\.read", ast.unparse(call.args[0])[:2000] if call.args else ""):
        return FED
    return "decodes and runs code" if "read" in names else ""
