"""A real CLI under `chaperon exec --standalone`: watched without a daemon, reported, and failed by what was found."""

import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import parse

import anyio
import pytest

from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.model_requests import tool_results
from supervisor.rehearsal.script import Say, ScriptStep, ToolUse
from tests.stages import forked
from tests.stages.live import bash, make_repository, script
from tests.support import cli_environment, kill_tree, real_claude_path

pytestmark = pytest.mark.real_cli

SECONDS = 90.0


@asynccontextmanager
async def job(base: Path, *steps: Say | ToolUse | ScriptStep) -> AsyncIterator[ScriptedModel]:
    """A checkout of a CI job, with a model; what the job leaves running is ended."""
    make_repository(base / "repo", {"README.md": "Here.\n"})
    (base / "home").mkdir(exist_ok=True)
    trusted = {"projects": {str(base / "repo"): {"hasTrustDialogAccepted": True}}}
    (base / "home/.claude.json").write_text(json.dumps(trusted))
    async with ScriptedModel([script(*steps)]) as model:
        try:
            yield model
        finally:
            kill_tree(0, base)


def command(*options: str) -> list[str]:
    claude = [str(real_claude_path()), "-p", "Go.", "--permission-mode", "bypassPermissions"]
    return ["supervisor.cli", "exec", "--standalone", *options, "--", *claude]


def environ(base: Path, url: str) -> dict[str, str]:
    (base / "tmp").mkdir(exist_ok=True)
    return {
        **cli_environment(base / "home", url),
        "PYTHONPATH": str(Path.cwd()),
        "TMPDIR": str(base / "tmp"),
        "CI": "true",
    }


async def run(base: Path, url: str, *options: str) -> subprocess.CompletedProcess[str]:
    module, *arguments = command(*options)
    return await anyio.to_thread.run_sync(
        lambda: forked.run(module, *arguments, seconds=SECONDS, environ=environ(base, url), cwd=base / "repo")
    )


async def test_a_job_is_watched_without_a_daemon_and_its_findings_are_written_in_three_forms(tmp_path: Path) -> None:
    outside = tmp_path / "home/notes"
    async with job(tmp_path, bash("echo one > one.txt"), bash(f"rm -rf {outside}"), Say("done")) as model:
        outside.mkdir(parents=True)
        done = await run(tmp_path, model.url, "--report", str(tmp_path / "found"))
        told = [result.text for result in tool_results(model.requests[-1]).values()]
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr
    assert outside.exists()
    assert (tmp_path / "repo/one.txt").exists()
    assert "outside" in told[-1]
    assert "2 calls reviewed, 1 not let through as asked (1 block)" in done.stderr
    [sarif] = json.loads((tmp_path / "found/chaperon.sarif").read_text())["runs"]
    assert any("rm -rf" in one["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] for one in sarif["results"])
    suites = parse(tmp_path / "found/junit.xml").getroot()
    assert len(list(suites.iter("skipped"))) == 1
    kinds = [json.loads(line).get("kind") for line in (tmp_path / "found/journal.jsonl").read_text().splitlines()]
    assert "agent_attached" in kinds
    assert kinds[-1] == "daemon_stopped"
    assert list((tmp_path / "tmp").glob("chaperon-*")) == [], "nothing is left beside the reports"


PAGE = Path(__file__).parents[2] / "docs/how-to/ci.md"


def scripts() -> dict[str, str]:
    """The shell part of each workflow on the page, by the service's name."""
    found = {}
    for part in PAGE.read_text().split("\n## ")[1:]:
        lines = part.split("```yaml")[1].split("```")[0].splitlines()
        begin = next(number for number, line in enumerate(lines) if "chaperon exec" in line)
        found[part.splitlines()[0]] = "\n".join(line.strip() for line in lines[begin : begin + 2])
    return found


@pytest.mark.parametrize("service", scripts())
async def test_the_script_of_each_workflow_on_the_page_is_watched_and_reports(tmp_path: Path, service: str) -> None:
    async with job(tmp_path, Say("done")) as model:
        programs = tmp_path / "bin"
        programs.mkdir()
        (programs / "claude").symlink_to(real_claude_path())
        (programs / "chaperon").symlink_to(Path(sys.executable).with_name("chaperon"))
        around = environ(tmp_path, model.url)
        around["PATH"] = f"{programs}:{around['PATH']}"
        with anyio.fail_after(SECONDS):
            done = await anyio.run_process(
                ["bash", "-euc", scripts()[service]], cwd=tmp_path / "repo", env=around, check=False
            )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "repo/found/chaperon.sarif").exists()
    assert (tmp_path / "repo/found/junit.xml").exists()


async def test_a_run_that_no_hook_tells_of_fails_if_findings_may_fail_it(tmp_path: Path) -> None:
    async with job(tmp_path, Say("done")) as model:
        (tmp_path / "home/.claude").mkdir(exist_ok=True)
        (tmp_path / "home/.claude/settings.json").write_text('{"disableAllHooks": true}')
        done = await run(tmp_path, model.url, "--fail-on", "critical")
    assert done.returncode == 4
    assert "nothing of this run was watched" in done.stderr


async def test_a_job_that_is_cancelled_ends_its_cli_and_leaves_nothing(tmp_path: Path) -> None:
    async with job(tmp_path, bash("touch begun; exec sleep 600"), Say("done")) as model:
        where: dict[str, Any] = {"cwd": tmp_path / "repo", "env": environ(tmp_path, model.url)}
        with forked.Program(command(), **where, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                with anyio.fail_after(SECONDS):
                    while not (tmp_path / "repo/begun").exists():
                        await anyio.sleep(0.05)
                process.send_signal(signal.SIGTERM)
                code = await anyio.to_thread.run_sync(process.wait, SECONDS)
            finally:
                process.kill()
    assert code == 128 + signal.SIGTERM
    assert list((tmp_path / "tmp").glob("chaperon-*")) == []
    left = [one for one in Path("/proc").iterdir() if one.name.isdigit() and works_below(one, tmp_path)]
    assert left == []


def works_below(process: Path, base: Path) -> bool:
    try:
        return (process / "cwd").readlink().is_relative_to(base)
    except OSError:
        return False
