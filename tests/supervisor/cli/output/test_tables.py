import pytest

from supervisor.cli.output.tables import Column, table

COLUMNS = (Column("NAME"), Column("SIZE", right=True, spare=2), Column("AT", spare=1), Column("NOTE", most=60))

ROWS = [["a1", "7", "08:15", "short"], ["a-name-of-twenty-two-c", "12,000", "08:16", "a note " * 20]]


def test_columns_are_as_wide_as_their_longest_value() -> None:
    assert table(COLUMNS, ROWS[:1], 80) == ["NAME  SIZE  AT     NOTE", "a1       7  08:15  short"]
    head, first, second = table(COLUMNS, ROWS, 200)
    assert head.index("SIZE") + 4 == first.index("7") + 1 == second.index("12,000") + 6
    assert second.endswith("…")


@pytest.mark.parametrize("width", range(36, 120, 7))
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    assert max(map(len, table(COLUMNS, ROWS, width))) <= width


def test_what_can_be_spared_is_left_out_where_there_is_no_room() -> None:
    assert table(COLUMNS, ROWS, 48)[0].split() == ["NAME", "SIZE", "NOTE"]
    assert table(COLUMNS, ROWS, 40)[0].split() == ["NAME", "NOTE"]


def test_a_value_is_one_line_without_what_a_terminal_obeys() -> None:
    assert table(COLUMNS, [["a\x1b[2J\nb", "1", "x", "y"]], 80)[1].startswith("a [2J b")


def test_a_table_without_rows_is_its_head() -> None:
    assert table(COLUMNS, [], 80) == ["NAME  SIZE  AT  NOTE"]
