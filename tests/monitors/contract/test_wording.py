import pytest

from monitors.contract.wording import counted, dollars, duration, size


@pytest.mark.parametrize(
    ("number", "words", "told"),
    [(0, ["path"], "0 paths"), (1, ["path"], "1 path"), (2_000, ["path"], "2,000 paths"), (1, ["entry", "entries"], "1 entry"),
     (2, ["entry", "entries"], "2 entries")],
)  # fmt: skip
def test_one_thing_is_one_thing_and_others_are_several(number: int, words: list[str], told: str) -> None:
    assert counted(number, *words) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.0003, "0.3 ms"), (0.0051, "5.1 ms"), (0.0894, "89 ms"), (1, "1.0 s"), (59.94, "59.9 s"), (60, "1 min"),
        (310, "5 min 10 s"), (3_600, "1 h"), (7_500, "2 h 5 min"), (86_400 * 3 + 4 * 3_600, "3 d 4 h"), (0, "0.0 ms"),
    ],
)  # fmt: skip
def test_a_time_is_told_in_the_units_that_tell(seconds: float, told: str) -> None:
    assert duration(seconds) == told


@pytest.mark.parametrize(
    ("number", "told"),
    [(0, "0 B"), (12, "12 B"), (4_300, "4.2 KiB"), (30 * 2**20, "30 MiB"), (2**31, "2.0 GiB"), (2**50, "1024.0 TiB")],
)
def test_an_amount_of_bytes_has_its_unit(number: int, told: str) -> None:
    assert size(number) == told


@pytest.mark.parametrize(("amount", "told"), [(0, "$0.00"), (0.016, "$0.016"), (0.52, "$0.52"), (1234.5, "$1,234.50")])
def test_money_has_its_currency(amount: float, told: str) -> None:
    assert dollars(amount) == told
