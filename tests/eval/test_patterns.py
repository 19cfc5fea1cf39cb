"""The evaluation itself: healthy runs raise nothing, and what is injected is seen. Small here; the script runs it at large."""

import pytest

from tests.eval.inject import EPISODES, inject, resting_places
from tests.eval.patterns import Recall, _score, run
from tests.eval.sessions import healthy


@pytest.mark.parametrize("seed", range(6))
def test_a_healthy_run_raises_nothing(seed: int) -> None:
    assert [seen.issue.sentence for seen in run(healthy(seed)).issues] == []


@pytest.mark.parametrize("pattern", EPISODES)
def test_injected_trouble_is_seen_in_its_episode(pattern: str) -> None:
    score = Recall()
    for seed in range(6):
        injected = inject(healthy(seed), pattern, seed)
        _score(score, pattern, injected, run(injected.lines))
    assert score.seen == score.episodes, score


def test_an_injection_is_repeatable_and_keeps_every_line_of_the_session() -> None:
    lines = healthy(1)
    first, second = (inject(lines, "repetition", 5) for _ in range(2))
    assert first.lines == second.lines
    assert [*first.lines[: first.first - 1], *first.lines[first.last :]] == lines


def test_no_place_is_between_a_call_and_its_result() -> None:
    lines = healthy(2)
    assert {b'"tool_use"' in lines[place - 1] for place in resting_places(lines)} == {False}
