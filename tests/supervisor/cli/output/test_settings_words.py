"""What people are told that settings bring."""

from typing import get_args

from supervisor.cli.output.settings_words import WORDS, summed
from supervisor.protocol.claude.settings import BroughtKind


def test_every_kind_has_words() -> None:
    assert set(WORDS) == set(get_args(BroughtKind))


def test_things_are_counted_by_kind() -> None:
    assert summed([{"kind": "hook"}, {"kind": "variable"}, {"kind": "hook"}]) == "2 hooks, 1 variable"
    assert summed([]) == ""
