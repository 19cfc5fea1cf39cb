"""How many tests passed and failed, read out of what a test run printed.

One line of the table for each framework: words that its output always has, the pattern of its summary, and how the
matches are counted. The readers never look at the command, so a run behind `make check` or a script is read as well.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple


class TestTally(NamedTuple):
    """The outcome of one test run."""

    framework: str
    passed: int
    failed: int
    """Failures and errors together."""

    @property
    def green(self) -> bool:
        """Whether something ran and nothing failed."""
        return self.failed == 0 and self.passed > 0


Count = Callable[[Sequence[re.Match[str]]], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Framework:
    """How one framework's output is read."""

    name: str
    words: tuple[str, ...]
    """One of these is in every output; a cheap test before the pattern is tried."""
    summary: re.Pattern[str]
    count: Count
    """Passed and failed of all matches, in order."""


def _number(text: str | None) -> int:
    return int(text) if text else 0


def _last(matches: Sequence[re.Match[str]]) -> tuple[int, int]:
    """The last summary counts: the ones before are of parts."""
    return _named(matches[-1])


def _sum(matches: Sequence[re.Match[str]]) -> tuple[int, int]:
    """Each summary is of a part, and nothing sums them."""
    counted = [_named(match) for match in matches]
    return sum(passed for passed, _ in counted), sum(failed for _, failed in counted)


def _named(match: re.Match[str]) -> tuple[int, int]:
    """Return the counts by the groups' names: `passed` and `failed`, or `total` and the kinds of failure."""
    groups = match.groupdict()
    failed = sum(_number(groups.get(name)) for name in ("failed", "failures", "errors"))
    if groups.get("total") is not None:
        return max(0, _number(groups["total"]) - failed - _number(groups.get("skipped"))), failed
    return _number(groups.get("passed")), failed


_WORD_COUNT = re.compile(r"(?<!\d)(\d++) (\w++)")
_FAILURE_WORDS = frozenset({"failed", "error", "errors", "failure", "failures"})
_PASS_WORDS = frozenset({"passed", "xpassed"})


def _by_words(matches: Sequence[re.Match[str]]) -> tuple[int, int]:
    """Lists as `1 failed, 2 passed, 1 warning`, of the last summary."""
    pairs = [(int(number), word) for number, word in _WORD_COUNT.findall(matches[-1]["parts"])]
    passed = sum(number for number, word in pairs if word in _PASS_WORDS)
    return passed, sum(number for number, word in pairs if word in _FAILURE_WORDS)


def _by_lines(matches: Sequence[re.Match[str]]) -> tuple[int, int]:
    """One line a test; the group `bad` is there where it failed."""
    failed = sum(1 for match in matches if match["bad"])
    return len(matches) - failed, failed


def _unittest(matches: Sequence[re.Match[str]]) -> tuple[int, int]:
    total, kinds = int(matches[-1]["total"]), matches[-1]["kinds"] or ""
    counts = {kind: int(number) for kind, number in re.findall(r"([a-z][a-z ]*)=(\d+)", kinds)}
    failed = sum(counts.get(kind, 0) for kind in ("failures", "errors", "unexpected successes"))
    return max(0, total - failed - counts.get("skipped", 0)), failed


def _go(matches: Sequence[re.Match[str]]) -> tuple[int, int]:
    """Return the counts of tests if they are named (`-v`, and failures always), else of packages."""
    tests = [match for match in matches if match["test"]]
    packages = [match for match in matches if match["package"]]
    failed = sum(1 for match in tests if match["test"] == "FAIL") or sum(
        1 for match in packages if match["package"] == "FAIL"
    )
    passed = sum(1 for match in tests if match["test"] == "PASS") or sum(
        1 for match in packages if match["package"] == "ok"
    )
    return passed, failed


FRAMEWORKS: tuple[Framework, ...] = (
    Framework(
        "pytest",
        (" passed", " failed", " error"),
        re.compile(r"^(?:=+ )?(?P<parts>\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected)\b[^\n]*?) in \d+(?:\.\d+)?s", re.MULTILINE),
        _by_words,
    ),
    Framework(
        "unittest",
        ("Ran ",),
        re.compile(r"^Ran (?P<total>\d+) tests? in [\d.]+s\s+(?:OK|FAILED|NO TESTS RAN)(?: \((?P<kinds>[^)\n]*)\))?", re.MULTILINE),
        _unittest,
    ),
    Framework("jest", ("Tests:",), re.compile(r"^Tests:\s+(?P<parts>\d[^\n]*\btotal)", re.MULTILINE), _by_words),
    Framework("vitest", ("Tests  ",), re.compile(r"^[^\S\n]*Tests  (?P<parts>\d[^\n]*)\(\d+\)", re.MULTILINE), _by_words),
    Framework(
        "mocha",
        (" passing",),
        re.compile(r"^[^\S\n]*(?P<passed>\d+) passing\b[^\n]*(?:\s+\d+ pending)?(?:\s+(?P<failed>\d+) failing)?", re.MULTILINE),
        _last,
    ),
    Framework(
        "go test",
        ("--- PASS", "--- FAIL", "ok  \t", "FAIL\t"),
        re.compile(r"^(?:[^\S\n]*--- (?P<test>PASS|FAIL): |(?P<package>ok|FAIL)[ ]*\t)", re.MULTILINE),
        _go,
    ),
    Framework(
        "cargo test",
        ("test result:",),
        re.compile(r"^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed", re.MULTILINE),
        _sum,
    ),
    Framework(
        "junit",
        ("Tests run:",),
        re.compile(r"Tests run: (?P<total>\d+), +Failures: (?P<failures>\d+)(?:, +Errors: (?P<errors>\d+))?(?:, +Skipped: (?P<skipped>\d+))?"),
        _last,
    ),
    Framework("gradle", ("tests completed",), re.compile(r"(?<!\d)(?P<total>\d+) tests? completed(?:, (?P<failed>\d+) failed)?(?:, (?P<skipped>\d+) skipped)?"), _last),
    Framework(
        "junit console",
        ("tests successful",),
        re.compile(r"\[\s*(?P<passed>\d+) tests successful\s*\]\s*\[\s*(?P<failed>\d+) tests failed\s*\]"),
        _last,
    ),
    Framework(
        "junit xml",
        ("<testsuite",),
        re.compile(r"<testsuite\b(?=[^<>]{0,2000}\btests=\"(?P<total>\d+)\")(?=[^<>]{0,2000}\bfailures=\"(?P<failures>\d+)\")(?:(?=[^<>]{0,2000}\berrors=\"(?P<errors>\d+)\"))?(?:(?=[^<>]{0,2000}\bskipped=\"(?P<skipped>\d+)\"))?[^<>]*>"),
        _sum,
    ),
    Framework("node test", ("# pass ", "\u2139 pass "), re.compile(r"^[#\u2139] pass (?P<passed>\d+)\s+[#\u2139] fail (?P<failed>\d+)", re.MULTILINE), _last),
    Framework("ctest", ("% tests passed",), re.compile(r"(?<!\d)\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)"), _last),
    Framework("rspec", (" example",), re.compile(r"^(?P<total>\d+) examples?, (?P<failures>\d+) failures?(?:, (?P<skipped>\d+) pending)?", re.MULTILINE), _last),
    Framework("exunit", (" tests, ", " test, "), re.compile(r"^(?:\d+ (?:doctests?|propert(?:y|ies)), )*(?P<total>\d+) tests?, (?P<failures>\d+) failures?(?:, (?P<skipped>\d+) (?:skipped|excluded))?", re.MULTILINE), _last),
    Framework("minitest", (" assertions, ",), re.compile(r"^(?P<total>\d+) (?:runs|tests), \d+ assertions, (?P<failures>\d+) failures, (?P<errors>\d+) errors(?:, (?P<skipped>\d+) skips)?", re.MULTILINE), _last),
    Framework("bun test", (" pass\n",), re.compile(r"^ *(?P<passed>\d+) pass\n(?: *\d+ (?:skip|todo)\n)* *(?P<failed>\d+) fail\b", re.MULTILINE), _last),
    Framework("phpunit", ("OK (",), re.compile(r"^OK \((?P<passed>\d+) tests?, \d+ assertions?\)", re.MULTILINE), _last),
    Framework(
        "phpunit",
        ("Assertions:",),
        re.compile(r"^Tests: (?P<total>\d+), Assertions: \d+(?:, Errors: (?P<errors>\d+))?(?:, Failures: (?P<failures>\d+))?[^\n]*?(?:Skipped: (?P<skipped>\d+))?", re.MULTILINE),
        _last,
    ),
    Framework("dotnet test", ("Passed:",), re.compile(r"Failed:\s+(?P<failed>\d+), Passed:\s+(?P<passed>\d+)"), _sum),
    Framework("dotnet test", ("Total tests:",), re.compile(r"Total tests: (?P<total>\d+)(?:\s+Passed: \d+)?(?:\s+Failed: (?P<failed>\d+))?(?:\s+Skipped: (?P<skipped>\d+))?"), _last),
    Framework("tap", ("\nok ", "not ok ", "TAP version"), re.compile(r"^(?P<bad>not )?ok \d+\b(?![^\n]*# (?:SKIP|TODO|skip|todo))", re.MULTILINE), _by_lines),
)  # fmt: skip
"""Every framework that is read, the more telling summaries first; the first that matches decides."""


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def tally(text: str, custom: Iterable[re.Pattern[str]] = ()) -> TestTally | None:
    """Return what the output says of tests, or None if it says nothing.

    Args:
        text: The output.
        custom: Patterns tried first, with groups `passed` and `failed`, or `total` and `failed`.
    """
    if "\x1b[" in text:
        text = _COLOUR.sub("", text)
    for pattern in custom:
        matches = list(pattern.finditer(text))
        if matches:
            return TestTally("custom", *_last(matches))
    return _by_framework(text)


@lru_cache(maxsize=2)
def _by_framework(text: str) -> TestTally | None:
    """Return the tally, remembered for the latest texts: checkpoints and detectors read the same results."""
    for word, framework in _WORDS:
        if word in text:
            matches = list(framework.summary.finditer(text))
            if matches:
                return TestTally(framework.name, *framework.count(matches))
    return None


_WORDS = tuple((word, framework) for framework in FRAMEWORKS for word in framework.words)
