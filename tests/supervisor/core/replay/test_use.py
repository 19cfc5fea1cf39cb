"""An agent's use over time."""

from typing import Any

from monitors.contract.issues import Issue
from monitors.contract.words import Severity
from supervisor.core.replay.use import MOST_MARKS, MOST_POINTS, UseHistory
from supervisor.protocol.events import IssueSeen, ResourcesSeen
from tests.stages.session import Play


def sampled(play: Play, memory: float) -> ResourcesSeen:
    more: dict[str, Any] = {"cpu_seconds": 1.0, "processes": 2, "open_files": 3, "io_bytes": 4}
    return ResourcesSeen(**play.stamp(), memory_mb=memory, **more)


def history(play: Play) -> UseHistory:
    made = UseHistory()
    for n, event in play.journal:
        made.take(n, event)
    return made


def test_the_last_point_is_what_the_agents_row_says() -> None:
    play = Play().running()
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 0}
    content = [{"type": "text", "text": "Hello"}]
    play.line({"type": "assistant", "message": {"id": "m1", "model": "claude-x", "content": content, "usage": usage}})
    for memory in (10.0, 30.0, 20.0):
        play.feed(sampled(play, memory))
    points = history(play).as_json()["points"]
    assert play.session is not None
    summary = play.session.summary
    assert [one["memory_mb"] for one in points[-3:]] == [10.0, 30.0, 20.0]
    assert points[-1]["context"] == summary.context_tokens == 115
    assert points[-1]["tokens"] == summary.tokens
    assert points[-1]["cost_usd"] == summary.cost_usd


def test_a_long_run_is_thinned_to_few_points_that_keep_their_order_and_its_end() -> None:
    play = Play().running()
    for number in range(5 * MOST_POINTS):
        play.feed(sampled(play, float(number)))
    for _ in range(2 * MOST_MARKS):
        issue = Issue("loop", Severity.LOW, 1.0, 0.3, 1, "Again.")
        play.feed(IssueSeen(**play.stamp(), issue=issue))
    found = history(play).as_json()
    memory = [one["memory_mb"] for one in found["points"]]
    assert memory == sorted(memory)
    assert memory[-1] == 5 * MOST_POINTS - 1
    assert MOST_POINTS // 2 < len(memory) <= 2 * MOST_POINTS + 1
    assert [one["text"] for one in found["marks"]] == ["loop (low)"] * MOST_MARKS


def test_what_was_before_the_agents_task_counts_for_nothing() -> None:
    made = UseHistory()
    for n, event in Play().running().journal[1:]:
        made.take(n, event)
    assert made.as_json() == {"points": [], "marks": [], "context_window": None}
