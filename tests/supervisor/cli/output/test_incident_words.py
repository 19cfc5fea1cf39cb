from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from supervisor.cli.output.incident_words import portrait
from supervisor.cli.output.words import local
from tests.support import acting

REPORT: dict[str, Any] = {
    "summary": "Emergency stop of a1: Rule x: It goes.",
    "incident": "a1-96-emergency_stop",
    "severity": "critical",
    "workspace": "/repo",
    "session_id": "s-1",
    "task": {"prompt": "Mend it."},
    "timeline": [
        {"at": 1_000_000.0, "seq": 2, "what": "the task was submitted"},
        {"at": 1_000_250.0, "seq": 9, "what": "emergency stop"},
    ],
    "impact": {
        "files_affected": ["a.txt (added)"],
        "files_are": "those that are not as they were",
        "resources": {"cost_usd": 0.02, "memory_mb": 120.0, "tokens": 1_234},
        "duration_seconds": 250.0,
        "refused": 1,
    },
    "root_cause": {"sentence": "Rule x: It goes. It began at event 7."},
    "contributing_factors": ["1 of the last 3 actions failed."],
    "recommendations": {"immediate": ["Look."], "configuration": [{"key": "k", "value": 1, "because": "so"}]},
    "recovery_options": [
        {"option": "abort", "description": "Give up.", "command": "chaperon recover a1-96-emergency_stop abort"},
        {"option": "rollback", "description": "Go back.", "command": ""},
    ],
    "last_actions": [
        {"tool": "Bash", "what": "ls", "failed": False, "decision": "allow"},
        {"tool": "Bash", "what": "make", "failed": True, "decision": "allow"},
        {"tool": "Write", "what": "/state", "failed": False, "decision": "block"},
    ],
}


def test_a_report_is_told_with_dates_units_and_what_became_of_each_action() -> None:
    lines = portrait(REPORT)
    assert lines[:2] == ["Emergency stop of a1: Rule x: It goes.", "incident   a1-96-emergency_stop (critical)"]
    assert f"when       {local(1_000_250.0, '%Y-%m-%d %H:%M:%S')}, 4 min 10 s after it began" in lines
    assert "files      a.txt (added) (those that are not as they were)" in lines
    assert "used       $0.020, 120 MiB memory, 1,234 tokens" in lines
    assert f"  {local(1_000_000.0)}  the task was submitted" in lines
    assert lines[lines.index("last actions") + 1 :][:3] == [
        "  allow               Bash ls",
        "  allow   failed      Bash make",
        "  block   did not run Write /state",
    ]
    assert "  configuration: k: 1 (so)" in lines
    assert lines[-4:] == [
        "  Give up.", "      chaperon recover a1-96-emergency_stop abort", "  Go back.", "      not possible here"
    ]  # fmt: skip


def test_of_many_files_and_actions_the_first_and_the_last_are_told() -> None:
    impact = {"files_affected": [f"f{n}" for n in range(100)], "files_are": "those"}
    lines = portrait({"impact": impact, "last_actions": [{"tool": "Bash", "what": f"c{n}"} for n in range(40)]})
    assert any("f19 and 80 more (those)" in line for line in lines)
    assert lines[lines.index("last actions") + 1] == "  … 25 earlier ones"
    assert lines[-1].endswith("Bash c39")


TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT | st.sampled_from(["at", "what", "key"]), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(sorted(REPORT)), ANYTHING))
def test_a_report_that_somebody_edited_is_told_as_far_as_it_can_be_read(report: dict[str, Any]) -> None:
    assert acting("".join(portrait(report))) == set()
    assert portrait({**REPORT, **report})
