"""Git is started in one place of the product, with no configuration of anybody's; so is every other program, in a known place."""

import ast
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.sources import ROOT, sources
from tests.stages.daemon import Base, ended, served

DOOR = "checkpoints/git/git_command.py"

LOGINS = "supervisor/runtime/gateway/git_remotes.py"
"""Has git ask the person's credential helpers, which their own configuration names; it reads no repository."""

IN_SANDBOX = "supervisor/runtime/sandbox/git_helper.py"
"""Is started by the agent's own git, inside its sandbox."""

STARTERS = {
    "host/apart.py": "this program itself: functions that an agent can make last",
    "host/children.py": "programs that run to their end",
    "supervisor/runtime/reading/reader.py": "the process that reads: this program itself",
    "supervisor/runtime/processes/shim_client.py": "shims",
    "supervisor/standalone/watched_run.py": "the CLI that `exec --standalone` stands in for",
    "supervisor/rehearsal/fleets/director.py": "the daemon of a fleet's rehearsal, and a person's commands: this program itself",
    "supervisor/rehearsal/fleets/leftovers.py": "what ends all of a fleet's rehearsal that was killed: this program itself",
    "supervisor/runtime/gateway/client.py": "the gateway: this program itself",
    "supervisor/runtime/attached/hook.py": "the relay: this program itself, as a session begins",
    "supervisor/runtime/attached/relay.py": "the relay: this program itself, after an update",
    "supervisor/runtime/attached/relay_client.py": "the relay: this program itself",
    IN_SANDBOX: "git's own helper for https, for git of an agent inside a sandbox",
    "supervisor/runtime/sandbox/entry.py": "the CLI, whose process it becomes inside a sandbox",
    "supervisor/runtime/shim/spawn.py": "the CLI",
    "supervisor/cli/commands/work/exec_claude.py": "the CLI, whose process it becomes",
    "supervisor/panel/trials.py": "this program itself: a replay or a rehearsal",
    "supervisor/runtime/shim/enter.py": "a check of an agent's work, in its own place",
}
"""Modules that start programs, and which."""

RUNNERS = {
    DOOR: "git, on repositories of chaperon's own",
    "supervisor/runtime/doctor.py": "systemctl, by its path",
    "supervisor/runtime/processes/contained.py": "checks of agents' work",
    "supervisor/runtime/processes/find_cli.py": "the CLI, for its version",
    "supervisor/runtime/processes/user_program.py": "programs that the user's configuration names",
    "supervisor/runtime/attached/launcher.py": "the compiler, on the program of hooks, and that program for a look",
    "supervisor/runtime/gateway/credential.py": "a program that the user's configuration names",
    "supervisor/runtime/gateway/git_remotes.py": "git, for the login that the person's credential helpers have of a remote",
    "supervisor/runtime/sandbox/machine.py": "bubblewrap, as a trial",
    "supervisor/runtime/attached/cli_process.py": "prlimit, as the person, where the daemon is another user",
    "supervisor/runtime/services/apart_start.py": "id, to see what a program that is run keeps of the daemon's users",
    "supervisor/runtime/services/judging.py": "the CLI, as a judge",
    "supervisor/runtime/incidents/notifications.py": "notify-send, for channels of a desktop",
}
"""Modules that have `host.children` run a program, and which."""

STARTS = {
    "subprocess": {"run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
    "anyio": {"run_process", "open_process"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "os": {"system", "popen", "posix_spawn", "posix_spawnp", "startfile"},
    "psutil": {"Popen"},
    "pty": {"spawn"},
    "multiprocessing": {"Process", "Pool"},
}
"""Functions that start a program, by module; with those of `os` whose names begin with exec or spawn."""


class Look(NamedTuple):
    """What a module has to do with programs."""

    starts: list[str]
    asks: bool
    """Whether it has `host.children` run one."""
    commands: set[str]


@cache
def modules() -> dict[str, Look]:
    """Look through every module once, for all tests here."""
    nodes = ((path, list(ast.walk(ast.parse(path.read_text())))) for path in sources())
    return {
        str(path.relative_to(ROOT)): Look(sorted(set(starts(each))), asks_children(each), set(commands(each)))
        for path, each in nodes
    }


def starts(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names of what starts a program in a module, however they were imported."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module, name = node.value.id, node.attr
            if name in STARTS.get(module, ()) or (module == "os" and name.startswith(("exec", "spawn"))):
                yield f"{module}.{name}"
        elif isinstance(node, ast.ImportFrom) and node.module in STARTS:
            yield from (f"{node.module}.{each.name}" for each in node.names if each.name in STARTS[node.module])
        elif isinstance(node, ast.Import):
            yield from (
                f"import {each.name} as {each.asname}" for each in node.names if each.asname and each.name in STARTS
            )


def test_programs_are_started_in_known_places_alone() -> None:
    found = {path: look.starts for path, look in modules().items() if look.starts}
    assert set(found) == set(STARTERS), {path: names for path, names in found.items() if path not in STARTERS}


def test_the_look_finds_each_way_to_start_a_program() -> None:
    for text in (
        "import subprocess\nsubprocess.run(['git'])",
        "from subprocess import run\nrun(['git'])",
        "import subprocess as s\ns.run(['git'])",
        "import anyio\nanyio.run_process(['git'])",
        "import os\nos.execvp('git', [])",
        "import os\nos.system('git status')",
    ):
        assert list(starts(ast.walk(ast.parse(text))))


def test_programs_are_run_by_known_places_alone() -> None:
    assert {path for path, look in modules().items() if look.asks} == set(RUNNERS)


def asks_children(nodes: Iterable[ast.AST]) -> bool:
    return any(
        isinstance(node, ast.ImportFrom | ast.Import) and "host.children" in ast.unparse(node).replace(" import ", ".")
        for node in nodes
    )


def name_of(called: ast.expr) -> str:
    """The last name of what is called."""
    return str(getattr(called, "attr", getattr(called, "id", "")))


def commands(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """What stands first in a list, or is looked for on PATH: the programs that could be started."""
    for node in nodes:
        first = None
        if isinstance(node, ast.List | ast.Tuple) and node.elts:
            first = node.elts[0]
        elif isinstance(node, ast.Call) and node.args and name_of(node.func).endswith("which"):
            first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield first.value


def test_no_place_that_starts_programs_names_git_but_its_door() -> None:
    named = {
        path
        for path, look in modules().items()
        if path in STARTERS.keys() | RUNNERS.keys() and {"git", "/usr/bin/git"} & look.commands
    }
    assert named == {DOOR, LOGINS, IN_SANDBOX}


WITNESS = """#!/bin/sh
{ echo "argv $*"; env | grep -E '^(GIT_|HOME=|ANTHROPIC)' | sort; echo; } >> %s
exec %s "$@"
"""


@pytest.fixture
def base(tmp_path: Path) -> Base:
    return Base(tmp_path / "base")


async def test_git_is_never_started_with_the_users_configuration_or_key(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each start of it, from a submission in a workspace of its own to the removal of that workspace."""
    witness, said = base.root / "bin/git", base.root / "git.log"
    witness.parent.mkdir()
    witness.write_text(WITNESS % (said, "/usr/bin/git"))
    witness.chmod(0o755)
    commit = ["-c", "user.name=x", "-c", "user.email=x@y", "commit", "--quiet", "--allow-empty", "-m", "one"]
    os.spawnv(os.P_WAIT, "/usr/bin/git", ["git", "-C", str(base.repo), *commit])
    monkeypatch.setenv("PATH", f"{witness.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary")
    base.cli("begin()\ndone()\nhear()")
    base.config["workspaces"] = {"folder": str(base.root / "workspaces")}
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(workspace="new"), by="test")
        summary = await ended(daemon)
    assert summary.workspace_closed
    started = [each for each in said.read_text().split("\n\n") if each]
    assert started
    for each in started:
        assert "-c core.hooksPath=/dev/null -c core.fsmonitor=false" in each
        assert "\nHOME=/nonexistent" in each
        assert "GIT_CONFIG_GLOBAL=/dev/null" in each
        assert "ANTHROPIC" not in each
