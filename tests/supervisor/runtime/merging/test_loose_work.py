"""Work in an agent's workspace that no commit has."""

import subprocess
import sys

import pytest

from monitors.contract.errors import UsageError
from supervisor.runtime.merging.git_merge import MergeError
from supervisor.runtime.merging.loose_work import commit_unfinished, uncommitted
from tests.stages.daemon import Base

DONE_APART = (
    "checkpoints.worktrees",
    "supervisor.runtime.assembly.workspace_facts",
    "supervisor.runtime.merging.git_merge",
    "supervisor.runtime.merging.loose_work",
    "supervisor.runtime.merging.target",
)
"""The modules of what `run_apart` is given."""


@pytest.mark.parametrize(("name", "content"), [("index", b"no index"), ("config", b"[core\n")])
def test_what_git_cannot_tell_of_a_workspace_is_said_and_is_no_count(base: Base, name: str, content: bytes) -> None:
    (base.repo / "made.txt").write_text("made")
    assert uncommitted(base.repo, "main") == 1
    (base.repo / ".git" / name).write_bytes(content)
    with pytest.raises(MergeError, match=f"It is not known what of {base.repo} is not committed"):
        uncommitted(base.repo, "main")


def test_unfinished_work_is_that_of_the_workspace_whatever_its_repository_names_as_its_worktree(base: Base) -> None:
    """What lies elsewhere may be out of an agent's reach, and its branch is not."""
    secret, workspace = base.root / "secret", base.root / "workspace"
    secret.mkdir()
    (secret / "key").write_text("key")
    for command in (["branch", "a1"], ["worktree", "add", "-q", str(workspace), "a1"]):
        subprocess.run(["git", "-C", str(base.repo), *command], check=True, capture_output=True)
    (base.repo / ".git/worktrees/workspace/gitdir").write_text(f"{secret}/.git\n")
    (workspace / "made.txt").write_text("made")
    commit = commit_unfinished(str(workspace), "a1", "Make it.")
    show = ["git", "-C", str(workspace), "show", "--name-only", "--format=%s", commit]
    shown = subprocess.run(show, check=True, capture_output=True, text=True).stdout
    assert shown.split("\n\n") == ["WIP: Make it.", "made.txt\n"]


@pytest.mark.parametrize("marker", ["gitdir: /nowhere", "no marker"])
def test_unfinished_work_of_what_is_no_worktree_any_more_is_refused_with_a_way_out(base: Base, marker: str) -> None:
    workspace = base.root / "workspace"
    workspace.mkdir()
    (workspace / ".git").write_text(marker)
    with pytest.raises(UsageError, match=r"could not be committed: git cannot read.*; nothing was changed") as raised:
        commit_unfinished(str(workspace), "a1", "Make it.")
    assert "git -C" in raised.value.way_out


def test_a_process_that_works_apart_reads_little() -> None:
    """The daemon's modules took it a second of a processor, and 50 MB."""
    code = f"import sys, {', '.join(DONE_APART)}; print(*sorted({{'anyio', 'pydantic'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []
