"""Variables that are each of several values in turn."""

from monitors.review.shell.state.turns import (
    MAX_OTHER_TURNS,
    MAX_ROWS,
    MAX_TURNS,
)
from tests.monitors.review.shell.test_walk import walked


def test_a_loop_of_more_commands_than_are_gone_through_is_more_than_a_review_goes_through() -> None:
    values = " ".join(f"'a {number}'" for number in range(60))
    assert walked(f"for x in {values}; do $x; done").too_much == ""
    assert f"{MAX_TURNS} commands" in walked(f"for x in {values}; do $x; $x; $x; done").too_much
    assert walked(f"for x in {values.replace(' ', '-')}; do echo $x; echo $x; echo $x; done").too_much == ""


def started(script: str) -> list[str]:
    return [one.text() for one in walked(script).invocations if one.program and one.name != "read"]


def test_variables_of_one_read_step_row_by_row_and_so_do_those_made_of_them() -> None:
    rows = "<<< $'ls a\nrm b'"
    assert started(f"read -r c f {rows}; $c $f") == ["ls a", "rm b"]
    assert started(f"read -r c f {rows}; d=$c; $d $f") == ["ls a", "rm b"]
    assert started("for c in ls rm; do for f in a b; do $c $f; done; done") == ["ls a", "ls b", "rm a", "rm b"]


def test_past_the_bound_a_launcher_has_the_first_value_and_its_command_all_of_them() -> None:
    values = " ".join(f"v{number}" for number in range(MAX_OTHER_TURNS + 2))
    walk = walked(f"for v in {values}; do env V=$v make $v; done")
    assert walk.too_much == ""
    assert [one.args[:2] for one in walk.invocations if one.name == "make"] == [["v0", "v1"]]


def test_more_values_than_are_kept_apart_are_all_judged_if_one_can_name_the_program() -> None:
    lines = "\n".join(f"line{number}" for number in range(MAX_ROWS + 10))
    assert walked(f"while read -r v; do env V=$v make; done <<E\n{lines}\nE").too_much == ""
    assert walked(f"while read -r v; do env V=$v make; done <<E\n{lines}\na ls\nE").too_much
    assert walked(f"while read -r v; do timeout $v make; done <<E\n{lines}\n-s\nE").too_much
