"""What the documentation shows of the code: map and layers, states, commands, the socket, metrics, events, kinds of plugins."""

import ast
import dataclasses
import functools
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args

import click

from monitors.contract import effects
from supervisor.cli.__main__ import COMMANDS, SAYS, main
from supervisor.core import states
from supervisor.core.decisions import adoption
from supervisor.core.tasks.states import draw_tasks
from supervisor.protocol import events
from supervisor.runtime.api.app import make_api
from supervisor.runtime.api.routes.agents.autopilot import autopilot_routes
from supervisor.runtime.api.routes.agents.orders import forgetting_routes
from supervisor.runtime.api.routes.agents.projects import project_routes
from supervisor.runtime.api.routes.agents.recovery import recovery_routes
from supervisor.runtime.api.routes.service.budgets import budget_routes
from supervisor.runtime.api.routes.service.metrics import metrics_routes
from supervisor.runtime.api.routes.service.outcomes import outcome_routes
from supervisor.runtime.api.routes.service.trust import program_routes
from supervisor.runtime.api.routes.work.tasks import task_routes
from supervisor.runtime.assembly import plugins
from supervisor.runtime.metrics.metric_table import METRICS
from tests.sources import PACKAGES
from tests.test_layers import LAYERS, PURE

ROOT = Path(__file__).parent.parent

NOT_CODE = {
    "systemd": "units for a user's service and for the system's, and tmpfiles",
    "tests": "the same paths as the source, or where `WITHOUT` in `tests/test_mirror.py` says; and:",
    "tests/contract": "what is relied on of the real CLI",
    "tests/recordings": "lines of the real CLI",
    "tests/kill": "the daemon killed at every write",
    "tests/eval": "the detectors against labelled sessions",
    "tests/bench": "what `make bench` runs",
}
"""Folders that say nothing of themselves in code."""


def map_of_the_code() -> str:
    """Every package with the first sentence that it says of itself."""
    packages = [path.parent for top in PACKAGES for path in sorted((ROOT / top).rglob("__init__.py"), key=_place)]
    lines = [_branch(path.relative_to(ROOT), _first_sentence(path / "__init__.py")) for path in packages]
    lines += [_branch(Path(name), says) for name, says in NOT_CODE.items()]
    return "\n".join(["```text", *lines, "```"])


def _place(path: Path) -> tuple[str, ...]:
    return path.parent.parts


def _branch(path: Path, says: str) -> str:
    name = f"{'  ' * (len(path.parts) - 1)}{path.name}/"
    return f"{name:<24} {says}".rstrip()


def _first_sentence(path: Path) -> str:
    doc = ast.get_docstring(ast.parse(path.read_text())) or ""
    paragraph = " ".join(doc.partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".")


def layers_as_table() -> str:
    """Each package with those that it may import, from the test that holds them to it."""
    rows = [
        f"| `{package}` | {'yes' if package in PURE else ''} | {', '.join(f'`{name}`' for name in below) or 'none'} |"
        for package, below in LAYERS.items()
    ]
    return "\n".join(["| package | pure | may import |", "| --- | --- | --- |", *rows])


def plugins_as_table() -> str:
    """The kinds of plugins: the table of the module that loads them."""
    table = [line for line in (inspect.getdoc(plugins) or "").splitlines() if line.startswith("|")]
    assert {line.split("|")[1].strip() for line in table[2:]} == {kind.name for kind in plugins.KINDS}
    return "\n".join(table)


def states_as_mermaid() -> str:
    """The table of states as a picture."""
    return f"```mermaid\n{states.draw()}\n```"


def task_states_as_mermaid() -> str:
    """The table of the states of stored tasks as a picture."""
    return f"```mermaid\n{draw_tasks()}\n```"


def taking_over_as_table() -> str:
    """What is due for an agent that a daemon takes over, by its state and by what was found of it."""
    return adoption.draw()


def commands_as_table() -> str:
    """Every command with its arguments."""
    rows = [f"| `{_usage(name)}` | {SAYS[name]} |" for name in COMMANDS]
    rows[list(COMMANDS).index("task")] = "\n".join(_of_group("task"))
    return "\n".join(["| command | does |", "| --- | --- |", *rows])


def _of_group(name: str) -> Iterator[str]:
    """Yield the rows of a command that has commands of its own."""
    context = click.Context(main, info_name="chaperon")
    group = main.get_command(context, name)
    assert isinstance(group, click.Group)
    for below, command in group.commands.items():
        says = (command.help or "").partition("\n\n")[0].replace("\n", " ")
        yield f"| `{_usage_of(command, f'{name} {below}')}` | {says} |"


def _usage(name: str) -> str:
    command = main.get_command(click.Context(main, info_name="chaperon"), name)
    assert command is not None
    return _usage_of(command, name)


def _usage_of(command: click.Command, name: str) -> str:
    context = click.Context(main, info_name="chaperon")
    flags = [max(option.opts, key=len) for option in command.params if isinstance(option, click.Option)]
    positional = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
    shown = [f"[{flag}]" for flag in flags if flag not in ("--help", "--json")]
    return " ".join(["chaperon", name, *positional, *shown]).replace("|", "\\|")


def effects_as_table() -> str:
    """Every type of side effect and every group, as the configuration names them."""
    groups = [f"| `{name}` | {says} |" for name, says in effects.GROUPS.items()]
    types = [f"| `{name}` | `{effect.group}` | {effect.says} |" for name, effect in effects.EFFECTS.items()]
    head = ["| group | stands for |", "| --- | --- |", *groups, ""]
    return "\n".join([*head, "| type | group | an action of this type |", "| --- | --- | --- |", *types])


@functools.cache
def described_api() -> dict[str, Any]:
    """The OpenAPI description of the socket."""
    nobody = cast("Any", None)  # nothing is asked of a daemon before a request comes
    api = make_api(nobody, nobody, nobody)
    metrics_routes(api, nobody, nobody)
    program_routes(api, nobody, nobody)
    budget_routes(api, nobody, nobody, nobody)
    outcome_routes(api, nobody, tuple)
    recovery_routes(api, nobody)
    forgetting_routes(api, nobody)
    task_routes(api, nobody, nobody, nobody, nobody)
    project_routes(api, nobody)
    autopilot_routes(api, nobody, nobody)
    return api.openapi()


def api_as_table() -> str:
    """Every route of the socket, from the OpenAPI description."""
    described = described_api()
    rows = [
        f"| `{method.upper()} {path}{_query(about)}` | {' '.join(str(about.get('description', '')).split())} |"
        for path, methods in described["paths"].items()
        for method, about in methods.items()
    ]
    return "\n".join(["| request | does |", "| --- | --- |", *rows])


def _query(about: dict[str, Any]) -> str:
    names = [given["name"] for given in about.get("parameters", ()) if given["in"] == "query"]
    return f"?{'&'.join(names)}" if names else ""


def metrics_as_table() -> str:
    """Every metric, with its type and its labels."""
    rows = [
        f"| `{metric.name}` | {metric.kind} | {', '.join(f'`{name}`' for name in metric.labels)} | {metric.help} |"
        for metric in METRICS
    ]
    return "\n".join(["| metric | type | labels | says |", "| --- | --- | --- | --- |", *rows])


def events_as_table() -> str:
    """Every kind of event, with what it holds beside agent and times."""
    rows = [
        f"| `{_kind(event)}` | {_says(event)} | {', '.join(f'`{name}`' for name in _own_fields(event))} |"
        for event in get_args(events.AnyEvent)
    ]
    return "\n".join(["| kind | means | holds |", "| --- | --- | --- |", *rows])


def _kind(event: type[Any]) -> str:
    return str(next(field.default for field in dataclasses.fields(event) if field.name == "kind"))


def _says(event: type[Any]) -> str:
    return " ".join((inspect.getdoc(event) or "").partition("\n\n")[0].split()).replace("|", "\\|")


def _own_fields(event: type[Any]) -> Iterator[str]:
    shared = {field.name for field in dataclasses.fields(events.Event)} | {"kind"}
    return (field.name for field in dataclasses.fields(event) if field.name not in shared)
