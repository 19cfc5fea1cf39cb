"""Each way back from a stop, by its command, from the report, with another daemon than wrote it."""

import subprocess
from pathlib import Path

import orjson
import pytest

from monitors.contract.errors import ChaperonError, NotFoundError, UsageError
from monitors.contract.words import MonitoringLevel
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.clock import Clock
from supervisor.runtime.daemon.submission import UnavailableError
from supervisor.runtime.services.people.recovery import Recovering
from tests.stages.house import House, bash, house, say

pytestmark = pytest.mark.real_cli


async def stopped(base: Path) -> str:
    """An agent that was stopped after its first step, and the incident's id; the daemon has ended since."""
    async with house(base, bash("echo first"), bash(f"echo x > {base}/state/journal/x"), say("Done.")) as made:
        await made.submit(prompt="Count to two.")
        assert (await made.ended()).after is AgentState.STOPPED
        opened = await made.until(events.IncidentOpened, lambda event: event.report is not None)
        return opened.incident.id


async def resumed(made: House, incident: str, option: str) -> str:
    """Carry an option out; the name of the agent that goes on."""
    done = orjson.loads(await made.chaperon("recover", incident, option, "--json"))
    return str(done["agent"])


def recovering_in(made: House) -> Recovering:
    daemon = made.daemon
    parts = daemon.happened, daemon.journal, Clock(), daemon.submit, daemon.give_up_workspace
    return Recovering(daemon.board, *parts, made.base / "state")


async def test_the_options_are_listed_with_their_commands(tmp_path: Path) -> None:
    incident = await stopped(tmp_path)
    async with house(tmp_path) as made:
        said = await made.chaperon("recover", incident)
    assert f"chaperon recover {incident} resume-with-limits" in said
    assert f"chaperon recover {incident} rollback-and-retry" in said


async def test_on_another_day_the_session_goes_on_with_stricter_limits(tmp_path: Path) -> None:
    incident = await stopped(tmp_path)
    async with house(tmp_path, say("I know.")) as made:
        before = made.daemon.board.summary("a1")
        name = await resumed(made, incident, "resume-with-limits")
        assert name == "a1-r1"
        assert (await made.ended(name)).after is AgentState.DONE
        after = made.daemon.board.summary(name)
        assert after.session_id == before.session_id
        assert after.task.limits.max_token_usage is not None
        assert after.task.limits.max_token_usage <= 50_000_000
        assert after.task.monitoring_level is MonitoringLevel.STRICT
        assert "Count to two." in made.told(), "the conversation goes on"
        assert "You were stopped: " in made.told()


async def test_on_another_day_the_session_goes_on_with_each_action_approved(tmp_path: Path) -> None:
    incident = await stopped(tmp_path)
    async with house(tmp_path, bash("echo 1 > made.txt"), say("I know.")) as made:
        name = await resumed(made, incident, "manual-approval")
        asked = await made.until(events.ApprovalAsked, agent=name)
        told = orjson.loads(await made.chaperon("approve", name, asked.request_id, "--json"))
        assert told["agent"] == name
        assert (await made.ended(name)).after is AgentState.DONE
        assert (made.workspace / "made.txt").exists()


async def test_on_another_day_the_files_go_back_to_the_checkpoint_and_the_task_begins_anew(tmp_path: Path) -> None:
    incident = await stopped(tmp_path)
    async with house(tmp_path, say("Again.")) as made:
        before = made.daemon.board.summary("a1").session_id
        name = await resumed(made, incident, "rollback-and-retry")
        assert (await made.ended(name)).after is AgentState.DONE
        (restored,) = made.events(events.CheckpointRestored)
        assert restored.files_only
        assert made.daemon.board.summary(name).session_id != before
        assert "An earlier attempt was stopped" in made.told()


async def test_a_daemon_that_cannot_restore_says_so_and_does_nothing(tmp_path: Path) -> None:
    incident = await stopped(tmp_path)
    async with house(tmp_path) as made:
        with pytest.raises(UnavailableError, match="cannot set files back"):
            await recovering_in(made).carry_out(incident, "rollback-and-retry", "ann")
        assert len(made.daemon.board.summaries()) == 1


async def test_a_report_of_a_session_that_no_cli_can_resume_is_refused_before_anything_changes(tmp_path: Path) -> None:
    incident = await stopped(tmp_path)
    path = tmp_path / "state" / "incidents" / f"{incident}.json"
    path.write_bytes(orjson.dumps({**orjson.loads(path.read_bytes()), "session_id": "stand-in"}))
    async with house(tmp_path) as made:
        with pytest.raises(UsageError, match=r"resume_session: .*nothing was done.*rollback-and-retry"):
            await recovering_in(made).carry_out(incident, "resume-with-limits", "ann")
        assert len(made.daemon.board.summaries()) == 1


async def test_giving_up_removes_a_worktree_in_which_nothing_would_be_lost_and_no_other(tmp_path: Path) -> None:
    incident = await stopped(tmp_path)
    path = tmp_path / "state" / "incidents" / f"{incident}.json"
    git = ["git", "-C", str(tmp_path / "workspace"), "worktree", "add", "-q", "-b", "work", str(tmp_path / "own")]
    subprocess.run(git, check=True)

    def in_another(workspace: str) -> None:
        path.write_bytes(orjson.dumps({**orjson.loads(path.read_bytes()), "workspace": workspace}))

    async with house(tmp_path) as made:
        recovering = recovering_in(made)
        for workspace in (str(made.workspace), str(tmp_path / "own")):
            in_another(workspace)
            assert "none that chaperon made" in (await recovering.carry_out(incident, "abort", "ann")).says
            assert Path(workspace, ".git").exists()
        assert not (made.base / "state" / "agents" / "a1").exists()
        beside = Path((await made.daemon.worktrees.create("a1", str(made.workspace), "HEAD")).path)
        in_another(str(beside))
        (beside / "work.txt").write_text("not committed")
        assert "1 path is not committed" in (await recovering.carry_out(incident, "abort", "ann")).says
        (beside / "work.txt").unlink()
        assert "was removed" in (await recovering.carry_out(incident, "abort", "ann")).says
        assert not beside.exists()
        taken = [event.option for event in made.events(events.RecoveryTaken)]
        assert taken == ["abort"] * 4
    async with house(tmp_path) as again:
        (abort,) = [row for row in await recovering_in(again).options(incident) if row["taken"]]
        assert abort["option"] == "abort"
        assert abort["taken"].startswith("by ann at 2")
        assert "a repository of yours is left as it is" in abort["description"]
        assert "taken already, by ann at 2" in await again.chaperon("recover", incident)


async def test_giving_up_runs_no_program_that_the_stopped_agent_named_to_git(tmp_path: Path) -> None:
    """It ran within the daemon, with its key and as a process that the socket answers."""
    ran, program = tmp_path / "ran", tmp_path / "monitor"
    program.write_text(f"#!/bin/sh\necho $0 $@ >> {ran}\n")
    program.chmod(0o755)
    named = ("core.fsmonitor", "core.sshCommand", "diff.external", "filter.x.clean", "filter.x.process", "core.pager")
    config = "; ".join(f"git config {key} {program}" for key in named)
    rules = [
        {"name": "own.config", "tool": "Bash", "match": "^git config", "decision": "allow", "reason": "for the test"}
    ]
    steps = bash(config), bash(f"echo x > {tmp_path}/state/journal/x"), say("Done.")
    async with house(tmp_path, *steps, policy={"rules": rules}) as made:
        await made.submit(workspace="new")
        assert (await made.ended()).after is AgentState.STOPPED
        opened = await made.until(events.IncidentOpened, lambda event: event.report is not None)
        workspace = Path(made.daemon.board.summary("a1").workspace)
        common = subprocess.run(["git", "-C", workspace, "config", "core.fsmonitor"], capture_output=True, check=True)
        assert common.stdout.decode().strip() == str(program)
        recovering = recovering_in(made)
        said = (await recovering.carry_out(opened.incident.id, "abort", "ann")).says
        assert "was removed" in said
        assert not workspace.exists()
    assert not ran.exists(), ran.read_text()


async def test_nothing_is_done_while_an_agent_has_the_session_or_for_what_is_no_incident(tmp_path: Path) -> None:
    incident = await stopped(tmp_path)
    async with house(tmp_path, bash("sleep 20"), say("Done.")) as made:
        recovering = recovering_in(made)
        name = (await recovering.carry_out(incident, "resume-with-limits", "ann")).agent
        with pytest.raises(UsageError, match=f"Agent '{name}' is .* there, so nothing was done"):
            await recovering.carry_out(incident, "manual-approval", "ann")
        with pytest.raises(UsageError, match="no recovery option 'fly'"):
            await recovering.carry_out(incident, "fly", "ann")
        for wrong in ("no-such", "../../etc/passwd", ""):
            with pytest.raises(NotFoundError):
                await recovering.carry_out(wrong, "abort", "ann")
        (made.base / "state" / "incidents" / "torn.json").write_text('{"half')
        with pytest.raises(ChaperonError, match="cannot be read"):
            await recovering.carry_out("torn", "abort", "ann")
