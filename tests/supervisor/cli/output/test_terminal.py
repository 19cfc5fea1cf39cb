"""Nothing that a terminal obeys comes through the one door, but for the colours of commands."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from supervisor import cli
from supervisor.cli.output import terminal
from tests.support import acting

TEXT = st.text(st.characters(exclude_categories=()))

SOURCES = sorted(Path(cli.__file__).parent.rglob("*.py"))


@given(TEXT)
@example("\x1b[0m")
@example("\x1b[0m\x1b[8m")
def test_no_character_that_acts_comes_through_and_none_is_lost(text: str) -> None:
    shown = terminal.harmless(text)
    assert acting(re.sub(terminal._OURS, "", shown)) <= {"\n", "\t"}
    shown.encode()
    assert shown == text or len(shown) > len(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2Jgone\n", "\\x1b[2Jgone\n"),
        ("\x1b[8mhidden\x1b[0m", "\\x1b[8mhidden\x1b[0m"),
    ],
)
def test_what_acts_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert terminal.harmless(text) == shown


@pytest.mark.parametrize("colour", ["red", "green", "yellow", "blue", "magenta", "cyan", "white", "bright_red"])
def test_the_colours_of_commands_come_through(colour: str) -> None:
    styled = click.style("text", fg=colour, bold=True) + click.style("dim", dim=True, bold=False)
    assert terminal.harmless(styled) == styled


@given(st.dictionaries(TEXT, TEXT))
def test_data_is_json_that_no_terminal_obeys(data: dict[str, str]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        printed: list[bytes] = []
        patched.setattr(click, "echo", lambda text, **_: printed.append(text))
        terminal.echo_json(data)
        terminal.echo_line(json.dumps(data, ensure_ascii=False).encode(errors="surrogatepass"))
    for one in printed:
        assert acting(one.decode()) <= {"\n"}
        json.loads(one)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_no_command_prints_past_the_door(source: Path) -> None:
    past = {"click.echo", "click.secho", "print", "sys.stdout.write", "sys.stderr.write", "sys.stdout.buffer.write"}
    calls = [node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.Call)]
    found = {ast.unparse(call.func) for call in calls} & past
    assert found <= ({"click.echo"} if source.stem in ("terminal", "__main__") else set())


@pytest.mark.parametrize(("on_terminal", "shown"), [(True, "\r\x1b[Kloading it …\r\x1b[Kdone"), (False, "done")])
def test_what_a_command_begins_with_stands_on_a_terminal_until_its_first_output(on_terminal: bool, shown: str) -> None:
    code = "from supervisor.cli.output import terminal as t; t.begin('loading it'); t.echo('done'); t.begun()"
    ours, its = os.openpty() if on_terminal else os.pipe()
    with subprocess.Popen([sys.executable, "-c", code], stdout=its, stderr=its) as process:
        os.close(its)
        assert process.wait(60) == 0
        assert os.read(ours, 1_000).decode().strip("\n\r ") == shown.strip("\r")
    os.close(ours)
