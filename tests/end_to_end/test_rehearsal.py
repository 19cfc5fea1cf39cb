"""A rehearsal as a whole: it compares, and leaves no agent behind however it ends."""

import os
import signal
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from monitors.contract.errors import UsageError
from supervisor.rehearsal import run
from supervisor.rehearsal.run import RehearsalError, rehearse
from supervisor.rehearsal.scenario import Scenario
from tests.stages import forked
from tests.support import names_in, processes_in

pytestmark = pytest.mark.real_cli


def scenario(command: str, **more: object) -> Scenario:
    use = {"tool": "Bash", "input": {"command": command, "description": "A step"}}
    facts = {"name": "small", "task": {"prompt": "go"}, "steps": [{"name": "only", "use": use}], **more}
    return Scenario.model_validate(facts)


async def test_what_is_not_as_expected_is_found(tmp_path: Path, real_claude: Path) -> None:
    expect = {"decisions": [{"step": "only", "decision": "warn"}], "state": "done"}
    made = await anyio.to_thread.run_sync(lambda: scenario("touch made", expect=expect))
    outcome, findings = await rehearse(made, tmp_path / "base", cli=str(real_claude))
    assert "expect.decisions[0]" in [finding.place for finding in findings]
    assert (outcome.state, outcome.exit_code) == ("done", 0)


async def test_a_rehearsal_that_does_not_end_is_ended_with_its_agent(
    tmp_path: Path, real_claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "LONGEST_SECONDS", 4.0)
    made = scenario("tail -f /dev/null")
    with pytest.raises(ExceptionGroup) as caught:
        await rehearse(made, tmp_path / "base", cli=str(real_claude))
    assert caught.group_contains(RehearsalError, match=r"did not end within 4 s, so its agent was ended")
    assert processes_in(tmp_path) == []


async def test_a_rehearsal_that_is_cancelled_leaves_no_agent(tmp_path: Path, real_claude: Path) -> None:
    made = scenario("tail -f /dev/null")
    with anyio.move_on_after(3):
        await rehearse(made, tmp_path / "base", cli=str(real_claude))
    assert processes_in(tmp_path) == []


@pytest.mark.timeout(120)
@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
async def test_a_rehearsal_that_is_killed_leaves_no_process(
    tmp_path: Path, real_claude: Path, by: signal.Signals
) -> None:
    steps = '[{name: only, use: {tool: Bash, input: {command: "tail -f /dev/null", description: A step}}}]'
    (tmp_path / "endless.yaml").write_text(f"name: small\ntask: {{prompt: go}}\nsteps: {steps}\n")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CHAPERON_AGENT__COMMAND": str(real_claude)}
    with forked.Program(["supervisor.cli", "rehearse", str(tmp_path / "endless.yaml")], env=environ) as playing:
        try:
            with anyio.fail_after(60):
                while "tail" not in names_in(tmp_path):
                    await anyio.sleep(0.05)
            playing.send_signal(by)
            code = await anyio.to_thread.run_sync(playing.wait, 30)
        finally:
            playing.kill()
    assert code == (-signal.SIGKILL if by == signal.SIGKILL else 130 if by == signal.SIGINT else 128 + by)
    with anyio.fail_after(30):
        while processes_in(tmp_path):
            await anyio.sleep(0.05)
    if by != signal.SIGKILL:
        assert list((tmp_path / ".local/share/chaperon").iterdir()) == []


async def test_a_wrong_policy_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    made = scenario("ls", policy={"revewer": {}})
    with pytest.raises(UsageError, match="revewer"):
        await rehearse(made, tmp_path / "base")
    assert not (tmp_path / "base").exists()
