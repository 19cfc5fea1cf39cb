"""The key of the journal."""

from pathlib import Path

import pytest

from supervisor.runtime.journal.signing import Signing, SigningKeyError


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text("k" * 43 + "\n")
    path.chmod(0o600)
    return path


def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir(exist_ok=True)
    return folder


def test_the_first_start_makes_a_key_that_the_next_one_finds(tmp_path: Path) -> None:
    folder = state(tmp_path)
    assert Signing(folder).known() is None
    key = Signing(folder).begin(17, marked=False)
    assert (len(key.key), key.since) == (32, 17)
    assert Signing(folder).known() == key
    (note,) = folder.iterdir()
    assert note.stat().st_mode & 0o777 == 0o600


def test_a_key_that_is_gone_starts_nothing_until_a_person_believes_the_journal(tmp_path: Path) -> None:
    folder = state(tmp_path)
    with pytest.raises(SigningKeyError, match=r"note on its key is gone.*") as raised:
        Signing(folder).begin(17, marked=True)
    assert "chaperon trust --record --accept" in str(raised.value.way_out)
    key = Signing(folder).accept(17)
    assert Signing(folder).known() == key


def test_a_configured_key_is_not_kept_in_the_state_directory(tmp_path: Path, outside: Path) -> None:
    folder = state(tmp_path)
    key = Signing(folder, f"file:{outside}").begin(0, marked=False)
    assert key.key == b"k" * 43
    assert b"kkkk" not in b"".join(path.read_bytes() for path in folder.iterdir())
    assert Signing(folder, "systemd:key", str(outside.parent)).known() == key


def test_lines_without_a_note_are_not_taken_for_old_ones_where_a_key_is_configured(
    tmp_path: Path, outside: Path
) -> None:
    with pytest.raises(SigningKeyError, match="Nothing says that the 17 lines"):
        Signing(state(tmp_path), f"file:{outside}").begin(17, marked=False)


def test_another_key_starts_nothing(tmp_path: Path, outside: Path) -> None:
    folder = state(tmp_path)
    Signing(folder, f"file:{outside}").begin(0, marked=False)
    outside.write_text("l" * 43)
    with pytest.raises(SigningKeyError, match="signed with the key"):
        Signing(folder, f"file:{outside}").known()


def test_a_note_that_takes_in_more_lines_is_not_believed(tmp_path: Path, outside: Path) -> None:
    folder = state(tmp_path)
    Signing(folder, f"file:{outside}").begin(0, marked=False)
    (note,) = folder.iterdir()
    note.write_text(note.read_text().replace('"since":0', '"since":99'))
    with pytest.raises(SigningKeyError):
        Signing(folder, f"file:{outside}").known()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"since":0,"id":"","mark":"","key":"zz"}', b"\xff"])
def test_a_note_that_cannot_be_read_starts_nothing(tmp_path: Path, content: bytes) -> None:
    folder = state(tmp_path)
    (folder / "signing.json").write_bytes(content)
    with pytest.raises(SigningKeyError, match="cannot be read"):
        Signing(folder).known()


def test_a_key_that_others_read_that_is_short_or_that_is_not_there_is_refused(tmp_path: Path, outside: Path) -> None:
    signing = Signing(state(tmp_path), f"file:{outside}")
    outside.chmod(0o644)
    with pytest.raises(SigningKeyError, match="can be read by others"):
        signing.begin(0, marked=False)
    outside.chmod(0o600)
    outside.write_text("short")
    with pytest.raises(SigningKeyError, match="at least 16"):
        signing.begin(0, marked=False)
    outside.unlink()
    with pytest.raises(SigningKeyError, match="cannot be read from"):
        signing.begin(0, marked=False)
    with pytest.raises(SigningKeyError, match="was given no credentials by systemd"):
        Signing(tmp_path / "state", "systemd:key").begin(0, marked=False)
