"""The command line as a whole: what it knows, and what it need not load to say so."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import anyio.to_thread
import click
import pytest
from click.testing import CliRunner

from supervisor.cli.__main__ import COMMANDS, ELSEWHERE, SAYS, LazyGroup, main
from tests.stages.daemon import Base, ended, served

HEAVY = {
    "anyio",
    "asyncio",
    "fastapi",
    "httpx",
    "interventions.choice",
    "monitors.patterns",
    "monitors.review",
    "psutil",
    "pydantic",
    "pygit2",
    "ssl",
    "supervisor.config.model",
    "supervisor.core",
    "uvicorn",
    "yaml",
}
"""What takes longer to import than the daemon takes to answer."""

NEEDLESS_FOR_A_REVIEW = {
    "annotated_types",
    "anyio",
    "asyncio",
    "fastapi",
    "httpx",
    "importlib.metadata",
    "interventions.choice.controller",
    "monitors.detectors",
    "pydantic",
    "pygit2",
    "supervisor.config.model",
    "yaml",
    "interventions.contract",
    "interventions.effectiveness",
    "interventions.recovery",
    "interventions.sanitise",
    "supervisor.core.board",
    "supervisor.core.discoveries",
    "supervisor.core.fold",
    "supervisor.core.limits",
    "supervisor.core.registers.merges",
    "supervisor.core.session",
    "supervisor.core.tasks",
    "supervisor.protocol.events",
    "supervisor.protocol.merges",
    "supervisor.protocol.claude.messages",
    "h11",
    "supervisor.cli.client",
    "supervisor.protocol.kinds.tasks",
    "supervisor.protocol.tasks",
    "supervisor.runtime.daemon.daemon",
}
"""What runs of agents need and a single review does not, and what reads a configuration, if there is none."""

NEEDLESS_FOR_A_REVIEW_BY_A_FILE = NEEDLESS_FOR_A_REVIEW - {
    "annotated_types", "importlib.metadata", "monitors.detectors", "pydantic", "supervisor.config.model", "yaml",
}  # fmt: skip
"""What a review by a configuration file need not load. Settings are declared beside the code that reads them, so the
configuration's model loads the detectors and the limits, and nothing that keeps an agent's state."""


def loaded_by(*arguments: str) -> set[str]:
    """The modules that a process has at the end of a command."""
    code = (
        "import sys\nfrom supervisor.cli.__main__ import main\n"
        f"try:\n    main({list(arguments)!r})\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_loaded_and_says_what_it_does(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.name == name
    assert (command.help or "").strip()


def test_help_lists_every_command_in_order_with_its_sentence() -> None:
    shown = CliRunner().invoke(main, ["--help"]).output.partition("Commands:\n")[2].splitlines()
    assert [tuple(line.split(maxsplit=1)) for line in shown] == [(name, SAYS[name]) for name in COMMANDS]


def test_an_unknown_command_is_wrong_usage() -> None:
    done = CliRunner().invoke(main, ["frobnicate"])
    assert done.exit_code == 2
    assert "frobnicate" in done.output


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("checkpoint-list", "checkpoints"), ("logs", "tail"), ("aproove", "approve"), ("start", "serve")],
)
def test_a_name_that_is_near_or_that_other_programs_have_is_answered_with_the_command(typed: str, meant: str) -> None:
    done = CliRunner().invoke(main, [typed])
    assert done.exit_code == 2
    assert f"No such command '{typed}'. Did you mean chaperon {meant}" in done.output


def test_names_of_other_programs_mean_commands_that_are_there_and_none_of_them_is_one() -> None:
    assert set(ELSEWHERE.values()) <= COMMANDS.keys()
    assert not ELSEWHERE.keys() & COMMANDS.keys()


def test_help_loads_nothing_that_takes_time() -> None:
    assert loaded_by("--help") & HEAVY == set()


@pytest.mark.parametrize(
    "command", [["ps"], ["show", "a1"], ["tail"], ["incidents"], ["say", "a1", "x"], ["checkpoints"]]
)
async def test_a_command_to_the_daemon_loads_neither_an_event_loop_nor_the_configuration_nor_the_core(
    base: Base, command: list[str]
) -> None:
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        loaded = await anyio.to_thread.run_sync(lambda: loaded_by(*command))
        assert loaded & {*HEAVY, "monitors.contract.actions"} == set()


REVIEWS = [["explain", "ls"], ["rules", "--match", "ls"]]


@pytest.mark.parametrize("command", REVIEWS)
def test_a_review_loads_nothing_of_what_runs_agents_and_of_what_reads_a_configuration_that_is_not_there(
    command: list[str],
) -> None:
    assert loaded_by(*command) & NEEDLESS_FOR_A_REVIEW == set()


def test_one_reviewer_explains_a_command_and_judges_it() -> None:
    """Two would read the built-in rules twice, and compile the patterns of the command's programs twice."""
    code = (
        "import sys\nfrom monitors.review.rules import rules\nbegin = rules.RuleBook.__init__\n"
        "def noted(*given):\n    sys.stderr.write('book ')\n    begin(*given)\n"
        "rules.RuleBook.__init__ = noted\n"
        "from supervisor.cli.__main__ import main\nmain(['explain', 'git push --force'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stderr.split() == ["book"]


@pytest.mark.parametrize("command", REVIEWS)
def test_a_review_by_a_configuration_file_loads_nothing_of_what_runs_agents(command: list[str], tmp_path: Path) -> None:
    file = tmp_path / "chaperon.yaml"
    file.write_text("reviewer: {risk_threshold: 0.5}\n")
    loaded = loaded_by("--config", str(file), *command)
    assert "supervisor.config.model" in loaded
    assert loaded & NEEDLESS_FOR_A_REVIEW_BY_A_FILE == set()


def test_no_command_loads_what_takes_time_for_its_usage() -> None:
    """The modules of all commands are loaded, as `--help` of each does.

    anyio without an event loop takes some milliseconds.
    """
    modules = sorted({place.partition(":")[0] for place in COMMANDS.values()})
    code = f"import sys\nfor name in {modules!r}: __import__(name)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert set(done.stdout.split()) & HEAVY == {"anyio"}


def test_the_first_finding_of_the_doctor_waits_for_nothing_that_takes_time() -> None:
    code = (
        "import os, sys\nfrom supervisor.runtime import doctor\n"
        "around = doctor.DoctorContext(os.environ, os.getuid(), 'ada')\n"
        "print(next(iter(doctor.examined(around))).name, *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    first, *loaded = done.stdout.split()
    assert first == "python"
    assert set(loaded) & HEAVY == {"anyio"}


@pytest.mark.parametrize(("environ", "coloured"), [({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)])
def test_a_terminal_is_coloured_unless_its_owner_wants_none(
    environ: dict[str, str], coloured: bool, tmp_path: Path
) -> None:
    environ = {**environ, "HOME": str(tmp_path), "STATE_DIRECTORY": str(tmp_path), "RUNTIME_DIRECTORY": str(tmp_path)}
    done = CliRunner().invoke(main, ["explain", "rm -rf /"], env=environ, color=True)
    assert done.exit_code == 0
    assert ("\x1b[" in done.output) == coloured


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the machine has no full device")
@pytest.mark.parametrize("arguments", [["--help"], ["explain", "ls"], ["run", "--help"]])
def test_output_that_cannot_be_written_is_told_in_one_line(arguments: list[str], tmp_path: Path) -> None:
    environ = {
        **os.environ,
        "HOME": str(tmp_path),
        "STATE_DIRECTORY": str(tmp_path),
        "RUNTIME_DIRECTORY": str(tmp_path),
    }
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "supervisor.cli", *arguments],
            stdout=full, stderr=subprocess.PIPE, text=True, env=environ, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    (told,) = done.stderr.splitlines()
    assert told.startswith("chaperon: The output cannot be written: [Errno 28]")


def test_an_error_of_another_kind_stays_what_it_is() -> None:
    with pytest.raises(FileNotFoundError):
        LazyGroup("broken", callback=lambda: Path("/nonexistent").read_text(), invoke_without_command=True).main([])


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_file_that_cannot_be_written_is_told_in_one_line(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    def refused() -> None:
        raise OSError(number, os.strerror(number), "/home/ada/.local")

    with pytest.raises(SystemExit):
        LazyGroup("refused", callback=refused, invoke_without_command=True).main([])
    assert capsys.readouterr().err.startswith(f"chaperon: /home/ada/.local: {os.strerror(number)}. Mend that")
