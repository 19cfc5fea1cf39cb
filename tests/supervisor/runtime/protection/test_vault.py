"""Values in full are sealed, survive a crash, and are gone with their owner."""

from pathlib import Path

import pytest

from supervisor.runtime.protection.vault import Vault

VALUES = {b"mail:0123456789abcdef": b"anna@firma.de", b"card:0123456789abcdef": b"\xff\\u0000"}


def opened(state: Path, key: bytes = b"k" * 32) -> Vault:
    vault = Vault(state, key, b"names")
    vault.load()
    return vault


def test_values_come_back_by_their_owner_and_stand_nowhere_in_the_clear(tmp_path: Path) -> None:
    vault = opened(tmp_path)
    vault.keep("agent:a1", VALUES)
    vault.keep("agent:a2", {b"mail:ffffffffffffffff": b"otto@firma.de"})
    again = opened(tmp_path)
    assert again.of("agent:a1") == VALUES
    assert set(again.owners) == {"agent:a1", "agent:a2"}
    assert again.values() == {**VALUES, b"mail:ffffffffffffffff": b"otto@firma.de"}
    for path in vault.folder.iterdir():
        assert b"anna" not in path.read_bytes()
        assert "a1" not in path.name
        assert path.stat().st_mode & 0o777 == 0o600


def test_what_is_kept_already_is_not_written_again(tmp_path: Path) -> None:
    vault = opened(tmp_path)
    vault.keep("agent:a1", VALUES)
    size = vault.path_of("agent:a1").stat().st_size
    vault.keep("agent:a1", VALUES)
    opened(tmp_path).keep("agent:a1", VALUES)
    assert vault.path_of("agent:a1").stat().st_size == size


def test_the_values_of_an_owner_who_is_forgotten_are_gone(tmp_path: Path) -> None:
    vault = opened(tmp_path)
    vault.keep("agent:a1", VALUES)
    vault.keep("agent:a2", VALUES)
    assert vault.forget(["agent:a1", "agent:none"]) == ["agent:a1"]
    assert not vault.path_of("agent:a1").exists()
    assert opened(tmp_path).owners == ["agent:a2"]


def test_half_a_line_that_a_crash_left_loses_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    vault = opened(tmp_path)
    vault.keep("agent:a1", VALUES)
    path = vault.path_of("agent:a1")
    with path.open("ab") as file:
        file.write(path.read_bytes()[:40])
    again = opened(tmp_path)
    assert again.of("agent:a1") == VALUES
    again.keep("agent:a1", {b"mail:ffffffffffffffff": b"otto@firma.de"})
    assert opened(tmp_path).of("agent:a1") == {**VALUES, b"mail:ffffffffffffffff": b"otto@firma.de"}
    assert "stays masked" in caplog.text


@pytest.mark.parametrize("change", ["key", "owner"])
def test_what_is_sealed_opens_with_its_own_key_and_for_its_own_owner_alone(tmp_path: Path, change: str) -> None:
    vault = opened(tmp_path)
    vault.keep("agent:a1", VALUES)
    if change == "owner":
        vault.path_of("agent:a1").rename(vault.path_of("agent:a2"))
    assert not opened(tmp_path, b"x" * 32 if change == "key" else b"k" * 32).values()
