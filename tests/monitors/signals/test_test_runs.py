import re

import pytest

from monitors.signals.test_runs import FRAMEWORKS, TestTally, tally

PYTEST_FAILED = """\
============================= test session starts ==============================
platform linux -- Python 3.11.9, pytest-8.3.2, pluggy-1.5.0
collected 7 items

tests/test_parser.py ..F...F                                             [100%]

=================================== FAILURES ===================================
E       AssertionError: assert 3 == 4
=========================== short test summary info ============================
FAILED tests/test_parser.py::test_depth - AssertionError: assert 3 == 4
FAILED tests/test_parser.py::test_empty - ValueError: nothing to read
========================= 2 failed, 5 passed, 1 warning in 0.31s ===============
"""
UNITTEST_FAILED = """\
..F.E
======================================================================
ERROR: test_io (tests.test_store.StoreTest.test_io)
----------------------------------------------------------------------
Ran 5 tests in 0.012s

FAILED (failures=1, errors=1)
"""
JEST = """\
FAIL src/cart.test.ts
  ● cart > totals

Test Suites: 1 failed, 3 passed, 4 total
Tests:       2 failed, 1 skipped, 14 passed, 17 total
Snapshots:   0 total
Time:        2.113 s
"""
VITEST = """\
 > src/cart.test.ts (5 tests | 1 failed) 12ms
 Test Files  1 failed | 3 passed (4)
      Tests  1 failed | 21 passed (22)
   Start at  12:01:11
"""
MOCHA = """\
  cart
    ✔ adds
    1) totals

  12 passing (34ms)
  1 pending
  2 failing
"""
GO_VERBOSE = """\
=== RUN   TestParse
--- PASS: TestParse (0.00s)
=== RUN   TestDepth
    parse_test.go:20: got 3, want 4
--- FAIL: TestDepth (0.00s)
FAIL
FAIL\texample.org/parse\t0.004s
FAIL
"""
GO_PACKAGES = "ok  \texample.org/a\t0.004s\nok  \texample.org/b\t(cached)\nFAIL\texample.org/c [build failed]\n?   \texample.org/d\t[no test files]\n"
CARGO = """\
running 3 tests
test parse::depth ... FAILED
test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/api.rs
test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
"""
SUREFIRE = """\
[ERROR] Tests run: 4, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE! -- in org.example.CartTest
[INFO] Results:
[ERROR] Tests run: 9, Failures: 1, Errors: 1, Skipped: 2
"""
JUNIT_CONSOLE = "[        11 tests successful      ]\n[         2 tests failed          ]\n"
JUNIT_XML = '<testsuites><testsuite name="a" tests="5" failures="1" errors="1" skipped="1" time="0.1"></testsuite><testsuite name="b" tests="2" failures="0" errors="0"></testsuite></testsuites>'
TAP = "TAP version 13\n1..4\nok 1 - opens\nnot ok 2 - reads\nok 3 - closes\nok 4 - later # SKIP no network\n"
CTEST = "75% tests passed, 1 tests failed out of 4\n\nTotal Test time (real) =   0.02 sec\n"
PHPUNIT = "There was 1 failure:\n\n1) CartTest::testTotal\n\nFAILURES!\nTests: 6, Assertions: 9, Failures: 1.\n"
DOTNET = (
    "Failed!  - Failed:     1, Passed:     8, Skipped:     0, Total:     9, Duration: 41 ms - Cart.Tests.dll (net8.0)\n"
)

REAL_OUTPUTS = [
    (PYTEST_FAILED, TestTally("pytest", 5, 2)),
    ("7 passed in 0.12s\n", TestTally("pytest", 7, 0)),
    ("1 error in 0.05s\n", TestTally("pytest", 0, 1)),
    ("==== 3 passed, 1 skipped in 65.02s (0:01:05) ====\n", TestTally("pytest", 3, 0)),
    (UNITTEST_FAILED, TestTally("unittest", 3, 2)),
    ("Ran 4 tests in 0.001s\n\nOK (skipped=1)\n", TestTally("unittest", 3, 0)),
    (JEST, TestTally("jest", 14, 2)),
    (VITEST, TestTally("vitest", 21, 1)),
    (MOCHA, TestTally("mocha", 12, 2)),
    ("\x1b[1mTests:\x1b[22m       \x1b[31m1 failed\x1b[39m, \x1b[32m2 passed\x1b[39m, 3 total\n", TestTally("jest", 2, 1)),
    ("  3 passing (5ms)\n", TestTally("mocha", 3, 0)),
    (GO_VERBOSE, TestTally("go test", 1, 1)),
    (GO_PACKAGES, TestTally("go test", 2, 1)),
    (CARGO, TestTally("cargo test", 6, 1)),
    (SUREFIRE, TestTally("junit", 5, 2)),
    ("12 tests completed, 3 failed\n", TestTally("gradle", 9, 3)),
    (JUNIT_CONSOLE, TestTally("junit console", 11, 2)),
    (JUNIT_XML, TestTally("junit xml", 4, 2)),
    (TAP, TestTally("tap", 2, 1)),
    ("# tests 5\n# suites 0\n# pass 4\n# fail 1\n", TestTally("node test", 4, 1)),
    (CTEST, TestTally("ctest", 3, 1)),
    ("Finished in 0.01 seconds\n8 examples, 2 failures, 1 pending\n", TestTally("rspec", 5, 2)),
    ("Finished in 0.4 seconds (0.3s async)\n2 doctests, 37 tests, 3 failures, 1 excluded\n", TestTally("exunit", 33, 3)),
    ("12 runs, 30 assertions, 1 failures, 1 errors, 2 skips\n", TestTally("minitest", 8, 2)),
    (" 12 pass\n 1 skip\n 1 fail\n 30 expect() calls\nRan 14 tests across 2 files. [120.00ms]\n", TestTally("bun test", 12, 1)),
    ("OK (6 tests, 12 assertions)\n", TestTally("phpunit", 6, 0)),
    (PHPUNIT, TestTally("phpunit", 5, 1)),
    (DOTNET, TestTally("dotnet test", 8, 1)),
    ("Total tests: 9\n     Passed: 7\n     Failed: 2\n", TestTally("dotnet test", 7, 2)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"), REAL_OUTPUTS, ids=[f"{one[1].framework}-{n}" for n, one in enumerate(REAL_OUTPUTS)]
)
def test_the_output_of_a_test_run_is_counted(text: str, expected: TestTally) -> None:
    assert tally(text) == expected
    assert tally(f"> build step\n{text}\nDone.") == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "total 12\ndrwxr-xr-x 2 ann ann 4096 tests",
        "2 files changed, 3 insertions(+)",
        "error: no such file in 3 places",
        "everything is ok 1 of 2 ways",
        "Deployed 3 services in 12s",
    ],
)
def test_other_output_is_no_test_run(text: str) -> None:
    assert tally(text) is None


def test_a_pattern_of_ones_own_comes_first() -> None:
    own = re.compile(r"checks: (?P<passed>\d+) good (?P<failed>\d+) bad")
    assert tally("checks: 4 good 2 bad", [own]) == TestTally("custom", 4, 2)


def test_green_means_that_something_ran_and_nothing_failed() -> None:
    assert [TestTally("x", *counts).green for counts in ((3, 0), (3, 1), (0, 0))] == [True, False, False]


def test_a_long_output_without_tests_is_read_in_linear_time() -> None:
    assert tally("1 passed 2 failed ok --- \n" * 1_200) is None
    assert {framework.name for framework in FRAMEWORKS} == {tallied.framework for _, tallied in REAL_OUTPUTS}
