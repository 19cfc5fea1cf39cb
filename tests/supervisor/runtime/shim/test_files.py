"""Files that are there whole or not at all."""

import json
from pathlib import Path

import pytest

from supervisor.runtime.shim.files import log, write_whole


def test_a_file_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_whole("a.json", {"n": 1})
    write_whole("a.json", {"n": 2})
    assert json.loads((tmp_path / "a.json").read_text()) == {"n": 2}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "home"]


def test_a_write_that_fails_leaves_the_earlier_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_whole("a.json", {"n": 1})
    (tmp_path / "a.json.tmp").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        write_whole("a.json", {"n": 2})
    assert json.loads((tmp_path / "a.json").read_text()) == {"n": 1}


def test_a_log_line_has_its_time(capfd: pytest.CaptureFixture[str]) -> None:
    log("something happened")
    at, _, text = capfd.readouterr().err.partition(" ")
    assert text == "something happened\n"
    assert at.endswith("Z")
