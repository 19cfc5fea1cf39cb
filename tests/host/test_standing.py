"""What stands at a path that others name."""

import os
from pathlib import Path

import pytest

from host.standing import is_file, is_folder, is_there


def test_what_stands_there_is_told_with_links_followed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    for name in ("file", "pipe", "."):
        (tmp_path / f"to {name}").symlink_to(tmp_path / name)
        seen = [(is_there(path), is_file(path), is_folder(path)) for path in (tmp_path / name, tmp_path / f"to {name}")]
        assert seen == [(True, name == "file", name == ".")] * 2


@pytest.mark.parametrize("name", ["gone", "file/in", "a" * 300, "a/" * 3_000, "nul\0", "loop", "half\udc80", "\ud800"])
def test_a_path_of_which_nothing_can_be_said_names_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    assert not any(look(tmp_path / name) for look in (is_there, is_file, is_folder))
