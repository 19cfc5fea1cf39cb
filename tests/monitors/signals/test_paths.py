import pytest

from monitors.contract.actions import Review, Touch
from monitors.contract.observations import ToolCalled
from monitors.contract.words import Decision, Severity
from monitors.signals.paths import is_scratch, is_test, touches


def called(tool: str, *found: Touch, **call: object) -> ToolCalled:
    review = Review(Decision.ALLOW, 0, 1, Severity.LOW, "", touches=found)
    return ToolCalled(seq=1, mono=1.0, id="t", tool=tool, input=call, review=review)


def test_what_the_reviewer_found_comes_before_what_the_input_names() -> None:
    found = Touch("/w/b", "delete")
    assert touches(called("Bash", found, command="rm b")) == (found,)
    assert touches(called("Write", file_path="/w/a", content="")) == (Touch("/w/a", "write"),)
    assert touches(called("Grep", path="/w", pattern="x")) == (Touch("/w", "read"),)
    assert touches(called("Read", file_path=7)) == ()


def test_a_workspace_below_tmp_is_no_scratch() -> None:
    assert is_scratch("/tmp/a.py", "/tmp/shop")
    assert not is_scratch("/tmp/shop/a.py", "/tmp/shop")
    assert not is_scratch("/w/a.py", "")
    assert is_scratch("/dev/null", "/w")


def test_a_call_that_touches_very_many_is_judged_by_the_first() -> None:
    assert len(touches(called("Bash", *(Touch(f"/w/{n}", "read") for n in range(1000))))) == 40


@pytest.mark.parametrize(
    "path",
    ["tests/a.py", "src/a_test.go", "src/a.spec.ts", "test_a.py", "x/conftest.py", "src/CartTests.java", "e2e/a.ts"],
)
def test_paths_of_tests(path: str) -> None:
    assert is_test(path)


@pytest.mark.parametrize("path", ["src/latest.py", "src/contest/a.py", "src/testing.py", "attest.go", ""])
def test_paths_that_are_none(path: str) -> None:
    assert not is_test(path)
