"""Charts as SVG."""

from supervisor.cli.output.charts import ChartMark, bar_chart, line_chart

HOSTILE = "<script>alert(1)</script>"


def test_bars_have_their_figures_in_words_and_none_is_drawn_of_nothing() -> None:
    drawn = str(bar_chart("Cost", [("mon", 1.0, "$1.00"), ("tue", 0.0, "$0.00")]))
    assert 'aria-label="Cost: mon: $1.00"' in drawn
    assert drawn.count("<rect") == 2
    month = str(bar_chart("Cost", [(f"11-{day:02}", 1.0, "$1.00") for day in range(1, 31)]))
    assert month.count("<text") - month.count('class="wide"') == 8, "few enough for a phone"
    assert bar_chart("Cost", [("mon", 0.0, "$0.00")]) is None
    assert bar_chart("Cost", []) is None


def test_a_line_says_its_last_and_its_highest_value_and_holds_a_value_until_the_next() -> None:
    drawn = str(line_chart("Memory", [(0.0, 10.0), (30.0, 40.0), (60.0, 20.0)], lambda value: f"{value:g} MiB"))
    assert 'aria-label="Memory: 20 MiB at last, at most 40 MiB, over 1 min"' in drawn
    assert 'd="M0.0 66.0H150.0V18.0H300.0V50.0"' in drawn


def test_a_limit_is_drawn_if_it_is_near_and_marks_only_if_they_are_within() -> None:
    points = [(0.0, 10.0), (60.0, 20.0)]
    marks = [ChartMark(30.0, HOSTILE), ChartMark(90.0, "later")]
    near = str(line_chart("Context", points, str, marks=marks, most=30.0))
    assert 'class="limit"' in near
    assert near.count('class="mark"') == 1
    assert HOSTILE not in near
    assert 'class="limit"' not in str(line_chart("Context", points, str, most=1_000.0))


def test_nothing_is_drawn_of_one_point_or_of_zeros() -> None:
    assert line_chart("Memory", [(0.0, 10.0)], str) is None
    assert line_chart("Memory", [(0.0, 0.0), (1.0, 0.0)], str) is None
