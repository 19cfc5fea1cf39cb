"""The documentation says what is so: its commands run, its excerpt is what the demo prints, its links lead somewhere."""

import json
import os
import pwd
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import anyio
import pytest

from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.scratch import environment
from supervisor.rehearsal.script import ModelScript, ScriptStep, ToolUse
from tests.docs import ROOT

README = (ROOT / "README.md").read_text()

PAGES = [
    Path(name)
    for name in (
        "README.md",
        "AGENTS.md",
        "CHANGELOG.md",
        "supervisor/config/README.md",
        "supervisor/protocol/README.md",
        "tests/bench/README.md",
    )
]

FIRST_COLUMN = re.compile(r"^\d\d:\d\d:\d\d ", re.MULTILINE)

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def blocks(mark: str) -> Iterator[tuple[str, str]]:
    """What the mark says, and the text of the fenced block behind it."""
    for found in re.finditer(rf"<!-- {mark}: ([^\n]*) -->\n```\w*\n(.*?)```", README, re.DOTALL):
        yield found[1], found[2]


def commands(block: str) -> list[str]:
    return [line.partition("  #")[0].strip() for line in block.splitlines() if line.strip()]


BLOCKS = {block.split()[1]: commands(block) for _, block in blocks("run")}
"""The blocks that are marked to be run, by their first command's name."""


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory with a short path, for sockets, and outside of /tmp, where deleting is nobody's loss and so is not blocked."""
    with tempfile.TemporaryDirectory(prefix=".c-", dir=pwd.getpwuid(os.getuid()).pw_dir) as name:
        yield Path(name)


@pytest.fixture
def shell(place: Path) -> Mapping[str, str]:
    """An environment in which `chaperon` is this checkout's, and everything it writes is below the test's directory."""
    folder = place / "bin"
    folder.mkdir()
    script = folder / "chaperon"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m supervisor.cli "$@"\n')
    script.chmod(0o755)
    path = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    home = place / "home"
    return {
        **environment(home, "http://127.0.0.1:9", path),
        "PYTHONPATH": str(ROOT),
        "STATE_DIRECTORY": str(place / "state"),
        "RUNTIME_DIRECTORY": str(place / "run"),
    }


def run(command: str, shell: Mapping[str, str], where: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command], env=dict(shell), cwd=where, capture_output=True, text=True, timeout=100, check=False
    )


def test_every_block_to_be_run_is_run_by_a_test_here() -> None:
    assert set(BLOCKS) == {"run", "rehearse", "explain", "doctor"}
    assert [name for name, _ in blocks("file")] == ["careful.yaml"]


def test_nothing_that_is_said_to_be_installed_is_on_no_index() -> None:
    """There is no package index with chaperon: it is installed from its clone."""
    sources = [ROOT / "README.md", *(ROOT / "supervisor").rglob("*.py"), *(ROOT / "supervisor").rglob("*.md")]
    wanted = [word for file in sources for word in re.findall(r"(?:pipx?|tool) install ([^`\s]+)", file.read_text())]
    assert wanted
    assert not [word for word in wanted if "chaperon" in word]


def test_doctor_says_what_works(shell: Mapping[str, str], tmp_path: Path) -> None:
    (command,) = BLOCKS["doctor"]
    done = run(command, shell, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "python" in done.stdout


def test_an_action_can_be_asked_about_without_a_run(shell: Mapping[str, str], tmp_path: Path) -> None:
    explained, reviewed, listed = (run(command, shell, tmp_path) for command in BLOCKS["explain"])
    assert [done.returncode for done in (explained, reviewed, listed)] == [0, 0, 0], explained.stderr + reviewed.stderr
    assert "git.push-force" in explained.stdout
    assert json.loads(reviewed.stdout)["decision"] == "block"
    assert listed.stdout.strip()


@pytest.mark.real_cli
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_demo_prints_what_the_excerpt_shows(shell: Mapping[str, str], tmp_path: Path) -> None:
    ((_, excerpt),) = blocks("demo")
    done = run("chaperon demo", shell, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    printed = FIRST_COLUMN.sub("", COLOUR.sub("", done.stdout)).splitlines()
    at = 0
    for line in excerpt.splitlines():
        wanted = re.compile(".*".join(re.escape(part.rstrip() if part.isspace() else part) for part in line.split("…")))
        found = next((n for n, other in enumerate(printed[at:], at) if wanted.fullmatch(other.rstrip())), None)
        assert found is not None, f"the demo does not print, where the README shows it: {line}\n{done.stdout}"
        at = found + 1


@pytest.mark.real_cli
@pytest.mark.timeout(300)
def test_the_scenario_that_is_shown_is_played_and_comes_as_it_expects(shell: Mapping[str, str], tmp_path: Path) -> None:
    ((name, text),) = blocks("file")
    (tmp_path / name).write_text(text)
    (command,) = BLOCKS["rehearse"]
    done = run(command, shell, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    """A model whose one call takes longer than the commands to the daemon."""
    async with ScriptedModel(
        ModelScript((ScriptStep((ToolUse("Bash", {"command": "until [ -e never ]; do sleep 0.5; done"}),)),))
    ) as model:
        yield model


@pytest.mark.real_cli
@pytest.mark.anyio
@pytest.mark.timeout(300)
async def test_the_commands_to_a_daemon_run_one_after_another(
    shell: Mapping[str, str], tmp_path: Path, place: Path, model: ScriptedModel
) -> None:
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    shell = {**shell, "ANTHROPIC_BASE_URL": model.url}
    async with await anyio.open_process(["chaperon", "serve"], env=dict(shell), cwd=tmp_path) as daemon:
        try:
            with anyio.fail_after(30):
                while not (place / "run" / "chaperon.sock").exists():
                    await anyio.sleep(0.05)
            for command in BLOCKS["run"]:
                done = await anyio.to_thread.run_sync(run, command, shell, repository)
                assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
                if "--detach" in command:
                    assert done.stdout == "a1\n"
                    with anyio.fail_after(30):
                        await model.wait_for_step(0)
        finally:
            daemon.terminate()


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_leads_to_a_file_that_is_there(page: Path) -> None:
    text = (ROOT / page).read_text()
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    assert not [link for link in links if "://" not in link and link and not (ROOT / page.parent / link).exists()]


FOREIGN = re.compile(
    r"pypi\.org|pythonhosted|files\.python|index-url|registry\.npmjs|crates\.io|proxy\.golang|/work/|/root/|/home/runner"
)
"""Hosts of package registries, and paths of a machine."""


@pytest.mark.parametrize(
    "page", [*PAGES, *map(Path, ("Makefile", "pyproject.toml", "requirements.txt", "requirements-dev.txt", ".ci/run", ".pre-commit-config.yaml"))], ids=str
)  # fmt: skip
def test_nothing_names_a_registry_or_a_machine(page: Path) -> None:
    assert FOREIGN.findall((ROOT / page).read_text()) == []


def test_a_registry_would_be_found() -> None:
    assert FOREIGN.findall("--index-url https://pypi.org/simple")


def distribution(requirement: str) -> str:
    return re.split(r"[<>=!~\[ ]", requirement)[0]


def declared() -> set[str]:
    """What pyproject.toml asks for, the extra included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {distribution(one) for one in (*project["dependencies"], *project["optional-dependencies"]["claude"])}


def test_every_dependency_has_its_reason_in_the_readme() -> None:
    table = README.partition("### What it stands on")[2].partition("\n### ")[0]
    assert set(re.findall(r"^\| ([a-z0-9-]+) \|", table, re.MULTILINE)) - {"package", "---"} == declared()


IMPORTED_AS = {"pyyaml": "yaml", "claude-agent-sdk": "claude_agent_sdk"}


def test_every_dependency_is_used_and_everything_used_is_declared() -> None:
    sources = [path.read_text() for top in ("supervisor", "monitors", "interventions", "checkpoints") for path in (ROOT / top).rglob("*.py")]  # fmt: skip
    used = set(re.findall(r"^\s*(?:from|import) (\w+)", "\n".join(sources), re.MULTILINE))
    own = {"supervisor", "monitors", "interventions", "checkpoints"}
    named = {IMPORTED_AS.get(name, name.replace("-", "_")) for name in declared()}
    assert named - used <= {"claude_agent_sdk"}, "the extra is found on the disk and never imported"
    brought = {"starlette", "pydantic_core"}  # by fastapi and pydantic, as their own faces
    prose = {word for word in used if word not in sys.stdlib_module_names and not _is_installed(word)}
    assert used - prose - set(sys.stdlib_module_names) - own - named - brought == set()


def _is_installed(name: str) -> bool:
    """Whether a word behind `from` is a module at all, and not a docstring's sentence."""
    return any(Path(place, name).is_dir() or Path(place, f"{name}.py").is_file() for place in sys.path if place)


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_pins_are_a_name_and_a_version_and_nothing_else(name: str) -> None:
    lines = (ROOT / name).read_text().splitlines()
    pins = [line for line in lines if line != "-r requirements.txt"]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.]+", line) for line in pins)
    assert len(pins) == len({pin.partition("==")[0].lower() for pin in pins})
