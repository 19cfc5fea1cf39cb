from supervisor.core.board import Board
from supervisor.protocol.events import AutopilotBegan
from supervisor.runtime.services.people.autopilot_report import LONGEST, plain, report_text
from tests.stages.session import Play


def test_a_report_of_nothing_says_so_and_how_to_see_all_of_it() -> None:
    began = AutopilotBegan(agent="", at=0.0, mono=0.0, id="n", by="ann\x1b[31m", until=None, max_cost_usd=5.0,
        spent_before_usd=0.0, checkpoints=("/r: before",))  # fmt: skip
    report = report_text(Board(lambda submitted: Play().make(submitted)), began, "budget", 5.01, 3_600.0)
    assert report.splitlines()[:3] == [
        "Autopilot of ann [31m, from 1970-01-01 00:00 UTC to 1970-01-01 01:00 UTC (1 h)",
        "It is over: its budget is spent.",
        "Cost: $5.01 of $5.00",
    ]
    assert "chaperon report --since 1970-01-01T00:00:00Z" in report
    assert "Checkpoint before it: /r: before" in report


def test_a_text_of_others_is_one_line_of_bounded_length() -> None:
    assert plain("a\nb\x1b[2J\tc") == "a b [2J c"
    assert len(plain("x" * 10_000)) == LONGEST
