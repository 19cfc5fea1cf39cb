"""Merges that wait for a person, as cards: on the board, and on the page of their agent."""

from typing import Any

import htpy as h
import pytest

from supervisor.panel.pages.merges import MOST_SHOWN, merge_card, merges_section
from supervisor.panel.pages.parts import rendered
from tests.stages.daemon import Base, served, until
from tests.stages.panel import panel
from tests.supervisor.cli.commands.work.test_merge import begun


def merge(**more: Any) -> dict[str, Any]:
    named = {"id": "a1", "task": "", "branch": "chaperon/a1", "target": "main", "project": "/repo", "phase": "proposed"}
    return {**named, "why": "its agent is done", "commits": 1, "files": 2, "conflicts": [], "at": 1.0, **more}


def test_nothing_is_shown_if_no_branch_waits() -> None:
    assert merges_section([]) is None


def test_a_card_says_what_goes_where_and_how_large_it_is() -> None:
    text = rendered(merge_card(merge()))
    assert "a1</a> has work to merge" in text
    assert "<code>chaperon/a1</code> into <code>main</code>: 1 commit, 2 files." in text
    assert "In conflict" not in text


def test_a_conflict_is_said_in_the_heading_with_its_files() -> None:
    conflicts = [{"path": "app.py", "what": "main and chaperon/a1 both changed it."}]
    text = rendered(merge_card(merge(phase="parked", conflicts=conflicts)))
    assert "a1</a> is in conflict with main" in text
    assert "<code>app.py</code> main and chaperon/a1 both changed it." in text


def test_names_of_branches_and_files_are_text_and_no_markup() -> None:
    evil = "<img src=x onerror=alert(1)>\x1b[2J"
    text = rendered(merge_card(merge(branch=evil, why=evil, conflicts=[{"path": evil, "what": evil}])))
    assert "<img" not in text
    assert "\x1b" not in text


def test_of_many_branches_a_page_full_is_shown_and_the_rest_is_counted() -> None:
    shown = merges_section([merge(id=f"a{number}") for number in range(MOST_SHOWN + 2)])
    assert isinstance(shown, h.Element)
    text = rendered(shown)
    assert text.count("<article") == MOST_SHOWN
    assert f"{MOST_SHOWN + 2} branches wait to be merged" in text
    assert "2 more: chaperon merge" in text


@pytest.mark.slow
async def test_a_branch_of_an_agent_without_a_stored_task_is_on_the_board_and_on_its_page_until_it_is_merged(
    base: Base,
) -> None:
    base.config["workspaces"] = {"folder": str(base.root / "workspaces")}
    async with served(base) as (daemon, _), panel(base) as shown, shown.person() as person:
        await begun(base, daemon)
        await until(lambda: daemon.board.merges.find("a1").phase == "proposed")
        for page in ("/", "/agents/a1"):
            text = (await person.get(page)).text
            assert text.index('<h2 id="merges-title">1 branch waits') < text.index('id="merge-a1"'), "headings in order"
        done = await person.post("/merges/a1/carry-out", json={"into": "main"})
        assert " is merged: " in done.json()["says"]
        for page in ("/", "/agents/a1"):
            assert 'id="merge-a1"' not in (await person.get(page)).text
