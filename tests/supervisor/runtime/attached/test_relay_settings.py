"""The settings of the relay: kept, signed with, and removed."""

from pathlib import Path

import pytest

from supervisor.runtime.attached import relay_settings


def test_port_and_key_outlive_the_daemon_and_its_socket_may_change(tmp_path: Path) -> None:
    first = relay_settings.write(tmp_path, Path("/run/one"))
    second = relay_settings.write(tmp_path, Path("/run/two"))
    assert (first.port, first.key) == (second.port, second.key)
    assert relay_settings.read(tmp_path) == second
    assert second.socket == "/run/two"


def test_who_attaches_again_has_the_port_and_the_key_of_before(tmp_path: Path) -> None:
    first = relay_settings.write(tmp_path, Path("/run/one"))
    relay_settings.remove(tmp_path)
    assert relay_settings.read(tmp_path) is None
    assert relay_settings.write(tmp_path, Path("/run/one")) == first
    assert relay_settings.read(tmp_path) == first


def test_its_files_are_this_users_alone(tmp_path: Path) -> None:
    relay_settings.write(tmp_path / "attached", Path("/run/one"))
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "attached").iterdir()} == {0}


def test_a_token_says_its_subject_and_a_changed_one_says_nothing(tmp_path: Path) -> None:
    found = relay_settings.write(tmp_path, Path("/run/one"))
    token = found.token("p-12-34")
    assert found.subject(token) == "p-12-34"
    for forged in ("", ".", token.replace("12", "13"), token[:-1], f"{token}0", "é.é"):
        assert found.subject(forged) == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"port": "x", "key": "", "socket": ""}',
        '{"port": 1}',
        '{"port": 70000, "key": "00", "socket": ""}',
        '{"port": 1e999, "key": "00", "socket": ""}',
        '{"port": 1000, "key": "no key", "socket": ""}',
    ],
)
def test_settings_that_cannot_be_read_are_none(tmp_path: Path, text: str) -> None:
    (tmp_path / relay_settings.NAME).write_text(text)
    assert relay_settings.read(tmp_path) is None
