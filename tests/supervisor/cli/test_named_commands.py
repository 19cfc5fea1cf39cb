"""Every command line of chaperon's that a message, a docstring or a document names is one that it takes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from supervisor.cli.__main__ import COMMANDS, main
from tests.sources import PACKAGES

ROOT = Path(__file__).parents[3]

FILLED = "FILLED"
"""Stands for what is filled in when a message is made."""

WORD = re.compile(r" (-{1,2}[a-z][a-z-]*|[A-Z_]+\b|(?:diff|doctor|forget|delete|show)\b)")
"""What can follow a command: an option, something to fill in, or a command of `checkpoints`; anything else is prose."""


def texts() -> Iterator[tuple[Path, str]]:
    """Every text of the source, and every line of the documents."""
    for path in (ROOT / "README.md", *(path for folder in (*PACKAGES, "docs") for path in (ROOT / folder).rglob("*"))):
        if path.suffix == ".md":
            yield from ((path, line) for line in path.read_text().splitlines())
        for node in ast.walk(ast.parse(path.read_text())) if path.suffix == ".py" else ():
            if isinstance(node, ast.JoinedStr):
                yield (
                    path,
                    "".join(str(part.value) if isinstance(part, ast.Constant) else FILLED for part in node.values),
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, re.sub(r"\{\w+\}", FILLED, node.value)


def lines(text: str) -> Iterator[list[str]]:
    """The command lines in a text, word by word, each as far as it is no prose."""
    for found in re.finditer(r"\bchaperon (?P<name>[a-z]+)\b", text):
        line, end = [found["name"]], found.end()
        while (word := WORD.match(text, end)) is not None:
            line.append(word[1])
            end = word.end()
        if line[0] in COMMANDS:
            yield line


def wrong(line: list[str]) -> str:
    """What is wrong with a command line, as the command itself says; empty where nothing is."""
    assert isinstance(main, click.Group)
    command, rest = main.get_command(click.Context(main), line[0]), line[1:]
    while isinstance(command, click.Group) and rest and rest[0].isalpha() and rest[0].islower():
        command, rest = command.get_command(click.Context(command), rest[0]), rest[1:]
    assert command is not None
    try:
        _, left, _ = command.make_parser(click.Context(command)).parse_args(rest)
    except click.BadOptionUsage:
        return ""  # an option whose value goes without saying
    except click.UsageError as error:
        return error.format_message()
    return f"it does not take {' '.join(left)}" if left else ""


@pytest.mark.slow
def test_a_command_line_that_is_named_is_one_that_chaperon_takes() -> None:
    found = [(str(path), line, wrong(line)) for path, text in texts() for line in lines(text)]
    assert len(found) > 100
    assert [each for each in found if each[2]] == []


@pytest.mark.parametrize("text", ["chaperon tail -f FILLED.", "`chaperon doctor --repair` helps", "chaperon ps AGENT"])
def test_a_command_line_that_chaperon_does_not_take_would_be_found(text: str) -> None:
    (line,) = lines(text)
    assert wrong(line)
