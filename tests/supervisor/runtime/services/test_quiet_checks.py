"""Checks of agents' work in quiet moments: after enough steps, beside the agent, and never while a call is under way."""

from pathlib import Path

from supervisor.protocol import events
from supervisor.protocol.events import CheckMade
from supervisor.protocol.merges import CheckOutcome
from supervisor.runtime.merging.verification import Check
from tests.stages.daemon import Base, ConfigFile, ended, served, until
from tests.support import alive

WORKS = """
begin()
def call(number, command, then=""):
    use = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": command}}
    say({"type": "assistant", "uuid": f"u{number}", "message": {"id": f"m{number}", "content": [use]}})
    given = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"toolu_{number}", "cwd": os.getcwd()}
    hook = {"subtype": "hook_callback", "callback_id": "p", "input": {"hook_event_name": "PreToolUse", **given}}
    say({"type": "control_request", "request_id": f"pre{number}", "request": hook})
    while hear().get("response", {}).get("request_id") != f"pre{number}":
        pass
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "ok", "is_error": False}
    say({"type": "user", "uuid": f"r{number}", "message": {"role": "user", "content": [result]}})
for number in range(1, 5):
    call(number, f"touch {number}.txt")
    if number == 2:
        while not os.path.exists("go-on"):
            time.sleep(0.02)
while True:
    hear()
"""


async def test_after_enough_steps_the_projects_check_runs_beside_the_agent_and_its_session_takes_it_in(
    tmp_path: Path,
) -> None:
    base = Base(tmp_path, {"verify": {"command": "echo 1 failed, 2 passed in 0.1s; false", "every_steps": 2}})
    base.cli(WORKS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await until(lambda: len(base.events(CheckMade)) == 1)
        (first,) = base.events(CheckMade)
        assert sum(daemon.board.summary("a1").reviews.values()) == 2
        (base.repo / "go-on").touch()
        await until(lambda: len(base.events(CheckMade)) == 2)
        await daemon.request(events.StopRequested(**daemon.stamp("a1"), by="test", force=True))
        await ended(daemon)
    assert (first.agent, first.quiet, first.result.outcome) == ("a1", True, CheckOutcome.FAILED)
    assert first.result.output == "1 failed, 2 passed in 0.1s"


async def test_the_number_of_steps_is_taken_while_the_daemon_and_the_agent_run(tmp_path: Path) -> None:
    base = Base(tmp_path)
    base.cli(WORKS)
    file = ConfigFile(base, tmp_path / "chaperon.yaml")
    file.write(verify={"command": "true"})
    async with served(base, **await file.read()) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await until(lambda: sum(daemon.board.summary("a1").reviews.values()) == 2)
        file.write(verify={"command": "true", "every_steps": 2})
        await until(lambda: len(base.events(events.PolicyChanged)) == 1)
        (base.repo / "go-on").touch()
        await until(lambda: len(base.events(CheckMade)) == 1)
    (changed,) = base.events(events.PolicyChanged)
    assert changed.changed == ("verify.every_steps",)


async def test_a_check_that_still_runs_as_its_agent_ends_is_ended_and_is_not_told(tmp_path: Path) -> None:
    base = Base(tmp_path, {"verify": {"command": "echo $$ > pid; exec tail -f /dev/null", "every_steps": 2}})
    base.cli(WORKS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="test")
        await until(lambda: (base.repo / "pid").exists() and (base.repo / "pid").read_text().strip() != "")
        pid = int((base.repo / "pid").read_text())
        await daemon.request(events.StopRequested(**daemon.stamp("a1"), by="test", force=True))
        await ended(daemon)
        await until(lambda: not alive(pid))
    assert base.events(CheckMade) == []


async def test_no_check_runs_unless_it_is_configured(tmp_path: Path) -> None:
    base = Base(tmp_path, {"verify": "touch checked"})
    base.plan("touch a", "touch b", "touch c")
    async with served(base) as (daemon, _):
        asked: list[Check] = []
        daemon.verifier.run = asked.append  # type: ignore[assignment,method-assign]
        await daemon.submit(base.submission(), by="test")
        await ended(daemon)
    assert asked == []
