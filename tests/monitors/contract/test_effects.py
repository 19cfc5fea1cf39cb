"""The types of side effects: every list that chooses among them knows all of them."""

import ast
from pathlib import Path
from typing import get_args

import pytest

from monitors.contract.effects import (
    ASK_FOR,
    CHANGES,
    EFFECTS,
    GROUPS,
    EffectGroup,
    EffectType,
    as_effect_type,
    check_names,
    is_one_of,
    meant_by,
)
from monitors.review.knowledge.book import PROGRAMS, RULES

MONITORS = Path(__file__).parents[3] / "monitors"


def given_by_the_code() -> set[str]:
    """The types that the reviewer's own checks write down: the first argument of each `effect`."""
    found: set[str] = set()
    for file in MONITORS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "effect":
                found |= {str(word.value) for word in node.args[:1] if isinstance(word, ast.Constant)}
    return found


def test_each_type_that_the_reviewer_gives_is_listed_with_its_meaning_and_each_listed_one_is_given() -> None:
    by_tables = {rule.effect for rule in RULES} | {program.effect for program in PROGRAMS}
    of_users_rules = {"system_call"}
    assert (given_by_the_code() | by_tables | of_users_rules) - {""} == EFFECTS.keys() == set(get_args(EffectType))


def test_each_type_is_in_a_group_that_is_listed_and_no_group_is_called_as_a_type() -> None:
    assert {effect.group for effect in EFFECTS.values()} == set(get_args(EffectGroup)) == GROUPS.keys() - {CHANGES}
    assert not GROUPS.keys() & EFFECTS.keys()


@pytest.mark.parametrize("type_", EFFECTS)
def test_each_type_either_changes_something_or_reads(type_: EffectType) -> None:
    assert (type_ in meant_by(CHANGES)) is (EFFECTS[type_].group != "reading")


def test_what_is_asked_for_by_default_leaves_out_the_reading_of_databases_alone() -> None:
    assert {type_ for type_ in EFFECTS if not is_one_of(type_, ASK_FOR)} == {"database_read"}


def test_a_name_means_a_type_its_family_or_a_group() -> None:
    assert meant_by("git_push") == {"git_push"}
    assert meant_by("git") == {"git_push", "git_change", "git_config", "git_discard"}
    assert meant_by("network") == {"network", "network_send", "network_listen", "network_config"}
    assert meant_by("repository") == {"git_change", "git_config", "git_discard"}
    assert not meant_by("networking")


def test_a_type_of_a_plugin_changes_something_and_goes_by_its_own_name_and_family() -> None:
    assert is_one_of("own.deploy", ["changes_something"])
    assert is_one_of("own.deploy", ["own"])
    assert is_one_of("own.deploy", ["own.deploy"])
    assert not is_one_of("own.deploy", ["network", "ow"])


def test_a_slip_in_a_name_is_refused_with_the_nearest_one() -> None:
    check_names(["git", "changes_something", "own.deploy"])
    with pytest.raises(ValueError, match="'git_pusch'; did you mean 'git_push'"):
        check_names(["git_pusch"])
    assert str(as_effect_type("own.deploy")) == "own.deploy"
    with pytest.raises(ValueError, match="'forgge'; did you mean 'forge'"):
        as_effect_type("forgge")
