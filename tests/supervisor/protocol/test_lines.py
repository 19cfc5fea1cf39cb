from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.protocol.lines import HEAD_BYTES, Line, LineSplitter, OversizedLine

CAP = 8

STREAMS = st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b" ", b"\x00", b"\xff", b"12345678", b"123456789"])).map(
    b"".join
)


def split(stream: bytes, cuts: list[int], offset: int = 0, max_bytes: int = CAP) -> list[Line | OversizedLine]:
    """Feed the stream in pieces, and return every line with what came after the last newline."""
    splitter = LineSplitter(offset, max_bytes)
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    lines = [line for start, end in pairwise(edges) for line in splitter.feed(stream[start:end])]
    last = splitter.finish()
    return lines if last is None else [*lines, last]


@given(STREAMS, st.lists(st.integers(0, 200)))
def test_any_chunking_gives_the_same_lines_and_offsets(stream: bytes, cuts: list[int]) -> None:
    assert split(stream, cuts) == split(stream, [])


@given(STREAMS, st.integers(0, 1 << 50))
def test_lines_are_what_stands_between_newlines_and_cover_the_stream(stream: bytes, offset: int) -> None:
    lines = split(stream, [], offset)
    pieces = stream.split(b"\n")
    pieces = pieces if pieces[-1] else pieces[:-1]
    assert [line.data if isinstance(line, Line) else None for line in lines] == [
        piece if len(piece) <= CAP else None for piece in pieces
    ]
    assert [line.start for line in lines] == [offset, *(line.end for line in lines)][: len(lines)]
    assert lines[-1].end == offset + len(stream) if lines else not stream


@given(STREAMS, st.integers(0, 20))
def test_reading_resumes_at_the_offset_without_loss_or_doubling(stream: bytes, feeds: int) -> None:
    first = LineSplitter(0, CAP)
    before = list(first.feed(stream[:feeds]))
    after = split(stream[first.offset :], [], first.offset)
    assert [*before, *after] == split(stream, [])


def test_a_line_at_the_cap_is_kept_and_one_byte_more_is_passed_over() -> None:
    assert split(b"12345678\n123456789\nok\n", []) == [
        Line(0, b"12345678", 9),
        OversizedLine(9, 19, b"123456789"),
        Line(19, b"ok", 22),
    ]


def test_an_oversized_line_is_not_held_in_memory() -> None:
    splitter = LineSplitter(0, CAP)
    for _ in range(1000):
        assert list(splitter.feed(b"x" * 100)) == []
    assert splitter._pending == []
    assert list(splitter.feed(b"\nok\n")) == [
        OversizedLine(0, 100_001, b"x" * HEAD_BYTES),
        Line(100_001, b"ok", 100_004),
    ]


def test_white_space_is_kept() -> None:
    assert split(b' {"a": 1}\r\n\n', [], max_bytes=100) == [Line(0, b' {"a": 1}\r', 11), Line(11, b"", 12)]


@pytest.mark.parametrize("chunk_bytes", [65_536, 1_000_003])
def test_a_line_of_16_megabytes_arrives_whole(chunk_bytes: int) -> None:
    data = b'{"text":"' + b"x" * (16 << 20) + b'"}'
    stream = data + b"\nnext\n"
    splitter = LineSplitter()
    chunks = (stream[start : start + chunk_bytes] for start in range(0, len(stream), chunk_bytes))
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    assert lines == [Line(0, data, len(data) + 1), Line(len(data) + 1, b"next", len(stream))]
    assert splitter.finish() is None
