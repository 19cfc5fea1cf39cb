"""Variables that are each of several values in turn."""

import pytest

from monitors.review.shell.invocation import Input, Invocation, arg
from monitors.review.shell.turns import (
    MAX_OTHER_TURNS,
    MAX_ROWS,
    MAX_TURNS,
    in_each_place,
    read_values,
    split_for_xargs,
)
from tests.monitors.review.shell.test_walk import walked


def read_into(words: str, text: str | None, separators: str = " \t\n") -> dict[str, list[str]]:
    reads = Invocation(arg("read"), [arg(word) for word in words.split()])
    taken = read_values(reads, Input(text), [arg(separators)])
    return {name: [str(value) for value in values] for name, values in taken.items()}


@pytest.mark.parametrize(
    ("words", "text", "taken"),
    [
        ("-r a b", "one two three\n", {"a": ["one"], "b": ["two three"]}),
        ("a", "one two\nthree\n", {"a": ["one two", "three"]}),
        ("", "one\n", {"REPLY": ["one"]}),
        ("-ra x", "one two\n", {"x": ["one", "two"]}),
        ("-t 1 -p say x", "one\n", {"x": ["one"]}),
        ("-d x a", "one\ntwo\n", {"a": ["one\ntwo\n"]}),
        ("a", None, {"a": ["$a"]}),
        ("a", "\n", {"a": ["$a"]}),
    ],
)
def test_read_takes_its_lines_into_its_variables(words: str, text: str | None, taken: dict[str, list[str]]) -> None:
    assert read_into(words, text) == taken


def test_read_splits_by_the_separators_in_force() -> None:
    assert read_into("a b", "one,two\n", ",") == {"a": ["one"], "b": ["two"]}
    assert read_into("a", "one,two\n", ",") == {"a": ["one,two"]}


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [("a b\nc", [], ["a", "b", "c"]), ("a b\0c", ["-0"], ["a b", "c"]), ("a b,c", ["-d", ","], ["a b", "c"]), ("a b\nc", ["-d\\n"], ["a b", "c"]), ("a b,c", ["-rd,"], ["a b", "c"]), ("a b\0c", ["-r0"], ["a b", "c"])],
)  # fmt: skip
def test_xargs_splits_as_it_is_told(text: str, options: list[str], words: list[str]) -> None:
    assert split_for_xargs(text, options) == words


def test_a_script_of_xargs_gets_its_lines_one_below_the_other_and_a_program_each_as_a_word() -> None:
    assert in_each_place([arg("sh"), arg("-c"), arg("run {}")], "{}", ["a", "b"])[2] == "run a\nrun b"
    assert in_each_place([arg("rm"), arg("{}")], "{}", ["a", "b"])[1:] == ["a", "b"]


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
