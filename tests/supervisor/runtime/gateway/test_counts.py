"""The use of the model, kept for a gateway that follows one that was killed."""

from pathlib import Path

import pytest

from supervisor.runtime.gateway.counts import Counts, remove_others
from supervisor.runtime.gateway.messages import ModelUse


def test_what_was_kept_is_known_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "one.counts"
    counts = Counts(path)
    assert counts.known() == ModelUse()
    counts.keep(ModelUse(1, 2, 2**70, 4))
    counts.close()
    following = Counts(path)
    assert following.known() == ModelUse(1, 2, 2**64 - 1, 4)
    following.remove()
    assert not path.exists()


@pytest.mark.parametrize("data", [b"", b"x", b"x" * 31, b"x" * 33, b"x" * 10_000])
def test_a_damaged_file_counts_from_nothing(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "one.counts"
    path.write_bytes(data)
    counts = Counts(path)
    assert counts.known() == ModelUse()
    counts.close()


def test_files_of_agents_that_ended_are_removed(tmp_path: Path) -> None:
    for name in ("one.counts", "other.counts", "token"):
        (tmp_path / name).touch()
    remove_others(tmp_path, {"one"})
    assert {each.name for each in tmp_path.iterdir() if each.is_file()} == {"one.counts", "token"}
    remove_others(tmp_path / "none", set())
