"""What is sealed is opened by its key, about the same, and by nothing else."""

import base64
import os

import pytest

from supervisor.runtime.protection.sealing import NONCE_BYTES, Sealer

KEY = b"k" * 32


def test_what_is_sealed_comes_back_and_is_sealed_differently_each_time() -> None:
    sealer = Sealer(KEY)
    first, second = sealer.seal(b"plain", b"about"), sealer.seal(b"plain", b"about")
    assert first != second
    assert [Sealer(KEY).open(each, b"about") for each in (first, second.decode())] == [b"plain", b"plain"]


@pytest.mark.parametrize("text", [b"", b"AAAA", b"no base64!", "caf\u00e9", b"A" * 80])
def test_what_was_not_sealed_is_refused(text: bytes | str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Sealer(KEY).open(text, b"about")


def test_another_key_and_another_place_open_nothing() -> None:
    sealed = Sealer(KEY).seal(b"plain", b"about")
    for key, about in ((b"o" * 32, b"about"), (KEY, b"other")):
        with pytest.raises(ValueError, match="not what was sealed"):
            Sealer(key).open(sealed, about)


def nonce_of(sealed: bytes) -> bytes:
    return base64.b64decode(sealed)[:NONCE_BYTES]


def test_no_number_of_a_seal_comes_twice_also_not_in_a_process_that_was_forked() -> None:
    sealers = Sealer(b"k" * 32), Sealer(b"k" * 32)
    before = [nonce_of(each.seal(b"x", b"")) for each in sealers]
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        for each in sealers:
            os.write(writing, each.seal(b"x", b"") + b"\n")
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        forked = [nonce_of(line) for line in pipe.read().split()]
    os.waitpid(child, 0)
    after = [nonce_of(each.seal(b"x", b"")) for each in sealers for _ in range(100)]
    assert (len(forked), len({*before, *forked, *after})) == (2, 204)
