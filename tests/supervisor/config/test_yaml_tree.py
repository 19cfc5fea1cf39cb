import pytest

from supervisor.config.yaml_tree import YamlError, YamlProblem, parse

TEXT = """\
a: &a
  x: 1
b:
  <<: *a
  y: [10, {z: deep}]
"""


@pytest.mark.parametrize(
    ("path", "of_value", "of_key"),
    [
        (("a", "x"), (2, 6), (2, 3)),
        (("b",), (4, 3), (3, 1)),
        (("b", "x"), (2, 6), (2, 3)),
        (("b", "y", 1, "z"), (5, 15), (5, 12)),
        (("b", "missing"), (4, 3), (3, 1)),
        ((), (1, 1), (1, 1)),
    ],
)
def test_every_value_and_key_knows_where_it_stands(
    path: tuple[str | int, ...], of_value: tuple[int, int], of_key: tuple[int, int]
) -> None:
    document = parse(TEXT)
    assert document.place(path) == of_value
    assert document.place(path, of_key=True) == of_key


def test_the_value_is_plain() -> None:
    assert parse(TEXT).value == {"a": {"x": 1}, "b": {"x": 1, "y": [10, {"z": "deep"}]}}
    assert parse("").value is None


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        *((word, word) for word in ("on", "Off", "YES", "no", "y", "n", "2026-13-45", "12:30", "1:30.5", "=", "123e456", "08", "010", "0600")),
        ("true", True), ("False", False), ("TRUE", True), ("null", None), ("~", None), ("", None), ("NULL", None),
        ("0", 0), ("-7", -7), ("1_000", 1_000), ("0x1F", 31), ("0b11", 3),
        ("0.5", 0.5), (".5", 0.5), ("1.", 1.0), ("-1.5e3", -1_500.0), (".inf", float("inf")),
    ],
)  # fmt: skip
def test_a_plain_scalar_is_what_yaml_1_2_reads_and_as_a_key_too(scalar: str, value: object) -> None:
    read = parse(f"a: {scalar}").value["a"]
    assert (read, type(read)) == (value, type(value))
    if isinstance(value, str):
        assert parse(f"{scalar}: 1").value == {value: 1}


def test_every_doubled_key_is_told_with_the_line_of_the_first() -> None:
    with pytest.raises(YamlError) as caught:
        parse("a: 1\nb: {c: 1, c: 2}\na: 2\n")
    assert caught.value.flaws == (
        YamlProblem(3, 1, "the key 'a' is already set in line 1; keep one of the two"),
        YamlProblem(2, 11, "the key 'c' is already set in line 2; keep one of the two"),
    )


def aliases(levels: int, item: str) -> str:
    """Values of nine aliases each of the ones before: nine times as many on each level."""
    row = ", ".join
    lines = [f"a0: &a0 [{row(['x'] * 9)}]"]
    lines += [f"a{level}: &a{level} [{row([item % (level - 1)] * 9)}]" for level in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("item", ["*a%d", "{k: *a%d}", "{? [*a%d] : v}"])
def test_aliases_of_aliases_that_no_reader_could_take_are_refused_with_the_place(item: str) -> None:
    with pytest.raises(YamlError, match="aliases repeat more than 100,000 values here") as caught:
        parse(aliases(12, item))
    assert [flaw.line for flaw in caught.value.flaws] == [6]
    merged = "a0: &a0 {x: 1, y: 2}\n" + "\n".join(
        f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 9)}]}}" for level in range(1, 12)
    )
    with pytest.raises(YamlError, match="aliases repeat more than"):
        parse(merged)


@pytest.mark.slow
def test_many_values_that_are_written_and_some_that_are_repeated_are_taken() -> None:
    assert len(parse("[" + "x, " * 120_000 + "x]").value) == 120_001
    assert len(parse(aliases(4, "*a%d")).value["a3"]) == 9


def test_a_key_that_overrides_a_merged_one_is_no_double() -> None:
    assert parse("a: &a {x: 1}\nb: {<<: *a, x: 2}").value["b"] == {"x": 2}
