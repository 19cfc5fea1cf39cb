"""The knowledge checks itself: each entry's own examples, run against it."""

import pytest

from monitors.review.knowledge.book import PROGRAMS, RULES
from monitors.review.rules.rules import Program, Rule, RuleBook
from monitors.review.shell.launchers import LAUNCHERS, LauncherLayout
from monitors.review.shell.walk import Walk

BOOK = RuleBook(PROGRAMS, RULES)


def matched(command: str) -> set[str]:
    walk = Walk(cwd="/w", variables={}, code=lambda _: [])
    walk.script(command)
    return {
        rule.name for invocation in walk.invocations for rule in BOOK.matching(invocation, BOOK.operands(invocation))
    }


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_matches_its_examples_and_not_its_counterexamples(rule: Rule) -> None:
    assert rule.yes
    assert rule.no
    assert {command: rule.name in matched(command) for command in rule.yes} == dict.fromkeys(rule.yes, True)
    assert {command: rule.name in matched(command) for command in rule.no} == dict.fromkeys(rule.no, False)


def test_rule_names_are_unique() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(
    "program", [program for program in PROGRAMS if program.yes or program.no], ids=lambda program: program.names
)
def test_a_program_knows_which_of_its_uses_only_read(program: Program) -> None:
    def reads(command: str) -> bool:
        walk = Walk(cwd="/w", variables={}, code=lambda _: [])
        walk.script(command)
        return BOOK.only_reads(walk.invocations[0], BOOK.operands(walk.invocations[0]))

    assert {command: reads(command) for command in program.yes} == dict.fromkeys(program.yes, True)
    assert {command: reads(command) for command in program.no} == dict.fromkeys(program.no, False)


@pytest.mark.parametrize(
    "launcher", [launcher for launcher in LAUNCHERS if launcher.yes], ids=lambda launcher: launcher.command
)
def test_a_launcher_is_looked_through(launcher: LauncherLayout) -> None:
    for command in launcher.yes:
        walk = Walk(cwd="/w", variables={}, code=lambda _: [])
        walk.script(command)
        assert [
            invocation
            for invocation in walk.invocations
            if invocation.name == "true" and invocation.args in ([], ["{}"])
        ], command
