"""Going back with the real CLI: an agent deletes files by a shell command and commits nonsense."""

import json
import subprocess
from pathlib import Path

import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.rehearsal.model_requests import what_the_model_was_told
from supervisor.rehearsal.script import Say, ToolUse
from tests.stages.live import Live, bash, files_of, git_environment, live, make_repository

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(300)]

FILES = {".gitignore": "ignored/\n", "src/a.txt": "a\n", "src/b.txt": "b\n", "ignored/log": "kept\n"}

NONSENSE = "rm -rf src; echo nonsense > b.txt; echo more >> ignored/log; git add -A; git commit -qm nonsense"

STEPS = (
    bash("echo one > one.txt; echo the-first-output"),
    Say("the-first-answer"),
    bash(NONSENSE),
    Say("the-second-answer"),
    Say("the-third-answer"),
    Say("the-fourth-answer"),
)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    make_repository(tmp_path / "repo", FILES)
    (tmp_path / "home").mkdir(exist_ok=True)
    return tmp_path


def git(repo: Path, *words: str) -> str:
    command = ["git", "-C", str(repo), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=git_environment(repo)).stdout.strip()


async def two_turns(stage: Live) -> str:
    """Play both turns; the name of the checkpoint between them."""
    await stage.submit("the-task", keep_open=True)
    await stage.state(AgentState.IDLE)
    made = await stage.event(events.CheckpointMade, lambda event: event.reason == "turn")
    after = stage.daemon.journal.last
    await stage.say("the-second-question")
    await stage.state(AgentState.IDLE, after=after)
    await stage.event(events.CheckpointMade, lambda event: event.reason == "turn", after=after)
    return made.name


async def test_a_rollback_brings_back_files_and_conversation_and_can_be_undone(base: Path) -> None:
    async with live(base, STEPS) as stage:
        name = await two_turns(stage)
        assert "src/a.txt" not in stage.files()
        assert git(stage.repo, "log", "-1", "--format=%s") == "nonsense"
        broken = stage.files()

        refused = await stage.chaperon("rollback", name)
        assert refused.returncode == 2, refused.stderr
        assert "--yes" in refused.stderr
        assert stage.files() == broken

        after = stage.daemon.journal.last
        done = await stage.chaperon("rollback", name, "--yes", "--json")
        assert done.returncode == 0, done.stderr
        assert stage.files() == {
            ".gitignore": "ignored/\n", "src/a.txt": "a\n", "src/b.txt": "b\n", "one.txt": "one\n",
            "ignored/log": "kept\nmore\n",
        }  # fmt: skip
        assert git(stage.repo, "log", "-1", "--format=%s") == "nonsense"  # branches do not move unless asked
        await stage.state(AgentState.IDLE, after=after)
        request = stage.model.conversation()[4]
        assert "the-first-answer" in str(request.messages)
        assert "the-first-output" in str(request.messages)
        assert "the-second-question" not in str(request.messages)
        assert "the-second-answer" not in str(request.messages)
        told = what_the_model_was_told(request)
        assert f"set back to the checkpoint {name}" in told

        undo = json.loads(done.stdout)["undo"]
        after = stage.daemon.journal.last
        undone = await stage.chaperon("rollback", undo, "--yes")
        assert undone.returncode == 0, undone.stderr
        assert stage.files() == broken
        await stage.state(AgentState.IDLE, after=after)
        request = stage.model.conversation()[5]
        assert "the-second-answer" in str(request.messages)
        assert "the-third-answer" not in str(request.messages)


async def test_files_alone_go_back_while_the_conversation_goes_on(base: Path) -> None:
    async with live(base, STEPS) as stage:
        name = await two_turns(stage)
        after = stage.daemon.journal.last
        done = await stage.chaperon("rollback", name, "--yes", "--files-only")
        assert done.returncode == 0, done.stderr
        assert stage.files()["src/a.txt"] == "a\n"
        await stage.state(AgentState.IDLE, after=after)
        request = stage.model.conversation()[4]
        assert "the-second-answer" in str(request.messages)
        assert f"The files were set back to the checkpoint {name}" in what_the_model_was_told(request)
        assert [event.number for event in await stage.events(events.AgentLaunched)] == [1]


async def test_a_fresh_start_with_the_branch_set_back_and_a_word_of_why(base: Path) -> None:
    async with live(base, STEPS) as stage:
        name = await two_turns(stage)
        after, was = stage.daemon.journal.last, git(stage.repo, "rev-parse", "HEAD")
        how = ("--yes", "--fresh", "--with-branch", "--say", "Leave src alone.", "--json")
        done = await stage.chaperon("rollback", name, *how)
        assert done.returncode == 0, done.stderr
        assert stage.files()["src/a.txt"] == "a\n"
        assert stage.files()["ignored/log"] == "kept\nmore\n"
        assert git(stage.repo, "log", "-1", "--format=%s") == "base"
        assert git(stage.repo, "for-each-ref", "--format=%(objectname)", "refs/chaperon") == was
        await stage.state(AgentState.IDLE, after=after)
        request = stage.model.conversation()[4]
        assert "the-first-answer" not in str(request.messages)
        told = what_the_model_was_told(request)
        for part in ("the-task", f"set back to the checkpoint {name}", "Leave src alone."):
            assert part in told

        undo, kept = (json.loads(done.stdout)[name] for name in ("undo", "commits_kept_as"))
        assert git(stage.repo, "rev-parse", kept) == was
        after = stage.daemon.journal.last
        then = git(stage.repo, "rev-parse", "HEAD")
        planned = await stage.chaperon("rollback", undo, "--dry-run", "--with-branch")
        assert f"goes back from {then[:12]} to {was[:12]}; its commits since are kept" in planned.stdout
        assert "it stays" not in planned.stdout
        assert "; it stays." in (await stage.chaperon("rollback", undo, "--dry-run")).stdout
        undone = await stage.chaperon("rollback", undo, "--yes", "--with-branch")
        assert undone.returncode == 0, undone.stderr
        assert f"stands on {was[:12]} again. Its commits since are kept: git log refs/chaperon/kept/" in undone.stdout
        assert "src/a.txt" not in stage.files()
        assert git(stage.repo, "rev-parse", "HEAD") == was
        await stage.state(AgentState.IDLE, after=after)
        assert "the-second-answer" in str(stage.model.conversation()[5].messages)


async def happened_to_the_agent(stage: Live) -> list[events.Event]:
    kinds = (events.RollbackRequested, events.CheckpointRestored, events.AgentLaunched, events.StateChanged)
    return [event for kind in kinds for event in await stage.events(kind)]


async def test_a_checkpoint_goes_into_a_new_workspace_while_its_agent_goes_on(base: Path) -> None:
    async with live(base, STEPS) as stage:
        name = await two_turns(stage)
        before, touched = stage.files(), await happened_to_the_agent(stage)
        mixed = await stage.chaperon("rollback", name, "--to-new-workspace", "--fresh")
        assert mixed.returncode == 2, mixed.stderr
        done = await stage.chaperon("rollback", name, "--to-new-workspace")
        assert done.returncode == 0, done.stderr
        (folder,) = [word.rstrip(",") for word in done.stdout.split() if "workspaces" in word and "," in word]
        assert files_of(Path(folder))["src/a.txt"] == "a\n"
        assert files_of(Path(folder))["one.txt"] == "one\n"
        assert stage.files() == before
        assert await happened_to_the_agent(stage) == touched
        assert stage.daemon.board.summary("a1").state is AgentState.IDLE


async def test_a_test_run_that_passed_is_kept_and_can_be_gone_back_to(base: Path) -> None:
    steps = (
        bash("echo good > good.txt; echo '=== 3 passed in 0.02s ==='"),
        bash("rm -r src good.txt"),
        Say("the-first-answer"),
        Say("the-second-answer"),
    )
    async with live(base, steps) as stage:
        await stage.submit("the-task", keep_open=True)
        await stage.state(AgentState.IDLE)
        passed = await stage.event(events.CheckpointMade, lambda event: event.reason == "tests_passed")
        done = await stage.chaperon("rollback", passed.name, "--yes")
        assert done.returncode == 0, done.stderr
        assert stage.files()["good.txt"] == "good\n"
        assert stage.files()["src/a.txt"] == "a\n"


async def test_the_commands_list_show_draw_and_try(base: Path) -> None:
    async with live(base, STEPS) as stage:
        name = await two_turns(stage)
        kept = await stage.chaperon("checkpoint", "good", "--note", "before I go")
        assert kept.returncode == 0, kept.stderr
        listed = await stage.chaperon("checkpoints", "--agent", "a1")
        assert "before I go" in listed.stdout
        shown = json.loads((await stage.chaperon("checkpoints", "show", name, "--json")).stdout)
        assert shown["facts"]["position"]["message_uuid"]
        drawn = (await stage.chaperon("checkpoints", "diff", name)).stdout
        assert "  - a.txt" in drawn
        assert "+ b.txt" in drawn
        before = stage.files()
        tried = await stage.chaperon("rollback", name, "--dry-run")
        assert tried.returncode == 0, tried.stderr
        assert "b.txt" in tried.stdout
        assert "files and the conversation of a1." in tried.stdout
        anew = await stage.chaperon("rollback", name, "--dry-run", "--fresh")
        assert "the conversation of a1 begins anew." in anew.stdout
        assert stage.files() == before
        again = await stage.chaperon("checkpoint", "good")
        assert again.returncode == 2
        assert "already" in again.stderr
        sound = await stage.chaperon("checkpoints", "doctor")
        assert sound.returncode == 0, sound.stdout


async def test_the_files_of_an_agent_that_has_ended_go_back(base: Path) -> None:
    async with live(base, STEPS[:2] + STEPS[2:4]) as stage:
        name = await two_turns(stage)
        await stage.stop()
        done = await stage.chaperon("rollback", name, "--yes")
        assert done.returncode == 0, done.stderr
        assert stage.files()["src/a.txt"] == "a\n"
        unknown = await stage.chaperon("rollback", "no-such", "--yes")
        assert unknown.returncode == 1
        assert "no-such" in unknown.stderr


ROLLBACK_AT_ONCE = {
    "interventions": {
        "auto_rollback": True,
        "soft_correction": False,
        "context_reinforcement": False,
        "intervention_cooldown_seconds": 0,
    },
    "checkpoints": {"spacing_seconds": 0},
}
"""A policy under which only a rollback or a stop is left to answer with; each change is captured, for this run is over within seconds."""


async def test_a_run_that_goes_in_circles_is_set_back_to_where_it_was_well(base: Path) -> None:
    """The controller chooses the checkpoint; nobody is asked, since the policy says so."""
    fails = bash("echo junk >> junk.txt; python3 missing.py")
    steps: tuple[Say | ToolUse, ...] = (
        bash("echo one > one.txt; echo the-first-output"),
        *[fails] * 3,
        # Twice: the CLI may have asked once more before it was frozen, and that answer is lost with its processes.
        *[Say("the-lesson-is-learned")] * 2,
    )
    async with live(base, steps, ROLLBACK_AT_ONCE) as stage:
        await stage.submit("the-task")
        chosen = (await stage.event(events.InterventionChosen)).intervention
        restored = await stage.event(events.CheckpointRestored)
        await stage.state(AgentState.DONE)
        assert chosen.kind == "checkpoint_rollback"
        assert restored.checkpoint == chosen.details["checkpoint"]
        assert "junk.txt" not in stage.files()
        assert stage.files()["one.txt"] == "one\n"
        request = stage.model.conversation()[-1]
        assert "the-first-output" in str(request.messages)
        assert "missing.py" not in str(request.messages[:-1])
        assert f"set back to the checkpoint {restored.checkpoint}" in what_the_model_was_told(request)
        assert (await stage.events(events.IncidentOpened))[
            0
        ].incident.way_out == f"To undo it: chaperon rollback {restored.undo}"


async def test_a_workspace_that_is_moved_away_under_its_agent_is_told_and_what_it_held_is_written_elsewhere(
    base: Path,
) -> None:
    async with live(base, STEPS) as stage:
        name = await two_turns(stage)
        stage.repo.rename(base / "moved")
        kept = await stage.chaperon("checkpoint", "too-late")
        assert kept.returncode == 1
        assert "cannot be opened" in kept.stderr
        back = await stage.chaperon("rollback", name, "--yes")
        assert back.returncode == 1
        assert "--to-new-workspace" in back.stderr
        assert "src/a.txt" not in files_of(base / "moved")
        (base / "moved").rename(stage.repo)
        again = await stage.chaperon("rollback", name, "--yes")
        assert again.returncode == 0, again.stderr
        assert stage.files()["src/a.txt"] == "a\n"


async def test_where_nothing_can_be_kept_what_could_not_be_undone_is_blocked_and_the_rest_goes_on(base: Path) -> None:
    (base / "state").mkdir(mode=0o700)
    (base / "state/checkpoints").write_text("no folder")
    async with live(base, (bash("rm -rf src"), bash("ls; mkdir made"), Say("done"))) as stage:
        await stage.submit("the-task")
        await stage.state(AgentState.DONE)
        assert stage.files()["src/a.txt"] == "a\n"
        assert (stage.repo / "made").is_dir()
        assert "could not be captured" in what_the_model_was_told(stage.model.conversation()[1])
        told = [event.incident.type for event in await stage.events(events.FaultSeen)]
        assert told == ["capture_failed"]
