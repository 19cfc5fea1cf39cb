"""Conflicts explained: bounded, plain, and without secrets."""

from pathlib import Path

import pytest

from supervisor.protocol.merges import ConflictLevel
from supervisor.runtime.merging.conflicts import EXCERPT_CHARACTERS, MOST_CONFLICTS
from tests.stages.branches import git
from tests.supervisor.runtime.merging.test_git_merge import commit, lines, merged

__all__ = ["repo"]
from tests.supervisor.runtime.merging.test_git_merge import repo

pytestmark = pytest.mark.timeout(60)


def test_only_the_lines_that_disagree_are_shown_under_the_names_of_both(repo: Path) -> None:
    commit(repo, "work", a_txt=lines(repo, _3="work"))
    git(repo, "checkout", "-q", "main")
    commit(repo, "main", a_txt=lines(repo, _3="main"))
    (conflict,) = merged(repo).conflicts
    assert conflict.excerpt.splitlines() == ["<<<<<<< main", "main", "=======", "work", ">>>>>>> work"]


def test_hostile_lines_are_spelled_out_and_cut(repo: Path) -> None:
    commit(repo, "work", a_txt="\x1b[2J" + "x" * 100_000)
    git(repo, "checkout", "-q", "main")
    commit(repo, "main", a_txt="password=hunter2secret\n")
    (conflict,) = merged(repo).conflicts
    assert len(conflict.excerpt) <= EXCERPT_CHARACTERS
    assert "\x1b" not in conflict.excerpt
    assert "hunter2" not in conflict.excerpt


def test_too_many_conflicts_need_a_person(repo: Path) -> None:
    files = {f"f{number}_txt": "work" for number in range(MOST_CONFLICTS + 5)}
    commit(repo, "work", **files)
    git(repo, "checkout", "-q", "main")
    commit(repo, "main", **dict.fromkeys(files, "main"))
    made = merged(repo)
    assert made.level is ConflictLevel.PERSON
    assert len(made.conflicts) == MOST_CONFLICTS + 1
