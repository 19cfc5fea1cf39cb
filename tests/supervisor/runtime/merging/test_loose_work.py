"""Work in an agent's workspace that no commit has."""

import subprocess
import sys

import pytest

from supervisor.runtime.merging.git_merge import MergeError
from supervisor.runtime.merging.loose_work import uncommitted
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


def test_a_process_that_works_apart_reads_little() -> None:
    """The daemon's modules took it a second of a processor, and 50 MB."""
    code = f"import sys, {', '.join(DONE_APART)}; print(*sorted({{'anyio', 'pydantic'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []
