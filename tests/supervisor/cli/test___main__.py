from collections.abc import Iterator

import click
import pytest

from supervisor import __version__
from supervisor.cli.__main__ import COMMANDS, main
from tests.supervisor.cli.conftest import command


def test_every_command_of_the_contract_is_there() -> None:
    assert set(COMMANDS) >= {
        "demo", "serve", "run", "ps", "show", "say", "pause", "resume", "stop", "redirect", "tail", "incidents",
        "rehearse", "doctor",
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_has_help(name: str) -> None:
    shown = command(name, "--help")
    assert shown.exit_code == 0
    assert len(shown.output.splitlines()) > 4


def commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """A command and those within it, by their whole names; a group that does nothing by itself is none."""
    if not isinstance(command, click.Group) or command.invoke_without_command:
        yield name, command
    for inner, one in getattr(command, "commands", {}).items():
        yield from commands(f"{name} {inner}", one)


def test_every_command_that_prints_data_or_steers_has_it_as_json() -> None:
    context = click.Context(main)
    every = [one for name in COMMANDS for one in commands(name, main.get_command(context, name) or main)]
    without = {name for name, one in every if not any("--json" in option.opts for option in one.params)}
    assert without <= {"demo", "serve", "review", "dashboard", "panel", "top", "exec"}, (
        "a show, the daemon itself, the boards, another program, and those that print nothing but JSON"
    )


def test_the_version_is_told() -> None:
    assert command("--version").output == f"chaperon, version {__version__}\n"


@pytest.mark.parametrize("arguments", [("nothing",), ("show",), ("say", "a1"), ("tail", "--after", "x"), ("ps", "x")])
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...]) -> None:
    assert command(*arguments).exit_code == 2
