"""The built-in knowledge is what its YAML says, and each entry does what its examples say."""

import re
from dataclasses import fields
from pathlib import Path
from textwrap import dedent

import pytest

import monitors.review
from monitors.review.catalogue import check, failures
from monitors.review.knowledge.book import LAUNCHERS, PEOPLE, PROGRAMS, RULES
from monitors.review.rules import definitions
from monitors.review.rules.definitions import Knowledge
from monitors.review.rules.rules import Program, Rule
from monitors.review.shell.launchers import LauncherLayout
from supervisor.config.yaml_tree import parse
from tests import knowledge


def test_the_tables_are_built_of_the_files_as_they_stand() -> None:
    assert knowledge.TABLES.read_text() == knowledge.built(), "build them with: make docs"


def test_each_piece_of_a_pattern_is_named_by_one_and_each_name_is_a_piece() -> None:
    for family, given in knowledge.families().items():
        patterns = [
            each.get("match", each.get("reads", ())) for key in ("rules", "programs") for each in given.get(key, ())
        ]
        named = set(definitions._PIECE.findall(str(patterns)))
        assert family in ("people", "proofs") or named == given.get("words", {}).keys(), family


def test_each_list_of_words_of_messages_is_one_that_a_check_asks_for() -> None:
    checks = Path(monitors.review.__path__[0], "checks")
    asked = re.findall(r"(?:PEOPLE\[|_listed\()['\"]([a-z-]+)", "".join(map(Path.read_text, checks.glob("*.py"))))
    assert set(asked) == PEOPLE.keys()
    assert all(re.fullmatch(r"[\w-]+(?:\|[\w-]+)*", words) for words in PEOPLE.values())


def test_the_example_of_the_language_can_be_used_as_it_stands() -> None:
    example = dedent((definitions.__doc__ or "").partition("\n\n")[2].rpartition("\n\n")[0])
    own = definitions.knowledge_from(parse(example).value, "example")
    assert own.rules
    assert own.programs
    assert own.launchers
    check(own, "example")


def test_rule_names_are_unique() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_matches_its_examples_and_not_its_counterexamples(rule: Rule) -> None:
    assert rule.yes
    assert rule.no
    assert failures(Knowledge(rules=(rule,))) == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.names[:60])
def test_a_program_knows_which_of_its_uses_only_read(program: Program) -> None:
    assert failures(Knowledge(programs=(program,))) == []


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=lambda launcher: launcher.command)
def test_a_launcher_is_looked_through(launcher: LauncherLayout) -> None:
    assert failures(Knowledge(launchers=(launcher,))) == []


@pytest.mark.parametrize(
    ("made", "readers"),
    [(Rule, definitions._RULE), (Program, definitions._PROGRAM), (LauncherLayout, definitions._LAUNCHER)],
)
def test_each_field_can_be_written(made: type, readers: dict[str, definitions.Reader]) -> None:
    assert [field.name for field in fields(made)] == list(readers)
