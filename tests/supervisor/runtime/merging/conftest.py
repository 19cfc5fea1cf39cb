"""A project with one commit on `main`, and a folder for the workspaces of agents."""

from pathlib import Path

import pytest

from tests.stages.branches import git
from tests.stages.daemon import Base


@pytest.fixture
def base(tmp_path: Path) -> Base:
    made = Base(tmp_path)
    git(made.repo, "checkout", "-qb", "main")
    (made.repo / "file.txt").write_text("".join(f"{number}\n" for number in range(20)))
    git(made.repo, "add", "-A")
    git(made.repo, "commit", "-qm", "first")
    made.config = {"workspaces": {"folder": str(tmp_path / "workspaces")}}
    return made
