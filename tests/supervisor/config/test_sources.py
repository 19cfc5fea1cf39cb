"""The places that a configuration may come from."""

from pathlib import Path

import pytest

from supervisor.config.sources import FILE_NAME, nothing_is_configured


def unconfigured(tmp_path: Path, environ: dict[str, str] | None = None, explicit: Path | None = None) -> bool:
    environ = {"HOME": str(tmp_path / "home"), **(environ or {})}
    return nothing_is_configured(environ, explicit, tmp_path / "etc" / FILE_NAME)


def test_where_there_is_no_file_and_no_variable_nothing_is_configured(tmp_path: Path) -> None:
    assert unconfigured(tmp_path, {"PATH": "/usr/bin"})


@pytest.mark.parametrize("place", [f"etc/{FILE_NAME}", f"home/.config/chaperon/{FILE_NAME}"])
def test_a_file_may_configure_something(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / place).write_text("")
    assert not unconfigured(tmp_path)


def test_a_file_that_is_named_is_for_its_reader_whether_it_is_there_or_not(tmp_path: Path) -> None:
    assert not unconfigured(tmp_path, explicit=tmp_path / "nosuch.yaml")


def test_a_variable_may_configure_something(tmp_path: Path) -> None:
    assert not unconfigured(tmp_path, {"CHAPERON_REVIEWER__ENABLED": "no"})


def test_a_file_that_cannot_be_looked_at_is_for_its_reader(tmp_path: Path) -> None:
    (tmp_path / "etc").symlink_to("etc")  # a ring, which the kernel refuses to follow
    assert not unconfigured(tmp_path)


def test_a_link_that_leads_nowhere_is_for_its_reader(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / FILE_NAME).symlink_to("nosuch")
    assert not unconfigured(tmp_path)
