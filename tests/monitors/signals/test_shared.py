from monitors.contract.observations import ToolReturned
from monitors.signals.shared import MAX_CALLS, MAX_TEXTS, Fingerprint, SharedSignals
from tests.monitors.steps import Run


def returned(run: Run, command: str, text: str) -> ToolReturned:
    step = run.bash(command, text)[1]
    assert isinstance(step, ToolReturned)
    return step


def keys(*steps: tuple[str, str]) -> list[Fingerprint]:
    run, facts = Run(), SharedSignals()
    return [facts.of(returned(run, command, text)) for command, text in steps]


def test_the_same_call_and_result_have_the_same_key_also_where_times_differ() -> None:
    one, again, later = keys(("make", "took 1.2s"), ("make", "took 1.2s"), ("make", "took 3.4s"))
    assert one == again == later


def test_another_result_or_another_call_has_another_key() -> None:
    first, other_result, other_call, back = keys(
        ("make", "1 left"), ("make", "2 left"), ("ls", "1 left"), ("make", "1 left")
    )
    assert len({first, other_result, other_call}) == 3
    assert back == first


def test_texts_and_calls_kept_are_bounded() -> None:
    run, facts = Run(), SharedSignals()
    for number in range(3 * MAX_CALLS):
        facts.of(returned(run, f"cat {number}", "x" * 100))
    assert len(facts._results) == MAX_CALLS
    assert sum(one.text is not None for one in facts._results.values()) == MAX_TEXTS


def test_a_test_run_is_read_out_of_what_a_command_printed_and_not_of_a_file() -> None:
    run, facts = Run(), SharedSignals()
    assert facts.run(returned(run, "pytest", "2 failed, 3 passed in 1.0s")) == ("pytest", 3, 2)
    shown = run.read("/w/log", "2 failed, 3 passed in 1.0s")[1]
    assert isinstance(shown, ToolReturned)
    assert facts.run(shown) is None
