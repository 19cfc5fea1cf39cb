"""The compiled program of hooks: made once, kept for those who use it, and never one that others could have changed."""

from pathlib import Path

import pytest

from supervisor.runtime.attached import launcher


def test_it_is_compiled_once_and_runs(tmp_path: Path) -> None:
    (tmp_path / "my folder").mkdir()
    path = launcher.built(tmp_path / "my folder")
    assert path is not None
    before = path.stat()
    assert launcher.built(path.parent) == path
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_one_that_others_can_change_or_that_does_not_run_is_made_anew(tmp_path: Path) -> None:
    path = launcher.built(tmp_path)
    assert path is not None
    whole = path.read_bytes()
    path.chmod(0o777)
    assert launcher.built(tmp_path) == path
    assert path.stat().st_mode & 0o777 == 0o700
    path.write_text("#!/bin/sh\nexit 7\n")
    assert launcher.built(tmp_path) == path
    assert path.read_bytes() == whole


def test_without_a_compiler_or_a_place_to_run_from_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert launcher.built(tmp_path / "no folder") is None
    monkeypatch.setattr(launcher, "PLACES", str(tmp_path))
    assert launcher.built(tmp_path) is None
    assert not list(tmp_path.glob("*hook*"))
