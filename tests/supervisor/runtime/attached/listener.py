"""A socket of hooks that answers as it is told, and the bytes of answers."""

import json
import socket
import threading
from pathlib import Path

PAYLOAD = json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Bash"}).encode()


def whole(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


class Listener:
    """Answers one connection after another with what it was given, and keeps what each asked."""

    def __init__(self, path: Path, *answers: bytes) -> None:
        self.asked: list[bytes] = []
        self.hung_up = threading.Event()
        """Set once the other end of the last connection closed it, without an answer."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen(8)
        self._thread = threading.Thread(target=self._serve, args=(answers,))
        self._thread.start()

    def _serve(self, answers: tuple[bytes, ...]) -> None:
        for answer in answers:
            connection = self._socket.accept()[0]
            with connection:
                asked = b""
                while PAYLOAD not in asked:
                    asked += connection.recv(65536)
                self.asked.append(asked)
                if answer == b"none":
                    connection.settimeout(30)
                    assert connection.recv(1) == b""
                    self.hung_up.set()
                else:
                    connection.sendall(answer)

    def close(self) -> None:
        self._thread.join(30)
        self._socket.close()
