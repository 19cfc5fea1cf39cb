"""Words that commands make of their input."""

import pytest

from monitors.review.shell.invocation import Input, arg
from monitors.review.shell.state.input_words import (
    MAX_TAKEN,
    in_each_place,
    option_values,
    read_options,
    read_values,
    split_for_xargs,
)


def read_into(words: str, text: str | None, separators: str = " \t\n") -> dict[str, list[str]]:
    taken = read_values(read_options([arg(word) for word in words.split()]), Input(text), [arg(separators)])
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
        ("-d, a", "one,two", {"a": ["one", "two"]}),
        ("-n 1 a", "one", {"a": ["o", "n", "e"]}),
        ("-n 1 a b", "one", {"a": ["$a"], "b": ["$b"]}),
        ("-t 0 a", "one", {"a": ["$a"]}),
        ("1a a", "one", {"a": ["$a"]}),
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


@pytest.mark.parametrize(
    ("words", "descriptor", "names"),
    [("-r -u 3 a", "3", ["a"]), ("-ru3 a b", "3", ["a", "b"]), ("-d u a", None, ["a"]), ("-p -u a", None, ["a"]), ("a -u 3", None, ["a"]), ("-u", None, ["REPLY"])],
)  # fmt: skip
def test_the_options_of_read_are_told_from_their_values(words: str, descriptor: str | None, names: list[str]) -> None:
    options = read_options([arg(word) for word in words.split()])
    assert (options.descriptor, options.names) == (descriptor, names)


@pytest.mark.parametrize(
    ("args", "positional", "taken"),
    [
        ("a:b o", "-a x -b", {"o": ["a", "b"], "OPTARG": ["x", ""]}),
        ("a: o", "-ax rest -a y", {"o": ["a"], "OPTARG": ["x"]}),
        ("ab: o", "-ab y", {"o": ["a", "b"], "OPTARG": ["", "y"]}),
        ("a: o -a z", None, {"o": ["a"], "OPTARG": ["z"]}),
        ("a: o", None, {"o": ["$o"], "OPTARG": ["$OPTARG"]}),
        ("a: o", "", {"o": ["?"], "OPTARG": [""]}),
        ("a: o", "-a", {"o": ["a"], "OPTARG": [""]}),
        ("a:", "", {}),
    ],
)
def test_getopts_takes_letters_and_their_values_in_turn(
    args: str, positional: str | None, taken: dict[str, list[str]]
) -> None:
    given = None if positional is None else [arg(word) for word in positional.split()]
    assert option_values([arg(word) for word in args.split()], given) == taken


def test_a_variable_that_is_named_twice_has_one_value_for_each_line() -> None:
    taken = read_values(read_options([arg(word) for word in ("x", "y", "x")]), Input("a b c\nd e f"), [arg(" ")])
    assert taken == {"x": ["c", "f"], "y": ["b", "e"]}


@pytest.mark.parametrize(("count", "pieces"), [("1", ["a", "b", "c"]), ("2", ["ab", "c"]), ("9", ["abc"])])
def test_a_read_of_so_many_characters_takes_a_line_piece_by_piece(count: str, pieces: list[str]) -> None:
    options = read_options([arg("-r"), arg("-n"), arg(count), arg("x")])
    assert read_values(options, Input("abc\n"), []) == {"x": pieces}


def test_a_read_of_so_many_characters_into_several_variables_or_none_is_not_known() -> None:
    for words in (["-n", "2", "x", "y"], ["-n", "0", "x"], ["-n", "$X", "x"]):
        options = read_options([arg(word, known="$" not in word) for word in words])
        assert not any(word.known for value in read_values(options, Input("a b\n"), []).values() for word in value)


@pytest.mark.parametrize("words", ["a", "a b", "-a a", "-d, a", "-n 1 a"])
def test_behind_the_values_that_a_read_takes_stands_one_that_may_be_anything(words: str) -> None:
    text = "x,y z\n" * (2 * MAX_TAKEN)
    taken = read_values(read_options([arg(word) for word in words.split()]), Input(text), [arg(" \t\n")])
    assert {len(values) for values in taken.values()} == {MAX_TAKEN + 1}
    assert {values[-1].known for values in taken.values()} == {False}
    assert all(value.known for values in taken.values() for value in values[:-1])
