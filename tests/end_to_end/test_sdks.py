"""Programs on the official SDKs, unchanged but for the path of the CLI: a link named `claude` to chaperon."""

import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import anyio
import pytest

from supervisor.core.fold.summary import Summary
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.script import Say, ToolUse
from supervisor.runtime.service import run_daemon
from tests.stages.attached import Attached, attached
from tests.stages.daemon import until
from tests.stages.live import bash, setup
from tests.support import real_claude_path

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(300)]

SECONDS = 120.0

TYPESCRIPT_SDK = "@anthropic-ai/claude-agent-sdk@0.3.330"
"""It is installed without its optional packages, which bring a CLI for each platform."""

PYTHON = """
import sys, anyio
from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, query

async def main():
    options = ClaudeAgentOptions(cli_path=sys.argv[1], permission_mode="bypassPermissions")
    async for message in query(prompt="Tidy up.", options=options):
        if isinstance(message, ResultMessage):
            print("query:", message.result)
    async with ClaudeSDKClient(options=options) as client:
        for prompt in ("Begin.", "Go on."):
            await client.query(prompt)
            async for message in client.receive_response():
                if isinstance(message, ResultMessage):
                    print("client:", message.result)

anyio.run(main)
"""

TYPESCRIPT = """
import { query } from "@anthropic-ai/claude-agent-sdk";

const options = {
  pathToClaudeCodeExecutable: process.argv[2],
  permissionMode: "bypassPermissions",
  allowDangerouslySkipPermissions: true,
  hooks: { PreToolUse: [{ matcher: "Write", hooks: [async (input) => ({ decision: "block", reason: "not by Write" })] }] },
};
for await (const message of query({ prompt: "Tidy up.", options })) {
  if (message.type === "result") console.log("query:", message.result);
}
"""


def link_to_us(folder: Path) -> Path:
    """A link named `claude` to chaperon, as a person puts first on PATH."""
    folder.mkdir()
    link = folder / "claude"
    link.symlink_to(Path(sys.executable).with_name("chaperon"))
    return link


async def run_under_watch(stage: Attached, command: list[str], agents: int) -> tuple[str, list[Summary]]:
    """Run a program with a daemon there; returns what it prints, and its agents once they have ended."""
    link = link_to_us(stage.base / "bin")
    await anyio.to_thread.run_sync(lambda: stage.chaperon("detach"))
    async with run_daemon(setup(stage.base, stage.model.url)) as daemon:
        environ = {**stage.environ, "PATH": f"{link.parent}:{real_claude_path().parent}:{stage.environ['PATH']}"}
        with anyio.fail_after(SECONDS):
            done = await anyio.run_process([*command, str(link)], cwd=stage.repo, env=environ, check=False)
        assert done.returncode == 0, done.stderr.decode()
        await until(lambda: [one.state for one in daemon.board.summaries()] == [AgentState.DONE] * agents)
        return done.stdout.decode(), list(daemon.board.summaries())


async def test_a_program_on_the_python_sdk_works_unchanged_and_its_calls_are_reviewed(tmp_path: Path) -> None:
    outside, program = tmp_path / "home/notes", tmp_path / "program.py"
    program.write_text(PYTHON)
    steps = (bash("touch one.txt"), bash(f"rm -rf {outside}"), Say("tidy"))
    more = (bash("touch two.txt"), Say("begun"), bash("touch three.txt"), Say("gone on"))
    async with attached(tmp_path, *steps, *more) as stage:
        outside.mkdir(parents=True)
        said, agents = await run_under_watch(stage, [sys.executable, str(program)], 2)
    assert said.splitlines() == ["query: tidy", "client: begun", "client: gone on"]
    assert [(one.origin, one.task.prompt, one.reviews) for one in agents] == [
        ("sdk", "Tidy up.", {"allow": 1, "block": 1}),
        ("sdk", "Begin.", {"allow": 2}),
    ]
    assert outside.exists()
    assert {path.name for path in stage.repo.glob("*.txt")} == {"one.txt", "two.txt", "three.txt"}


@pytest.fixture
def python_source(pytestconfig: pytest.Config) -> Path:
    """The source distribution of the SDK that is installed, in a folder of the tests' cache: it has the examples."""
    name = f"claude-agent-sdk=={version('claude-agent-sdk')}"
    folder = pytestconfig.cache.mkdir(name.replace("==", "-"))
    if not (found := list(folder.glob("*/examples"))):
        options = ("--no-deps", "--no-binary=:all:", "--no-build-isolation", "--disable-pip-version-check", "--quiet")
        command = [sys.executable, "-m", "pip", "download", *options, f"--dest={folder}", name]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"the source of the Python SDK cannot be had: {error}")
        for archive in folder.glob("*.tar.gz"):
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
        found = list(folder.glob("*/examples"))
    return found[0].parent


async def test_the_python_sdks_own_example_works_unchanged(
    tmp_path: Path, python_source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hello = tmp_path / "repo/hello.txt"
    answers = Say("4"), Say("A language."), ToolUse("Write", {"file_path": str(hello), "content": "Hello!"}), Say("ok")
    async with attached(tmp_path, *answers) as stage:
        # The source brings no CLI of its own, so that the one on PATH is taken.
        monkeypatch.setattr(Attached, "environ", {**stage.environ, "PYTHONPATH": str(python_source / "src")})
        program = python_source / "examples/quick_start.py"
        said, agents = await run_under_watch(stage, [sys.executable, str(program)], 3)
    assert [line for line in said.splitlines() if line.startswith("Claude:")] == [
        "Claude: 4",
        "Claude: A language.",
        "Claude: ok",
    ]
    assert hello.read_text() == "Hello!"
    assert [one.reviews for one in agents] == [{}, {}, {"allow": 1}]
    assert {one.origin for one in agents} == {"sdk"}


@pytest.fixture
def typescript(pytestconfig: pytest.Config) -> Path:
    """A folder of the tests' cache in which the SDK is installed."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip("node and npm are not installed")
    folder = pytestconfig.cache.mkdir(f"typescript-{TYPESCRIPT_SDK.rpartition('@')[2]}")
    if not (folder / "node_modules/@anthropic-ai/claude-agent-sdk/package.json").exists():
        command = ["npm", "install", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund", TYPESCRIPT_SDK]
        try:
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"the TypeScript SDK cannot be installed: {error}")
    (folder / "program.mjs").write_text(TYPESCRIPT)
    return folder


async def test_a_program_on_the_typescript_sdk_works_unchanged_and_its_calls_are_reviewed(
    tmp_path: Path, typescript: Path
) -> None:
    outside = tmp_path / "home/notes"
    written = tmp_path / "repo/written.txt"
    write = ToolUse("Write", {"file_path": str(written), "content": "x"})
    async with attached(tmp_path, bash("touch one.txt"), bash(f"rm -rf {outside}"), write, Say("tidy")) as stage:
        outside.mkdir(parents=True)
        said, [agent] = await run_under_watch(stage, ["node", str(typescript / "program.mjs")], 1)
    assert said.splitlines() == ["query: tidy"]
    told = stage.told()
    assert (agent.origin, agent.reviews) == ("sdk", {"allow": 2, "block": 1})
    assert outside.exists()
    assert not written.exists()
    assert "not by Write" in told[-1], "the program's own hook is asked beside ours"
    assert (stage.repo / "one.txt").exists()
