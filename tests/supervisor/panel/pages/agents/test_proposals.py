"""Rollbacks that wait for a person, as cards."""

from typing import Any

import htpy as h

from supervisor.panel.pages.agents.proposals import proposals_section
from supervisor.panel.pages.parts import rendered


def agent(name: str, **more: Any) -> dict[str, Any]:
    proposal = {"checkpoint": "cp-7", "issue": "repetitive_errors", "key": "", "sentence": "Again.", "at": 1.0}
    return {"agent": name, "proposed": [{**proposal, **more}]}


def test_nothing_is_shown_if_none_is_proposed_or_the_daemon_knows_of_none() -> None:
    assert proposals_section([{"agent": "a1", "proposed": []}, {"agent": "a2"}]) is None


def test_a_card_leads_to_the_plan_and_declines_by_naming_the_issue() -> None:
    text = rendered(h.fragment[proposals_section([agent("a1"), agent("a2")])])
    assert "2 rollbacks wait for you" in text
    assert 'href="/checkpoints/cp-7?agent=a1#plan" data-key="a"' in text
    assert 'data-target="/agents/a1/outcomes"' in text
    assert "repetitive_errors" in text


def test_what_an_issue_says_is_text_and_no_markup() -> None:
    evil = "<img src=x onerror=alert(1)>\x1b[2J"
    text = rendered(h.fragment[proposals_section([agent(evil, sentence=evil, checkpoint=evil, issue=evil)])])
    assert "<img" not in text
    assert "\x1b" not in text
