"""The base says from which record a journal goes on, or that it is damaged."""

from pathlib import Path

import pytest

from supervisor.runtime.journal.base import BASE_NAME, BaseDamagedError, JournalBase, read_base, write_base


def test_what_is_written_is_read_and_nothing_means_that_the_beginning_is_there(tmp_path: Path) -> None:
    assert read_base(tmp_path) is None
    write_base(tmp_path, JournalBase(131, "0f" * 16))
    assert read_base(tmp_path) == JournalBase(131, "0f" * 16)


@pytest.mark.parametrize("damage", [b"", b"{}", b"x" * 90])
def test_a_damaged_one_is_told(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / BASE_NAME).write_bytes(damage)
    with pytest.raises(BaseDamagedError, match="Nothing was changed"):
        read_base(tmp_path)
