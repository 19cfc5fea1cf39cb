"""The seal of what a CLI printed goes with its end, and what it printed with it."""

from pathlib import Path

from supervisor.runtime.protection.outputs import SEAL_NAME, new_seal, remove_printed, seal_of


def test_the_key_of_a_launch_is_made_again_of_its_salt(tmp_path: Path) -> None:
    seal = new_seal(b"k" * 32)
    assert seal_of(tmp_path, b"k" * 32) == b""
    (tmp_path / SEAL_NAME).write_text(seal.salt)
    assert seal_of(tmp_path, b"k" * 32) == seal.key
    assert seal_of(tmp_path, b"x" * 32) != seal.key
    assert new_seal(b"k" * 32).key != seal.key


def test_what_was_printed_goes_if_it_was_sealed_and_stays_if_not(tmp_path: Path) -> None:
    for name in ("out.log", "err.log", "exit.json"):
        (tmp_path / name).write_text("x")
    assert not remove_printed(tmp_path)
    (tmp_path / SEAL_NAME).write_text(new_seal(b"k").salt)
    assert remove_printed(tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["exit.json"]
