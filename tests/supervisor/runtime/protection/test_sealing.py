"""What is sealed is opened by its key, about the same, and by nothing else."""

import pytest

from supervisor.runtime.protection.sealing import Sealer

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
