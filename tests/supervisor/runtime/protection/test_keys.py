"""The key is made once, found again, and its loss stops a start without changing anything."""

from pathlib import Path

import pytest

from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.credential import CredentialError
from supervisor.runtime.protection.keys import FINGERPRINT_NAME, KEY_NAME, ProtectionKey, ProtectionKeyError, load_key


def load(state: Path, wanted: str = "", **environ: str) -> ProtectionKey:
    return load_key(state, wanted, environ, Clock())


def test_the_first_start_draws_a_key_that_nobody_else_may_read_and_the_next_has_the_same(tmp_path: Path) -> None:
    first = load(tmp_path)
    assert (tmp_path / KEY_NAME).stat().st_mode & 0o777 == 0o600
    assert load(tmp_path).of("marks") == first.of("marks")
    assert first.of("marks") != first.of("vault")
    assert len(first.of("vault")) == 32
    assert first.fingerprint not in (tmp_path / KEY_NAME).read_text()


def test_a_key_may_come_from_a_file_a_command_or_systemd(tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    place.write_text("0123456789abcdef0123456789abcdef\n")
    place.chmod(0o600)
    state = tmp_path / "state"
    state.mkdir()
    named = load(state, f"file:{place}").of("marks")
    assert load(state, f"command:cat {place}").of("marks") == named
    assert load(state, "systemd:elsewhere", CREDENTIALS_DIRECTORY=str(tmp_path)).of("marks") == named
    assert not (state / KEY_NAME).exists()
    with pytest.raises(CredentialError, match="cannot be read"):
        load(state, f"file:{tmp_path}/none")


@pytest.mark.parametrize("loss", ["gone", "another", "empty", "open", "fingerprint"])
def test_a_lost_key_is_told_and_nothing_is_changed(tmp_path: Path, loss: str) -> None:
    known = load(tmp_path).fingerprint
    path = tmp_path / KEY_NAME
    match loss:
        case "gone":
            path.unlink()
        case "another":
            path.write_text("f" * 64)
        case "empty":
            path.write_text("")
        case "open":
            path.chmod(0o644)
        case _:
            (tmp_path / FINGERPRINT_NAME).write_text("{")
    before = {each: each.read_bytes() for each in tmp_path.iterdir() if each.is_file()}
    with pytest.raises(ProtectionKeyError) as error:
        load(tmp_path)
    assert error.value.way_out
    assert known in error.value.what or loss in ("empty", "open", "fingerprint")
    assert {each: each.read_bytes() for each in tmp_path.iterdir() if each.is_file()} == before


def test_a_short_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProtectionKeyError, match="16 are the least"):
        load(tmp_path, "command:echo short")
