"""What a CLI prints is read with its key alone, at whatever place reading begins."""

import sys

import pytest

from supervisor.runtime.shim.seal import BLOCK_BYTES, Seal

SAID = bytes(range(256)) * 40


@pytest.mark.parametrize("offset", [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, 10 * BLOCK_BYTES + 7])
@pytest.mark.parametrize("size", [0, 1, BLOCK_BYTES, len(SAID)])
def test_what_was_sealed_in_one_piece_is_opened_in_any_other(offset: int, size: int) -> None:
    seal = Seal(b"k" * 32, "out.log")
    sealed = seal.apply(SAID[:size], offset)
    opened = b"".join(seal.apply(sealed[at : at + 100], offset + at) for at in range(0, size, 100))
    assert opened == SAID[:size]
    assert size < 2 or sealed != SAID[:size]


def test_another_key_file_or_place_seals_otherwise() -> None:
    text = b"write to anna@firma.de"
    made = {
        Seal(key, name).apply(text, offset)
        for key, name, offset in (
            (b"a" * 32, "out.log", 0),
            (b"b" * 32, "out.log", 0),
            (b"a" * 32, "err.log", 0),
            (b"a" * 32, "out.log", 1),
            (b"", "out.log", 0),
        )
    }
    assert len(made) == 5
    assert text in made
    assert not Seal(b"", "out.log")


def test_it_is_the_stream_of_the_standard() -> None:
    import hashlib

    sealed = Seal(b"k" * 32, "out.log").apply(bytes(16), BLOCK_BYTES)
    assert sealed == hashlib.shake_256(b"k" * 32 + b"out.log\0" + (1).to_bytes(8, "little")).digest(16)
    assert "_sha3" in sys.modules
