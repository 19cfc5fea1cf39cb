"""The timeline of an agent, of whatever the journal has."""

from typing import Any

import htpy as h
import pytest

from supervisor.cli.output.view import View
from supervisor.panel.pages.agents.timeline import timeline_rows
from supervisor.panel.pages.parts import LONGEST_TEXT, bounded, lasted, moment, rendered


def shown(*records: dict[str, Any]) -> str:
    return "".join(rendered(row.html) for row in timeline_rows(records, View()))


def test_fifty_megabytes_of_a_tools_output_are_some_screens_on_a_page() -> None:
    command = "x" * 50_000_000
    action = {"tool": "Bash", "input": {"command": command}, "cwd": "/r"}
    review = {"decision": "block", "reasoning": command, "rule": "r", "side_effects": [{"type": command}]}
    record = {"n": 1, "at": 1.0, "kind": "review_made", "agent": "a1", "action": action, "review": review}
    html = shown(record)
    assert "more characters" in html
    assert len(html) < 3 * LONGEST_TEXT
    assert len(bounded(command)) < LONGEST_TEXT + 100


@pytest.mark.parametrize(
    "record",
    [
        {"n": 2, "at": 1.0, "kind": "dreamt", "agent": "a1", "of": ["sheep"]},
        {"n": 2, "at": 1.0, "kind": "review_made", "agent": "a1", "action": ["another shape"], "review": 7},
        {"n": 2, "kind": "review_made", "agent": "a1"},
        {"n": 2, "at": 1e300, "kind": "agent_ended", "agent": "a1", "further": {"field": 1}},
    ],
)
def test_events_of_another_version_keep_no_other_row_from_the_page(record: dict[str, Any]) -> None:
    known = {"n": 3, "at": 2.0, "kind": "pause_requested", "agent": "a1", "by": "ada"}
    assert "ada" in shown(record, known)


def test_a_clock_that_was_set_back_gives_no_negative_time_and_one_far_off_is_shown_as_it_is() -> None:
    assert rendered(h.p[lasted({"started_at": 1_000.0, "ended_at": 10.0})]).startswith("<p>0")
    assert rendered(h.p[moment(1e300)]) == "<p>1e+300</p>"
    assert rendered(h.p[moment(None)]) == "<p></p>"
