"""Rollbacks of whole projects over a real daemon, real git, and agents whose conversations go back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from monitors.contract.errors import ChaperonError, NotFoundError, UsageError
from supervisor.protocol import events
from supervisor.protocol.merges import MergePhase
from supervisor.protocol.tasks import TaskSpec, TaskState
from supervisor.protocol.words import AgentState
from supervisor.runtime.checkpointing.manager import CheckpointManager
from supervisor.runtime.daemon.daemon import Daemon
from supervisor.runtime.projects import worktree_files
from supervisor.runtime.projects.rollback import ProjectRollbackRequest
from supervisor.runtime.service import complete_work
from tests.stages.branches import git
from tests.stages.cli_program import write_cli
from tests.stages.daemon import Base, reached, served, until
from tests.stages.live import files_of
from tests.supervisor.runtime.projects.test_checkpoints import make_repository

pytestmark = pytest.mark.slow

TURNS = Path(__file__).parents[3] / "stages" / "turns.py"

COMMIT = "git add -A && git -c user.name=A -c user.email=a@x commit -qm"

REQUEST = ProjectRollbackRequest("before", with_branches=True)


def writes(name: str) -> str:
    return f"do: echo {name} > {name}.txt && {COMMIT} {name}"


@asynccontextmanager
async def project(base: Base, **changes: Any) -> AsyncIterator[Daemon]:
    """A daemon whose agents have turns, and merge by themselves into the branch that a person has checked out."""
    if not (base.repo / "file.txt").exists():
        make_repository(base)
    write_cli(base.command, TURNS.read_text())
    base.config = {
        "workspaces": {"folder": str(base.root / "workspaces")},
        "merge": {"mode": "auto", "checked_out": "update"},
        "checkpoints": {"periodic": 0},
    }
    async with served(base, completion=complete_work, **changes) as (daemon, _):
        yield daemon


async def drain(daemon: Daemon, *, on: bool) -> None:
    daemon.happened(events.DrainChanged(**daemon.stamp(""), on=on, by="ann"))


async def say(daemon: Daemon, agent: str, text: str) -> None:
    """Tell an agent something, and wait for the end of that turn."""
    turns = daemon.board.summary(agent).turns
    await daemon.request(events.SayRequested(**daemon.stamp(agent), id=f"s{turns}", text=text, by="ann"))
    await until(lambda: daemon.board.summary(agent).turns > turns)
    await reached(daemon, AgentState.IDLE, agent)


async def plain(daemon: Daemon, base: Base, name: str, text: str) -> Path:
    """Start an agent in a worktree of its own, and wait for the end of its first turn."""
    wanted = base.submission(name=name, prompt=text, workspace="new", keep_open=True)
    known = await daemon.submit(wanted, by="ann")
    await reached(daemon, AgentState.IDLE, name)
    return Path(known.workspace)


async def add(daemon: Daemon, base: Base, id_: str, prompt: str, **about: Any) -> None:
    spec = TaskSpec(id=id_, prompt=prompt, repository=str(base.repo), **about)
    daemon.happened(events.TasksAdded(**daemon.stamp(""), request_id=f"q-{id_}", tasks=(spec,), by="ann"))


def state(daemon: Daemon, id_: str) -> TaskState:
    return daemon.board.tasks.get(id_).state


async def all_of(base: Base, *folders: Path) -> tuple[object, ...]:
    """Files of worktrees, branches, HEAD and status: what must be as it was, byte for byte."""

    def read() -> tuple[object, ...]:
        files = [files_of(folder) if folder.is_dir() else None for folder in (base.repo, *folders)]
        branches = git(base.repo, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")
        heads = [git(one, "symbolic-ref", "HEAD") for one in (base.repo, *folders) if one.is_dir()]
        status = [git(one, "status", "--porcelain") for one in (base.repo, *folders) if one.is_dir()]
        return files, branches, heads, status

    return await anyio.to_thread.run_sync(read)


async def begun(daemon: Daemon, base: Base) -> Path:
    """An agent at rest and a task in the queue, which the checkpoint `before` has; returns the agent's worktree."""
    first = await plain(daemon, base, "a1", "do: echo one > one.txt")
    await drain(daemon, on=True)
    await add(daemon, base, "t-then", writes("then"))
    (base.repo / "loose.txt").write_text("a person's")
    await daemon.projects.make(str(base.repo), "before", "ann")
    return first


async def gone_on(daemon: Daemon, base: Base) -> Path:
    """Two tasks done and merged, an agent started, a worktree spoilt; returns the new agent's worktree."""
    await drain(daemon, on=False)
    for name in ("then", "since"):
        if name == "since":
            await add(daemon, base, "t-since", writes("since"))
        await until(lambda id_=f"t-{name}": state(daemon, id_) is TaskState.DONE)  # type: ignore[misc]
    await until(lambda: len(list((base.root / "workspaces").glob("*/*/*.json"))) == 1)
    second = await plain(daemon, base, "a2", writes("two"))
    await say(daemon, "a1", f"do: rm one.txt; echo bad > bad.txt; {COMMIT} bad")
    (base.repo / "loose.txt").unlink()
    (base.repo / "late.txt").write_text("late")
    await drain(daemon, on=True)
    return second


async def test_a_whole_project_goes_back_and_forth(base: Base) -> None:
    async with project(base) as daemon:
        at, roll_back = str(base.repo), daemon.project_work.rollbacks.roll_back
        first = await begun(daemon, base)
        before = await all_of(base, first)
        second = await gone_on(daemon, base)
        assert git(base.repo, "log", "--format=%s", "main").split() == ["since", "then", "first"]
        after = await all_of(base, first, second)

        done = await roll_back(at, REQUEST, "ann", "r1")
        assert await all_of(base, first) == before
        assert (done.closed, second.exists()) == ((str(second),), False)
        assert daemon.board.summary("a2").state is AgentState.STOPPED
        assert (state(daemon, "t-then"), state(daemon, "t-since")) == (TaskState.PENDING, TaskState.PENDING)
        assert {one.phase for one in daemon.board.merges.all()} == {MergePhase.WITHDRAWN}
        await until(lambda: daemon.board.summary("a1").launches == 2)
        await reached(daemon, AgentState.IDLE, "a1")
        assert await roll_back(at, REQUEST, "ann", "r1") == done

        undo = ProjectRollbackRequest(done.undo, with_branches=True)
        assert (await roll_back(at, undo, "ann", "r2")).made_again == (str(second),)
        assert await all_of(base, first, second) == after
        assert (state(daemon, "t-then"), state(daemon, "t-since")) == (TaskState.DONE, TaskState.DONE)
        assert {one.phase for one in daemon.board.merges.all()} == {MergePhase.MERGED}

        await roll_back(at, REQUEST, "ann", "r3")
        await drain(daemon, on=False)  # operation resumes: the queue is worked through once more
        await until(lambda: {state(daemon, "t-then"), state(daemon, "t-since")} == {TaskState.DONE})
        assert sorted(git(base.repo, "log", "--format=%s", "main").split()) == ["first", "since", "then"]


async def test_what_cannot_be_completed_is_undone_and_the_agents_go_on_as_they_were(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with project(base) as daemon:
        first = await begun(daemon, base)
        second = await gone_on(daemon, base)
        after = await all_of(base, first, second)
        set_back, failed = worktree_files.set_back, list[str]()

        async def failing(manager: CheckpointManager, workspace: str, *more: Any) -> Any:
            if workspace == str(first) and not failed:
                failed.append(workspace)
                raise ChaperonError("The disk is on fire.")
            return await set_back(manager, workspace, *more)

        monkeypatch.setattr(worktree_files, "set_back", failing)
        with pytest.raises(ChaperonError, match=r"The disk is on fire\. All of it was put back"):
            await daemon.project_work.rollbacks.roll_back(str(base.repo), REQUEST, "ann", "r1")
        assert await all_of(base, first, second) == after
        assert (state(daemon, "t-then"), state(daemon, "t-since")) == (TaskState.DONE, TaskState.DONE)
        assert {one.phase for one in daemon.board.merges.all()} == {MergePhase.MERGED}
        assert daemon.board.summary("a1").launches == 1
        await say(daemon, "a1", "do: echo more > more.txt")
        assert (first / "more.txt").exists()


async def test_without_branches_only_files_go_back_and_work_that_is_merged_stays_done(base: Base) -> None:
    async with project(base) as daemon:
        first = await begun(daemon, base)
        await gone_on(daemon, base)
        tip = git(base.repo, "rev-parse", "main")
        how = ProjectRollbackRequest("before")
        done = await daemon.project_work.rollbacks.roll_back(str(base.repo), how, "ann", "r1")
        assert git(base.repo, "rev-parse", "main") == tip
        assert "refs/heads/chaperon/a2" in git(base.repo, "for-each-ref", "--format=%(refname)", "refs/heads")
        assert (state(daemon, "t-then"), state(daemon, "t-since")) == (TaskState.DONE, TaskState.DONE)
        assert (base.repo / "loose.txt").read_text() == "a person's"
        assert not (base.repo / "late.txt").exists()
        assert (first / "one.txt").exists()
        assert not (first / "bad.txt").exists()
        assert done.moved == ()


async def test_what_cannot_be_is_refused_with_words_and_nothing_is_begun(base: Base) -> None:
    async with project(base) as daemon:
        rollbacks, at = daemon.project_work.rollbacks, str(base.repo)
        with pytest.raises(NotFoundError, match="no project checkpoint 'before'"):
            await rollbacks.roll_back(at, REQUEST, "ann", "r0")
        await daemon.projects.make(at, "before", "ann")
        (base.repo / ".git" / "MERGE_HEAD").write_text("0" * 40)
        with pytest.raises(UsageError, match="in the middle of a merge"):
            await rollbacks.roll_back(at, REQUEST, "ann", "r1")
        (base.repo / ".git" / "MERGE_HEAD").unlink()
        await rollbacks.roll_back(at, REQUEST, "ann", "r2")
        with pytest.raises(UsageError, match="Another rollback had the id 'r2'"):
            await rollbacks.roll_back(at, ProjectRollbackRequest("before"), "ann", "r2")
        store = daemon.checkpoint_manager.stores
        await store.forget(await store.find("before.main"))
        with pytest.raises(NotFoundError, match=r"no checkpoint 'before\.main'"):
            await rollbacks.roll_back(at, REQUEST, "ann", "r3")
        assert [one.phase for one in daemon.board.projects._rollbacks.values()] == ["done"]


async def test_nothing_begins_in_a_project_that_goes_back(base: Base) -> None:
    async with project(base) as daemon:
        at, sure = str(base.repo), replace(REQUEST, unusual=True)
        await begun(daemon, base)
        refused: list[str] = []

        async def meanwhile(*_: Any) -> Any:
            await drain(daemon, on=False)
            for ask in (
                lambda: daemon.submit(base.submission(name="a9"), by="ann"),
                lambda: daemon.projects.make(at, "late", "ann"),
                lambda: daemon.project_work.rollbacks.roll_back(at, sure, "ann", "other"),
                lambda: daemon.merging.carry_out("a1", "ann"),
            ):
                with pytest.raises(ChaperonError, match="goes back") as error:
                    await ask()
                refused.append(str(error.value))
            facts = daemon.board.tasks.get("t-then")
            assert next(iter(daemon.board.tasks.ready())) == facts  # it could be claimed
            assert daemon.board.projects.holds(facts.spec.repository)
            raise ChaperonError("Enough.")

        daemon.worktrees.all = meanwhile  # type: ignore[method-assign]
        with pytest.raises(ChaperonError, match=r"Enough\. Nothing was changed"):
            await daemon.project_work.rollbacks.roll_back(at, sure, "ann", "r1")
        del daemon.worktrees.all
        assert len(refused) == 4
        await until(lambda: state(daemon, "t-then") is TaskState.DONE)


async def test_files_of_a_submodule_go_back_and_forth_and_its_own_repository_stays_as_it_is(base: Base) -> None:
    async with project(base) as daemon:
        at, roll_back = str(base.repo), daemon.project_work.rollbacks.roll_back
        inner, sub = base.root / "inner", base.repo / "sub"
        inner.mkdir()
        git(inner, "init", "-q", "-b", "main")
        (inner / "in.txt").write_text("one")
        git(inner, "add", "-A")
        git(inner, "commit", "-qm", "inner")
        git(base.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
        git(base.repo, "commit", "-qm", "with a submodule")
        await daemon.projects.make(at, "before", "ann")
        before = git(base.repo, "rev-parse", "main")
        (sub / "in.txt").write_text("two")
        (sub / "late.txt").write_text("late")
        git(sub, "add", "-A")
        git(sub, "commit", "-qm", "in the submodule")
        git(base.repo, "commit", "-qam", "moved the submodule")
        within, after = git(sub, "rev-parse", "HEAD"), git(base.repo, "rev-parse", "main")
        done = await roll_back(at, REQUEST, "ann", "r1")
        assert git(base.repo, "rev-parse", "main") == before
        assert ((sub / "in.txt").read_text(), (sub / "late.txt").exists()) == ("one", False)
        assert git(sub, "rev-parse", "HEAD") == within, "its commits are its own"
        await roll_back(at, ProjectRollbackRequest(done.undo, with_branches=True), "ann", "r2")
        assert (git(base.repo, "rev-parse", "main"), git(sub, "rev-parse", "HEAD")) == (after, within)
        assert git(base.repo, "status", "--porcelain") == ""
        assert git(sub, "status", "--porcelain") == ""


async def test_a_task_submitted_with_its_agent_is_claimed_by_no_other_one_after_its_project_went_back(
    base: Base,
) -> None:
    async with project(base) as daemon:
        at = str(base.repo)
        await drain(daemon, on=True)
        await daemon.projects.make(at, "before", "ann")
        await drain(daemon, on=False)
        wanted = base.submission(name="a1", prompt=writes("one"), workspace="new", verify="true")
        known = await daemon.submit(wanted, by="ann")
        await until(lambda: state(daemon, known.task.id) is TaskState.DONE)
        await daemon.project_work.rollbacks.roll_back(at, REQUEST, "ann", "r1")
        task = daemon.board.tasks.get(known.task.id)
        assert (task.state, "chaperon task retry" in task.why) == (TaskState.CANCELLED, True)
        await add(daemon, base, "t-next", writes("next"))
        await until(lambda: state(daemon, "t-next") is TaskState.DONE)
        assert {one.agent for one in daemon.board.summaries()} == {"a1", "echo-001"}
