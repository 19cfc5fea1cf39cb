"""The user's scripts for what happens: real ones, under a whole daemon with a stand-in for the CLI."""

import json
import logging
import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest

from interventions.decisions import Intervention
from interventions.words import InterventionKind
from monitors.contract.issues import Issue
from monitors.contract.words import Severity
from supervisor.config.model import Config
from supervisor.config.sections.hooks import HooksSection
from supervisor.protocol import events
from supervisor.protocol.merges import MergePhase
from supervisor.protocol.words import AgentState, DiscoveryScope
from supervisor.runtime.assembly.review_settings import protected_paths
from supervisor.runtime.daemon import hooks, repository_hooks
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.service import run_daemon
from tests.stages.branches import WORKS, git
from tests.stages.daemon import Base, ended, reached, served, until
from tests.support import alive

WAITS = "begin()\nwhile True:\n    hear()"


def hook(base: Base, name: str, text: str, **more: float) -> Path:
    """Configure a hook; what it prints to $SAID is in the file that is returned."""
    script, said = base.root / f"{name}.sh", base.root / f"{name}.said"
    script.write_text(f"#!/bin/sh\nSAID={said}\n{text}\n")
    script.chmod(0o755)
    base.config["hooks"] = {**base.config.get("hooks", {}), name: str(script), **more}
    return said


async def test_one_runs_before_the_agent_starts_and_one_after_it_has_ended_whatever_the_daemon_does(base: Base) -> None:
    before = hook(
        base,
        "pre-start",
        f'echo "$TASK_ID $AGENT $WORKSPACE" > $SAID; test -e {base.root}/begun || echo first >> $SAID',
    )
    after = hook(base, "post-complete", 'sleep 0.2; echo "$TASK_ID $AGENT $STATUS $DURATION $BRANCH" > $SAID')
    base.cli(f"open({str(base.root / 'begun')!r}, 'w').close()\nbegin()\ndone()\nhear()")
    async with run_daemon(base.setup()) as daemon:
        summary = await daemon.submit(base.submission(), by="ann")
        await ended(daemon)
    task = summary.task.id
    assert before.read_text().split() == [task, "a1", summary.workspace, "first"]
    assert after.read_text().split()[:3] == [task, "a1", "done"]
    assert 0 <= float(after.read_text().split()[3]) < 600


async def test_a_pause_and_an_incident_are_told_with_what_they_are_about(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is logged goes into the report of the test, and xdist cannot send half a character from its worker.
    monkeypatch.setattr(logging.getLogger("chaperon"), "propagate", False)
    paused = hook(base, "on-pause", 'echo "$AGENT: $REASON: $RUNNING_TASKS" > $SAID')
    failed = hook(base, "on-error", 'echo "$AGENT $ERROR_TYPE $MESSAGE" >> $SAID')
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        task = (await daemon.submit(base.submission(), by="ann")).task.id
        await reached(daemon, AgentState.RUNNING)
        await daemon.request(events.PauseRequested(**daemon.stamp("a1"), by="ann"))
        await until(paused.exists)
        daemon.fault("", "torn_journal", "It was \0torn\ud800.")
        await until(lambda: failed.exists() and failed.read_text().endswith("\n"))
    await until(lambda: paused.read_text() == f"a1: paused by ann: {task}\n")
    assert failed.read_text().splitlines()[0] == " torn_journal It was torn?."


@pytest.mark.parametrize("text", ["kill -9 $$", "sleep 300"])
async def test_one_that_is_ended_or_hangs_is_logged_and_changes_nothing(
    base: Base, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    caplog.set_level(logging.WARNING, "chaperon")
    hook(base, "pre-start", text, timeout=0.3)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="ann")
        assert (await ended(daemon)).state is AgentState.DONE
    assert f"The hook pre-start {base.root / 'pre-start.sh'} " in caplog.text
    assert base.incidents() == []


TICKET = """
from interventions import InterventionKind, Plan


class Ticket:
    name = "ticket"
    kind = InterventionKind.SOFT_CORRECTION
    types = ("repetition",)

    def plan(self, case):
        return Plan("", {"effect": "open_ticket", "about": case.issue.type})


make_intervention = Ticket
"""


def opens_tickets(base: Base) -> None:
    """A run that repeats itself, and an intervention of a plugin's whose effect is a ticket."""
    plugin = base.root / "ticket.py"
    plugin.write_text(TICKET)
    base.config["plugins"] = {"interventions": [str(plugin)]}
    base.plan(*["ls"] * 4)


async def test_an_intervention_of_ones_own_has_an_effect_of_its_own_and_need_not_say_a_word(base: Base) -> None:
    script = 'echo "$EFFECT $KIND $PATTERN $SEVERITY $DETAILS $AGENT" > $SAID.new; mv $SAID.new $SAID'
    done = hook(base, "on-intervention", script)
    opens_tickets(base)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="ann")
        await until(done.exists)
    effect, kind, pattern, severity, details, agent = done.read_text().split()
    assert (effect, kind, pattern, severity, agent) == ("open_ticket", "soft_correction", "repetition", "medium", "a1")
    assert json.loads(details)["about"] == "repetition"


@pytest.mark.parametrize(
    ("script", "why"),
    [("echo no tracker here; exit 4", "ended with exit code 4"), ("", "names no script hooks.on-intervention")],
    ids=["fails", "is missing"],
)
async def test_an_effect_that_was_not_done_is_an_incident(base: Base, script: str, why: str) -> None:
    if script:
        hook(base, "on-intervention", script)
    opens_tickets(base)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="ann")
        await until(lambda: any(each["type"] == "effect_not_done" for each in base.incidents()))
    told = next(each for each in base.incidents() if each["type"] == "effect_not_done")
    assert told["agent"] == "a1"
    assert "'open_ticket'" in told["summary"]
    assert why in told["summary"]
    assert "hooks.on-intervention" in told["way_out"]


async def test_an_effect_that_was_passed_over_in_a_storm_is_an_incident(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "MOST_WAITING", 2)
    issue = Issue("repetition", Severity.MEDIUM, 0.7, 0.2, 1, "It repeats itself.", (1,))
    kind, details = InterventionKind.SOFT_CORRECTION, {"effect": "open_ticket"}
    async with run_daemon(base.setup()) as daemon:
        for number in range(5):
            chosen = Intervention(f"i-{number}", kind, issue, 0.4, "because", "", details)
            daemon.hooks.saw(events.InterventionChosen(**daemon.stamp("a1"), intervention=chosen))
    told = [each["summary"] for each in base.incidents() if each["type"] == "effect_not_done"]
    assert any("2 scripts waited before it" in each for each in told)


async def test_a_storm_of_incidents_does_not_make_a_storm_of_hooks(
    base: Base, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "MOST_WAITING", 2)
    said = hook(base, "on-error", "echo x >> $SAID")
    async with run_daemon(base.setup()) as daemon:
        for number in range(10):
            daemon.fault("", "torn_journal", f"Number {number}.")
    assert said.read_text() in ("x\n" * 2, "x\n" * 3), "two wait, and one may be under way"
    assert "hook on-error was passed over" in caplog.text


async def test_a_task_that_is_taken_while_its_hook_runs_is_refused(base: Base) -> None:
    said = hook(base, "pre-start", f"echo x >> $SAID; while [ ! -e {base.root}/go ]; do sleep 0.05; done")
    base.cli(WAITS)
    async with served(base) as (_, client):
        async with anyio.create_task_group() as asking:
            answers: list[int] = []

            async def ask() -> None:
                wanted = {"prompt": "go", "repository": str(base.repo), "name": "a1"}
                answers.append((await client.post("/v1/agents", json=wanted)).status_code)

            for _ in range(2):
                asking.start_soon(ask)
            await until(lambda: said.exists() and answers == [422])
            (base.root / "go").touch()
        assert answers == [422, 201]
    assert said.read_text() == "x\n", "the hook of the one that is refused does not run"


def test_the_programs_that_the_daemon_runs_are_out_of_agents_reach(base: Base) -> None:
    named = {"hooks": {"post-complete": "/opt/told.sh"}, "workspaces": {"set_up": "/opt/set-up"}}
    kept = protected_paths(Config.model_validate(named), base.places, {"HOME": str(base.home)})
    assert {"/opt/told.sh", "/opt/set-up"} <= set(kept)


def test_each_key_that_names_a_script_is_a_hook_that_runs() -> None:
    names = {name.replace("_", "-") for name in HooksSection.model_fields if name not in ("timeout", "repositories")}
    assert len(names) == 10
    full = Config.model_validate({"hooks": dict.fromkeys(names, "/x.sh")}).hooks
    assert set(full.programs()) == names


async def test_a_hook_before_the_start_can_veto_it_and_nothing_is_left(base: Base) -> None:
    hook(base, "pre-start", "echo not today; exit 3")
    committed(base)
    async with served(base) as (daemon, client):
        wanted = {"prompt": "go", "repository": str(base.repo), "name": "a1", "workspace": "new"}
        refused = await client.post("/v1/agents", json=wanted)
        assert refused.status_code >= 400
        assert "not today" in refused.json()["what"]
        assert daemon.board.summaries() == []
        assert await daemon.worktrees.all() == []


def committed(base: Base) -> None:
    """A first commit on main, and workspaces of this test's own."""
    base.config["workspaces"] = {"folder": str(base.root / "workspaces")}
    git(base.repo, "checkout", "-qb", "main")
    (base.repo / "file.txt").write_text("first\n")
    git(base.repo, "add", "-A")
    git(base.repo, "commit", "-qm", "first")


async def works(base: Base, daemon: Daemon, agent: str, text: str) -> None:
    base.cli(WORKS.format(program=f'open("file.txt", "w").write("{text}")'))
    await daemon.submit(base.submission(name=agent, workspace="new"), by="ann")
    await ended(daemon, agent)


async def test_merges_have_hooks_and_the_one_before_can_veto(base: Base) -> None:
    about = "$TASK_ID $CHAPERON_AGENT $AXIOM_BRANCH $TARGET"
    veto = base.root / "veto"
    before = hook(base, "pre-merge", f'echo "{about}" > $SAID; test ! -e {veto} || {{ echo a freeze; exit 1; }}')
    after = hook(base, "post-merge", f'echo "{about} $COMMIT_HASH" > $SAID.new; mv $SAID.new $SAID')
    conflict = hook(base, "on-conflict", f'echo "{about} $FILES $LEVEL" > $SAID.new; mv $SAID.new $SAID')
    committed(base)
    async with served(base) as (daemon, _):
        await works(base, daemon, "a1", "one")
        await works(base, daemon, "a2", "two")
        task = {agent: daemon.board.summary(agent).task.id for agent in ("a1", "a2")}
        veto.touch()
        held = await daemon.merging.carry_out("a1", "ann")
        assert (held.phase, "a freeze" in held.why) == (MergePhase.PARKED, True)
        veto.unlink()
        merged = await daemon.merging.carry_out("a1", "ann")
        await until(after.exists)
        assert (await daemon.merging.carry_out("a2", "ann")).phase is MergePhase.PARKED
        await until(conflict.exists)
    assert after.read_text().split() == [task["a1"], "a1", "chaperon/a1", "main", merged.merged]
    assert before.read_text().split() == [task["a2"], "a2", "chaperon/a2", "main"]
    assert conflict.read_text().split() == [task["a2"], "a2", "chaperon/a2", "main", "file.txt", "textual"]


async def test_a_discovery_has_a_hook_and_the_branch_is_known_in_place_too(base: Base) -> None:
    found = hook(base, "on-discovery", 'echo "$DISCOVERY_ID $SCOPE $CONTENT $BRANCH" > $SAID.new; mv $SAID.new $SAID')
    committed(base)
    base.cli(WAITS)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="ann")
        seq = daemon.happened(events.DiscoveryNoted(**daemon.stamp("a1"), scope=DiscoveryScope.REPOSITORY, text="it"))
        await until(found.exists)
    assert found.read_text().split() == [f"d{seq}", "repository", "it", "main"]


async def test_routine_answers_are_no_errors(base: Base) -> None:
    said = hook(base, "on-error", 'echo "$ERROR_TYPE" >> $SAID')
    async with run_daemon(base.setup()) as daemon:
        for type_, severity in (("soft_correction", Severity.HIGH), ("x", Severity.LOW), ("real", Severity.MEDIUM)):
            daemon.fault("", type_, "It happened.", severity)
    assert said.read_text() == "real\n"


async def test_scripts_of_a_repository_run_once_a_person_trusts_their_content_and_only_that_content(base: Base) -> None:
    committed(base)
    folder, said = base.repo / ".chaperon/hooks", base.root / "said"
    folder.mkdir(parents=True)
    (folder / "post-complete.sh").write_text(f'#!/bin/sh\n. "$(dirname "$0")/shared"\nsay "$AGENT $(pwd)" >> {said}\n')
    (folder / "shared").write_text("say() { echo said $1; }\n")
    async with served(base) as (daemon, client):

        async def trusted() -> dict[str, Any]:
            shown: dict[str, Any] = (await client.get("/v1/trust", params={"directory": str(base.repo)})).json()
            body = {"directory": str(base.repo), "digest": "", "granted": True, "hooks_digest": shown["hooks_digest"]}
            answer = await client.post("/v1/trust", json=body)
            assert answer.status_code == 200, answer.text
            return dict(answer.json())

        async def run(name: str) -> None:
            """Run an agent to its end; its own hook may still be under way, the one after it is waited for."""
            await daemon.submit(base.submission(name=name), by="ann")
            await ended(daemon, name)
            await daemon.hooks._run("post-complete", {"REPOSITORY": str(base.repo), "AGENT": f"{name}-again"})

        await run("a1")
        assert not said.exists()
        assert [thing["counts"] for thing in (await trusted())["hooks"]] == [True, True]
        await run("a2")
        await until(lambda: sorted(said.read_text().split()[1::3]) == ["a2", "a2-again"])
        assert f"said a2-again {base.repo}\n" in said.read_text()
        (folder / "shared").write_text("say() { echo evil; }\n")
        await run("a3")
        assert "evil" not in said.read_text()
        await client.post("/v1/trust", json={"directory": str(base.repo), "digest": "", "granted": False})
        (folder / "shared").write_text("say() { echo said $1; }\n")
        lines = said.read_text()
        await run("a4")
        assert said.read_text() == lines


@pytest.mark.parametrize("spoil", ["a link", "too large", "too many", "a folder"])
def test_scripts_that_cannot_be_looked_at_whole_are_none(tmp_path: Path, spoil: str) -> None:
    folder = tmp_path / ".chaperon/hooks"
    folder.mkdir(parents=True)
    (folder / "pre-merge").write_text("#!/bin/sh\n")
    assert repository_hooks.look_at_hooks(tmp_path).digest.startswith("hooks:")
    match spoil:
        case "a link":
            (folder / "more").symlink_to("/etc/passwd")
        case "too large":
            (folder / "more").write_bytes(bytes(repository_hooks.MOST_BYTES))
        case "too many":
            for number in range(repository_hooks.MOST_FILES):
                (folder / f"more{number}").touch()
        case _:
            (folder / "more").mkdir()
    found = repository_hooks.look_at_hooks(tmp_path)
    assert (found.digest, bool(found.problem)) == ("", True)


CRASHES_ONCE = """\
again = os.path.exists("crashed")
open("crashed", "a").close()
first = hear()
say({"type": "control_response", "response": {"subtype": "success", "request_id": first["request_id"], "response": {}}})
while "message" not in (prompt := hear()):
    pass
take(prompt["message"]["content"])
say({"type": "system", "subtype": "init", "session_id": "s", "cwd": os.getcwd(), "claude_code_version": "2.1.329"})
if not again:
    raise SystemExit(3)
done()
hear()
"""


async def test_the_hook_before_the_start_runs_again_before_an_agent_is_started_again(base: Base) -> None:
    said = hook(base, "pre-start", 'echo "$AGENT $WORKSPACE" >> $SAID')
    base.cli(CRASHES_ONCE)
    async with served(base) as (daemon, _):
        summary = await daemon.submit(base.submission(), by="ann")
        over = await ended(daemon)
    assert (over.state, len(base.events(events.AgentLaunched))) == (AgentState.DONE, 2)
    assert said.read_text() == f"a1 {summary.workspace}\n" * 2


async def test_the_hook_before_the_start_can_veto_that_an_agent_is_started_again(base: Base) -> None:
    hook(base, "pre-start", f"if [ -e {base.repo}/crashed ]; then echo not again; exit 3; fi")
    base.cli(CRASHES_ONCE)
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(), by="ann")
        over = await ended(daemon)
    assert (over.state, len(base.events(events.AgentLaunched))) == (AgentState.FAILED, 1), over.why
    assert "not again" in over.why


async def test_what_a_hook_leaves_ends_with_it_and_what_left_its_group_holds_nothing_up(base: Base) -> None:
    said = hook(
        base,
        "pre-start",
        "sleep 300 & echo $! > $SAID.left; setsid sh -c 'echo $$ > '$SAID'.new; mv '$SAID'.new '$SAID'; exec sleep 300' & "
        "while ! test -e $SAID; do sleep 0.02; done",
    )
    base.cli("begin()\ndone()\nhear()")
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), by="ann")
        assert (await ended(daemon)).state is AgentState.DONE
        left = int(said.with_name(f"{said.name}.left").read_text())
        await until(lambda: not alive(left))
    os.kill(int(said.read_text()), signal.SIGKILL)  # the person's own program, which meant to go on by itself


MISSIONS_SCRIPT = """\
#!/bin/bash
# .axiom/hooks/post-complete.sh

# Environment variables available:
# AXIOM_TASK_ID     - Task ID (e.g., task-001)
# AXIOM_AGENT       - Agent name (e.g., echo-001)
# AXIOM_STATUS      - Completion status (done, failed)
# AXIOM_DURATION    - Duration in seconds
# AXIOM_BRANCH      - Git branch name

# Example: Notify on completion
if [ "$AXIOM_STATUS" = "done" ]; then
  echo "Task $AXIOM_TASK_ID completed by $AXIOM_AGENT"
  # notify-send "AXIOM: $AXIOM_TASK_ID done"
fi
"""


async def test_the_example_of_a_hook_script_runs_as_it_stands(base: Base) -> None:
    script = base.root / "example.sh"
    script.write_text(MISSIONS_SCRIPT)
    said = hook(base, "post-complete", f"bash {script} > $SAID; echo $AXIOM_DURATION $AXIOM_BRANCH >> $SAID")
    base.cli("begin()\ndone()\nhear()")
    async with run_daemon(base.setup()) as daemon:
        known = await daemon.submit(base.submission(), by="ann")
        await ended(daemon)
    told, rest = said.read_text().splitlines()
    assert told == f"Task {known.task.id} completed by a1"
    assert 0 <= float(rest.split()[0]) < 600
