"""The language of patterns."""

import pytest

from monitors.review.knowledge.book import LAUNCHERS
from monitors.review.rules.patterns import PatternError, compiled
from monitors.review.rules.rules import RuleBook
from monitors.review.shell.invocation import Invocation
from monitors.review.shell.launch import LauncherBook
from monitors.review.shell.walk import Walk


def invoked(command: str) -> Invocation:
    walk = Walk(cwd="/w", variables={}, launchers=LauncherBook(LAUNCHERS), code=lambda _: [])
    walk.script(command)
    return walk.invocations[0]


def met(pattern: str, command: str) -> bool:
    one = invoked(command)
    return compiled(pattern).matches(one, RuleBook((), ()).operands(one))


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("x push", "x push y", "x pull push"),
        ("x push|pull", "x PULL", "x fetch"),
        ("x * del*", "x a delete", "x delete"),
        ("x ... rm", "x a b rm", "x a b"),
        ("x {-f --force}", "x -f", "x -g"),
        ("x {-f}", "x -rf", "x --ref"),
        ("x {--force}", "x --force=true", "x --forceful"),
        ("x {--mode=hard}", "x --mode hard", "x --mode soft"),
        ("x {-m=a}", "x -ma", "x -mb"),
        ("x !{-n --dry-run}", "x -f", "x -fn"),
        ("x {-a} !{-n}", "x -a", "x -a -n"),
        ("x /drop\\s+table/", "x -c 'DROP  TABLE a'", "x -c 'drop a'"),
        ("x !/safe/", "x y", "x safe"),
        ("x {-f}", "x -f", "x -- -f"),
    ],
)
def test_a_pattern_means_what_it_says(pattern: str, yes: str, no: str) -> None:
    assert met(pattern, yes)
    assert not met(pattern, no)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [("", "begins with"), ("{-f} x", "begins with"), ("x {}", "empty group"), ("x /(/", "no regular expression")],
)
def test_a_pattern_that_says_nothing_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(PatternError, match=said):
        compiled(pattern)
