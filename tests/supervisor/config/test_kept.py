"""What a configuration came to, kept for the commands that follow, and what makes it be checked anew."""

import os
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from supervisor.config.kept import KeptPart

PART = {"threshold": 0.5, "names": ["a"]}


class Place:
    """A user's configuration and the file of what was kept of it."""

    def __init__(self, base: Path) -> None:
        self.environ = {"HOME": str(base / "home")}
        self.file = base / "home/.config/chaperon/chaperon.yaml"
        self.file.parent.mkdir(parents=True)
        self.file.write_text("reviewer: {risk_threshold: 0.5}\n")
        self.kept = base / "kept.json"
        self.explicit: Path | None = None

    def part(self) -> KeptPart:
        return KeptPart(self.kept, self.environ, self.explicit, self.file.with_name("none"))

    def read(self) -> object:
        return self.part().read(self.part().mark())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.part().write(place.part().mark(), PART)
    return place


def test_what_was_kept_is_read_while_nothing_has_changed(place: Place) -> None:
    assert place.read() == PART
    assert place.kept.stat().st_mode & 0o777 == 0o600


def text(place: Place) -> None:
    place.file.write_text("reviewer: {risk_threshold: 0.6}\n")


def variable(place: Place) -> None:
    place.environ["CHAPERON_REVIEWER__ENABLED"] = "no"


def home(place: Place) -> None:
    place.environ = {"HOME": "/elsewhere", "XDG_CONFIG_HOME": str(place.file.parents[1])}


def explicit(place: Place) -> None:
    place.explicit = place.file.with_name("more.yaml")
    place.explicit.write_text("{}")


def gone(place: Place) -> None:
    place.file.unlink()


def writable(place: Place) -> None:
    place.file.chmod(0o666)


def pipe(place: Place) -> None:
    place.file.unlink()
    os.mkfifo(place.file)


@pytest.mark.parametrize("change", [text, variable, home, explicit, gone, writable, pipe])
def test_a_source_that_changed_is_checked_anew(place: Place, change: Callable[[Place], None]) -> None:
    change(place)
    assert place.read() is None


def test_code_that_changed_checks_anew(place: Place) -> None:
    kept = orjson.loads(place.kept.read_bytes())
    assert any(name.endswith("supervisor/config/kept.py") for name in kept["code"])
    for name, was in ((str(place.file), [1, 2]), (str(place.file.with_name("removed.py")), [1, 2])):
        place.kept.write_bytes(orjson.dumps({**kept, "code": {**kept["code"], name: was}}))
        assert place.read() is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"1", b'{"mark": 1}', b"\xff", b'{"code": [], "part": []}'])
def test_what_is_no_kept_part_is_passed_over(place: Place, content: bytes) -> None:
    place.kept.write_bytes(content)
    assert place.read() is None


def test_a_file_that_others_could_have_written_counts_for_nothing(place: Place) -> None:
    place.kept.chmod(0o620)
    assert place.read() is None


def test_a_link_counts_for_nothing(place: Place) -> None:
    place.kept.rename(place.kept.with_name("target"))
    place.kept.symlink_to(place.kept.with_name("target"))
    assert place.read() is None


def test_nothing_is_kept_of_sources_that_changed_while_they_were_checked(place: Place) -> None:
    before = place.part().mark()
    text(place)
    place.part().write(before, {"threshold": 0.6})
    place.file.write_text("reviewer: {risk_threshold: 0.5}\n")
    assert place.read() == PART


def test_without_a_folder_nothing_is_kept(place: Place) -> None:
    place.kept = place.kept.parent / "missing" / "kept.json"
    place.part().write(place.part().mark(), PART)
    assert place.read() is None
