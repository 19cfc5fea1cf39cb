"""The key is made once, found again, and its loss stops a start without changing anything."""

from pathlib import Path

import orjson
import pytest

from supervisor.runtime.clock import Clock
from supervisor.runtime.gateway.credential import CredentialError
from supervisor.runtime.protection.keys import (
    FINGERPRINT_NAME,
    KEY_NAME,
    ProtectionKey,
    ProtectionKeyError,
    add_slot,
    load_key,
    named_key,
    rotate_keys,
)


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


# ── the slots of the ring ─────────────────────────────────────────────────────────────────────────────────────────────


def named(folder: Path, name: str, secret: str) -> str:
    """Write a key to a file, and name it as the configuration would."""
    path = folder / name
    path.write_text(secret + "\n")
    path.chmod(0o600)
    return f"file:{path}"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    made = tmp_path / "state"
    made.mkdir()
    return made


def encrypted(state: Path, wanted: str) -> ProtectionKey:
    return load_key(state, wanted, {}, Clock(), encrypts=True)


def test_encryption_draws_a_data_key_once_and_leaves_marks_and_seals_what_they_were(state: Path) -> None:
    one = named(state.parent, "one", "1" * 32)
    before = load(state, one).of("marks")
    first = encrypted(state, one)
    assert [len(each) for each in first.data] == [32]
    assert (encrypted(state, one).data, load(state, one).data) == (first.data, first.data)
    assert first.of("marks") == before
    assert first.data[0].hex() not in (state / FINGERPRINT_NAME).read_text()


def test_a_key_that_is_named_with_encryption_takes_the_place_of_the_drawn_one(state: Path) -> None:
    drawn, one = load(state), named(state.parent, "one", "1" * 32)
    before = (state / FINGERPRINT_NAME).read_bytes()
    with pytest.raises(ProtectionKeyError, match="is another") as error:
        load(state, one)
    assert "Set audit.encrypt with audit.key" in error.value.way_out
    assert ((state / FINGERPRINT_NAME).read_bytes(), (state / KEY_NAME).exists()) == (before, True)
    sealing = encrypted(state, one)
    assert sealing.of("marks") == drawn.of("marks")
    assert (encrypted(state, one).data, load(state, one).data) == (sealing.data, sealing.data)
    assert not (state / KEY_NAME).exists()


def test_a_drawn_key_that_a_crash_left_beside_encrypted_records_goes_at_the_next_start(state: Path) -> None:
    load(state)
    left, one = (state / KEY_NAME).read_bytes(), named(state.parent, "one", "1" * 32)
    encrypted(state, one)
    (state / KEY_NAME).write_bytes(left)
    encrypted(state, one)
    assert not (state / KEY_NAME).exists()


def test_the_named_key_is_changed_without_anything_being_written_anew(state: Path) -> None:
    one, two = named(state.parent, "one", "1" * 32), named(state.parent, "two", "2" * 32)
    first = encrypted(state, one)
    add_slot(state, named_key(one, {}, Clock()), named_key(two, {}, Clock()))
    second = encrypted(state, two)
    assert (second.data, second.of("marks")) == (first.data, first.of("marks"))
    note = rotate_keys(state, named_key(two, {}, Clock()))
    assert list(note.slots) == [second.fingerprint]
    third = encrypted(state, two)
    assert third.data[:1] == first.data
    assert len(third.data) == 2
    with pytest.raises(ProtectionKeyError, match="opens nothing"):
        encrypted(state, one)


def test_a_lost_key_is_told_and_the_recovery_key_opens_everything(state: Path) -> None:
    one, recovery = named(state.parent, "one", "1" * 32), named(state.parent, "recovery", "r" * 64)
    first = encrypted(state, one)
    add_slot(state, named_key(one, {}, Clock()), named_key(recovery, {}, Clock()), recovery=True)
    before = (state / FINGERPRINT_NAME).read_bytes()
    lost = named(state.parent, "another", "x" * 32)
    with pytest.raises(ProtectionKeyError, match="opens nothing") as error:
        encrypted(state, lost)
    assert "recovery key" in error.value.way_out
    assert "chaperon keys --add SOURCE" in error.value.way_out
    assert (state / FINGERPRINT_NAME).read_bytes() == before
    assert encrypted(state, recovery).data == first.data
    add_slot(state, named_key(recovery, {}, Clock()), named_key(lost, {}, Clock()))
    assert encrypted(state, lost).data == first.data


def test_who_names_no_key_any_more_is_not_told_to_move_away_what_opens_encrypted_records(state: Path) -> None:
    one = named(state.parent, "one", "1" * 32)
    first = encrypted(state, one)
    before = (state / FINGERPRINT_NAME).read_bytes()
    for encrypts in (False, True):
        with pytest.raises(ProtectionKeyError, match="names no key for their slots") as error:
            load_key(state, "", {}, Clock(), encrypts=encrypts)
        assert "Name in audit.key one that opens a slot" in error.value.way_out
        assert FINGERPRINT_NAME not in error.value.way_out
    (state / FINGERPRINT_NAME).write_text("{")
    with pytest.raises(ProtectionKeyError, match="is damaged") as damaged:
        load(state, one)
    assert "without it encrypted records cannot be read by anyone" in damaged.value.way_out
    (state / FINGERPRINT_NAME).write_bytes(before)
    assert encrypted(state, one).data == first.data
    assert not (state / KEY_NAME).exists()


def test_a_second_recovery_key_takes_the_place_of_the_first(state: Path) -> None:
    one = named(state.parent, "one", "1" * 32)
    encrypted(state, one)
    key = named_key(one, {}, Clock())
    add_slot(state, key, ProtectionKey(b"r1"), recovery=True)
    note = add_slot(state, key, ProtectionKey(b"r2"), recovery=True)
    assert list(note.slots) == [key.fingerprint, ProtectionKey(b"r2").fingerprint]


def test_a_damaged_slot_is_told_and_nothing_is_changed(state: Path) -> None:
    one = named(state.parent, "one", "1" * 32)
    fingerprint = encrypted(state, one).fingerprint
    path = state / FINGERPRINT_NAME
    read = orjson.loads(path.read_bytes())
    read["slots"][fingerprint] = read["slots"][fingerprint][:-8] + "AAAAAAA="
    path.write_bytes(orjson.dumps(read))
    before = path.read_bytes()
    with pytest.raises(ProtectionKeyError, match="cannot be opened"):
        encrypted(state, one)
    assert path.read_bytes() == before
