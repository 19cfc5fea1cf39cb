"""Summaries as JSON, with whatever text a path, a model or a person puts into them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitors.contract import anyjson
from supervisor.core.fold.summary import Summary
from supervisor.protocol import events
from supervisor.runtime.daemon.summary_json import SUMMARY, read_summary, written
from tests.stages.session import Play


def summary_with(words: str) -> Summary:
    play = Play(prompt=words)
    made = Summary.of(events.TaskSubmitted(**play.stamp(), task=play.task, workspace="/repo", session_id="s"))
    made.words, made.cost_by_day = words, {20_000: 0.5}
    made.reviews = {"allow": 1}  # keys of mappings are names of ours; only their values come from outside
    return made


@given(st.text(st.characters(categories=["L", "Cs", "Cc", "Cf", "Zl", "So", "Po"])))
def test_a_summary_comes_back_as_it_was_and_is_a_line_that_every_reader_reads(words: str) -> None:
    made = summary_with(words)
    row = written(made)
    assert read_summary(row) == made
    assert b"\n" not in row
    assert json.loads(row) == json.loads(anyjson.dumps(SUMMARY.dump_python(made, mode="json")))


def test_what_is_no_summary_is_a_value_error() -> None:
    for row in (b"{}", b"[]", b"{", written(summary_with("x"))[:-1], b"\xff"):
        with pytest.raises(ValueError):
            read_summary(row)
