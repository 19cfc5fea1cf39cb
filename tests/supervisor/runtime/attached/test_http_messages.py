"""Heads of messages, and messages of a socket that come in any pieces."""

import socket
import threading

import pytest

from supervisor.runtime.attached.http_messages import MOST_HEAD, HttpError, Messages, read_head

HEAD = b"POST /v1/hooks HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nX-Note:  a b\t"


def test_a_head_has_its_first_line_and_its_fields_by_name_in_lower_case() -> None:
    head = read_head(HEAD)
    assert head.first == ("POST", "/v1/hooks", "HTTP/1.1")
    assert head.fields == {"host": "x", "content-length": "2", "x-note": "a b"}
    assert (head.length, head.closes) == (2, False)


@pytest.mark.parametrize(
    ("fields", "length"),
    [
        ("content-length: 2\r\ncontent-length: 3", -1),
        ("content-length: 2\r\nContent-Length: 2", -1),
        ("content-length: 2\r\ntransfer-encoding: chunked", -1),
        ("content-length: -2", -1),
        ("content-length: +2", -1),
        ("content-length: 0x2", -1),
        ("content-length: 2, 2", -1),
        ("content-length: " + "9" * 5_000, -1),
        ("content-length: \xb2", -1),
        ("x: y", -1),
        ("content-length: 0", 0),
    ],
)
def test_a_length_that_could_be_read_in_two_ways_is_none(fields: str, length: int) -> None:
    assert read_head(f"POST / HTTP/1.1\r\n{fields}".encode("latin-1")).length == length


@pytest.mark.parametrize(
    "data",
    [b"", b"POST /", b"POST / FTP/1.1", b"POST / HTTP/1.1\r\n folded: x", b"POST / HTTP/1.1\r\nno colon",
     b"POST / HTTP/1.1\r\na b: c", b"POST / HTTP/1.1\r\n: c", b"POST / HTTP/1.1\r\na: \x1b[31m",
     b"POST / HTTP/1.1\r\na: b\nc: d", b"POST / HTTP/1.1\r\na: b\rc: d", b"POST / HTTP/1.1\r\na : b",
     b"\x16\x03\x01\x02\x00\x01"],
)  # fmt: skip
def test_what_is_no_head_is_refused_with_nothing_that_a_terminal_obeys(data: bytes) -> None:
    with pytest.raises(HttpError) as found:
        read_head(data)
    assert str(found.value).isprintable()
    assert len(str(found.value)) < 500


@pytest.mark.parametrize(
    ("head", "closes"),
    [("GET / HTTP/1.1\r\nconnection: Close", True), ("GET / HTTP/1.0\r\na: b", True), ("GET / HTTP/1.1\r\na: b", False),
     ("GET / HTTP/1.0\r\nconnection: keep-alive", False), ("HTTP/1.1 200 OK\r\nconnection: x, close", True)],
)  # fmt: skip
def test_whether_a_connection_serves_another_message_is_told(head: str, closes: bool) -> None:
    assert read_head(head.encode()).closes == closes


@pytest.mark.parametrize("piece", [1, 7, 1_000])
def test_messages_come_whole_in_whatever_pieces_they_were_sent(piece: int) -> None:
    data = HEAD + b"\r\n\r\n{}" + HEAD + b"\r\n\r\n[]"
    ours, theirs = socket.socketpair()

    def send() -> None:
        with theirs:
            for begin in range(0, len(data), piece):
                theirs.sendall(data[begin : begin + piece])

    thread = threading.Thread(target=send)
    thread.start()
    with ours:
        messages = Messages(ours)
        for body in (b"{}", b"[]"):
            head = messages.head()
            assert head is not None
            assert messages.body(head.length) == body
        assert messages.head() is None
    thread.join()


def test_a_message_that_is_cut_or_has_no_end_of_its_head_is_told_of() -> None:
    for sent, error in ((HEAD, EOFError), (b"x" * (MOST_HEAD + 70_000), HttpError)):
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1_000_000)
                theirs.sendall(sent)
            with pytest.raises(error):
                Messages(ours).head()
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            theirs.sendall(HEAD + b"\r\n\r\n{")
        messages = Messages(ours)
        assert messages.head() is not None
        with pytest.raises(EOFError):
            messages.body(2)
