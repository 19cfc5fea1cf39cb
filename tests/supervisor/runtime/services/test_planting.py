"""Files that people's programs obey later, and that no reviewed call of an agent told of."""

import subprocess
from typing import Any

from supervisor.protocol.words import AgentState
from supervisor.runtime.service import run_daemon
from supervisor.runtime.services.planting import Planting
from tests.stages.daemon import Base, ended, reached, served, until

PLANTS = """
from pathlib import Path
Path("sub").mkdir()
Path("sub/.envrc").write_text("x")
Path(".git/hooks").mkdir(exist_ok=True)
Path(".git/hooks/pre-commit").write_text("x")
with open(".git/config", "a") as file:
    file.write("[core]\\n\\tfsmonitor = \\x1b[2Jx\\n")
"""


def planted(base: Base) -> list[dict[str, Any]]:
    return [each for each in base.incidents() if each["type"] == "run_later"]


async def test_what_a_program_left_for_people_to_run_is_an_incident_when_the_turn_ends(base: Base) -> None:
    base.cli(f"begin()\n{PLANTS}\ndone()\nwhile True:\n    hear()")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(keep_open=True), by="test")
        await reached(daemon, AgentState.IDLE)
        await until(lambda: bool(planted(base)))
    (incident,) = planted(base)
    assert (incident["agent"], incident["severity"]) == ("a1", "medium")
    assert "3 files and settings" in incident["summary"]
    assert "sub/.envrc" in incident["summary"]
    assert ".git/hooks/pre-commit" in incident["summary"]
    assert r".git/config: core.fsmonitor = \x1b[2Jx" in incident["summary"]


async def test_a_folder_in_place_of_what_git_reads_ends_no_daemon(base: Base) -> None:
    base.cli(
        "begin()\nfrom pathlib import Path\nPath('.git/config.worktree').mkdir()\nPath('.envrc').write_text('x')\ndone()"
    )
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        await until(lambda: bool(planted(base)))
    (incident,) = planted(base)
    assert incident["summary"].endswith("told of it: .envrc.")


async def test_an_agent_that_planted_nothing_has_no_incident_whatever_was_there_before(base: Base) -> None:
    (base.repo / ".envrc").write_text("x")
    (base.repo / "lib/.git").mkdir(parents=True)
    for repository in (base.repo, base.repo / "lib"):
        with (repository / ".git/config").open("a") as file:
            file.write("[core]\n\tfsmonitor = x\n")
    base.cli("begin()\nfrom pathlib import Path\nPath('a.txt').write_text('x')\ndone()")
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        watchers = [getattr(saw, "__self__", None) for saw in daemon.watchers]
        (planting,) = [each for each in watchers if isinstance(each, Planting)]
        await until(lambda: "a1" not in planting._agents)  # it has looked
    assert planted(base) == []


async def test_what_a_reviewed_call_writes_by_name_is_known_and_what_it_does_besides_is_not(base: Base) -> None:
    calls = """
def call(number, command):
    given = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"t{number}", "cwd": os.getcwd()}
    hook = {"hook_event_name": "PreToolUse", **given}
    say({"type": "control_request", "request_id": f"r{number}", "request": {"subtype": "hook_callback", "callback_id": "x", "input": hook}})
    while hear().get("response", {}).get("request_id") != f"r{number}":
        pass
    os.system(command)
begin()
call(1, "echo x > .envrc")
call(2, "git config alias.st status")
call(3, "git config 'url.https://a/.insteadOf' git:")
call(4, 'git config url."https://b c/".insteadOf git:')
open(".mcp.json", "w").write("{}")
done()
"""
    base.cli(calls)
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        await until(lambda: bool(planted(base)))
    (incident,) = planted(base)
    assert "1 file or setting" in incident["summary"]
    assert incident["summary"].endswith("told of it: .mcp.json.")


async def test_a_daemon_that_was_started_anew_looks_at_what_comes_from_then_on(base: Base) -> None:
    base.cli(
        "begin()\nimport time\nfrom pathlib import Path\nPath('.mcp.json').write_text('{}')\n"
        "while not Path('go').exists():\n    time.sleep(0.05)\nPath('.envrc').write_text('x')\ndone()"
    )
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await reached(daemon, AgentState.RUNNING)
        await until((base.repo / ".mcp.json").exists)
    async with run_daemon(base.setup()) as daemon:
        (base.repo / "go").touch()
        await ended(daemon)
        await until(lambda: bool(planted(base)))
    (incident,) = planted(base)
    assert incident["summary"].endswith("told of it: .envrc.")


BROUGHT = """
def git(*words):
    os.spawnvp(os.P_WAIT, "git", ["git", *words])
from pathlib import Path
git("checkout", "--quiet", "other")
git("clone", "--quiet", ".", "lib")
done()
"""


async def test_what_git_brought_from_before_is_no_incident_and_a_clone_is_a_low_one(base: Base) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", base.repo, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True)

    git("commit", "--quiet", "--allow-empty", "--message", "base")
    git("checkout", "--quiet", "-b", "other")
    (base.repo / ".envrc").write_text("x")
    git("add", ".envrc")
    git("commit", "--quiet", "--message", "x")
    git("checkout", "--quiet", "-")
    assert not (base.repo / ".envrc").exists()
    base.cli(f"begin()\n{BROUGHT}")
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
        await until(lambda: bool(planted(base)))
    (incident,) = planted(base)
    assert incident["severity"] == "low"
    assert incident["summary"].endswith("or as a hook manager of the project writes them: lib/.envrc.")
