"""YAML to plain values that know the line and column they came from.

Refused, beside broken YAML, are a key written twice (the second would silently win), a value that contains itself, and
nesting beyond that of any configuration, and aliases that repeat more than a reader could take. Other anchors, aliases
and `<<` work.

Scalars are those of YAML 1.2's core schema: `on`, `off`, `yes`, `no`, dates and `12:30` are text. YAML 1.1 reads them
as truth values, dates and numbers in base 60, so that a key `no` would be the key `false`. If a key of the
configuration is true or false, `supervisor.config.sections.base` still takes these words. `010` is text too: it is
8 in YAML 1.1 and 10 in 1.2, so that a key that is a number refuses it. Of YAML 1.1, `1_000` is kept, and a number with
an exponent needs its dot: `123e456` may be a commit.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

MERGE = "tag:yaml.org,2002:merge"
MAX_DEPTH = 50
"""Deepest nesting accepted; the configuration itself has four levels."""


MOST_REPEATED = 100_000
"""Most values that aliases may add to those that are written. Nine lines of aliases of aliases make 400 million of 80:
such a configuration of 600 bytes had a daemon that read it anew take 8 GB within a minute, and answer after 13 s."""


@dataclass(frozen=True, slots=True)
class YamlProblem:
    """Something wrong at a place."""

    line: int
    """From 1."""
    column: int
    """From 1, in characters."""
    says: str


class YamlError(Exception):
    """The text is not the YAML that a configuration can be written in."""

    def __init__(self, flaws: Sequence[YamlProblem]) -> None:
        """Carry all that was found."""
        super().__init__("; ".join(f"{flaw.line}:{flaw.column}: {flaw.says}" for flaw in flaws))
        self.flaws = tuple(flaws)


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed text."""

    value: Any
    """Plain mappings, lists and scalars; None for an empty text."""
    root: yaml.Node | None

    def place(self, path: Sequence[str | int], *, of_key: bool = False) -> tuple[int, int]:
        """Return line and column, from 1, of the value at a path, or of its key.

        If there is none, those of the nearest value around it.
        """
        node, mark = self.root, self.root.start_mark if self.root else None
        for step in path:
            key, node = _child(node, step)
            if node is None:
                break
            mark = key.start_mark if of_key and key else node.start_mark
        return (mark.line + 1, mark.column + 1) if mark else (1, 1)


class _Loader(yaml.SafeLoader):
    """The safe loader with the scalars that the module describes."""


_SCALARS = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ("~", "n", "N", "")),
    ("int", r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)",
        "-+.0123456789",
    ),
    ("merge", "<<", "<"),
)
"""Plain scalars that are no text: the name of the tag, the pattern of the whole scalar, and its first characters.
The first match counts."""

_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _firsts in _SCALARS:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})\\Z"), list(_firsts))


def parse(text: str) -> Document:
    """Parse one document.

    Raises:
        YamlError: With the place of every flaw that could be found.
    """
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            return Document(None, None)
        flaws = list(_flaws(root, (), set()))
        if flaws:
            raise YamlError(flaws)
        if flaw := _repeats(root):
            raise YamlError([flaw])
        return Document(loader.construct_document(root), root)
    except yaml.reader.ReaderError as error:
        raise YamlError([_unreadable(text, error)]) from None
    except yaml.MarkedYAMLError as error:
        raise YamlError([_marked(error)]) from None
    except RecursionError:
        raise YamlError([YamlProblem(1, 1, f"nested deeper than {MAX_DEPTH} levels")]) from None
    except ValueError as error:
        raise YamlError([YamlProblem(1, 1, f"a value cannot be read: {error}")]) from None
    finally:
        if loader is not None:
            loader.dispose()


def _child(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node | None, yaml.Node | None]:
    """Return key node and value node of one step down.

    A key may come by `<<` too, whose pairs stand before the own ones.
    """
    if isinstance(node, yaml.MappingNode):
        for key, value in reversed(node.value):
            if isinstance(key, yaml.ScalarNode) and key.value == str(step):
                return key, value
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return None, node.value[step]
    return None, None


def _flaws(node: yaml.Node, above: tuple[yaml.Node, ...], seen: set[int]) -> Iterator[YamlProblem]:
    """Yield every key written twice, and nodes that cannot be walked.

    Shared parts are walked once, since aliases of aliases grow without bound.
    """
    if node in above:
        yield _flaw_at(node, "an alias to something that contains it")
    elif len(above) >= MAX_DEPTH:
        yield _flaw_at(node, f"nested deeper than {MAX_DEPTH} levels")
    elif id(node) in seen:
        return
    elif isinstance(node, yaml.MappingNode):
        yield from _doubles(node)
        for _, value in node.value:
            yield from _flaws(value, (*above, node), seen)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _flaws(value, (*above, node), seen)
    seen.add(id(node))


def _repeats(root: yaml.Node) -> YamlProblem | None:
    """Return the flaw of the first value that aliases make too large; the tree has no circle and is not too deep."""
    sizes: dict[int, int] = {}

    def size(node: yaml.Node) -> int:
        """Count the values below a node, those of aliases each time."""
        if id(node) not in sizes:
            below = [one for pair in node.value for one in pair] if isinstance(node, yaml.MappingNode) else node.value
            sizes[id(node)] = 1 + (sum(map(size, below)) if isinstance(node, yaml.CollectionNode) else 0)
            if sizes[id(node)] > len(sizes) + MOST_REPEATED:
                large.append(node)
        return sizes[id(node)]

    large: list[yaml.Node] = []
    size(root)
    says = f"aliases repeat more than {MOST_REPEATED:,} values here; write out what is meant"
    return _flaw_at(large[0], says) if large else None


def _doubles(node: yaml.MappingNode) -> Iterator[YamlProblem]:
    first: dict[str, int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE:
            continue
        if key.value in first:
            yield _flaw_at(key, f"the key {key.value!r} is already set in line {first[key.value]}; keep one of the two")
        first.setdefault(key.value, key.start_mark.line + 1)


def _flaw_at(node: yaml.Node, says: str) -> YamlProblem:
    return YamlProblem(node.start_mark.line + 1, node.start_mark.column + 1, says)


def _marked(error: yaml.MarkedYAMLError) -> YamlProblem:
    mark = error.problem_mark or error.context_mark
    says = "invalid YAML: " + ", ".join(part for part in (error.context, error.problem) if part)
    return YamlProblem(mark.line + 1, mark.column + 1, says) if mark else YamlProblem(1, 1, says)


def _unreadable(text: str, error: yaml.reader.ReaderError) -> YamlProblem:
    before = text[: error.position]
    column = error.position - (before.rfind("\n") + 1) + 1
    return YamlProblem(
        before.count("\n") + 1, column, f"the character U+{ord(text[error.position]):04X} is not allowed in YAML"
    )
