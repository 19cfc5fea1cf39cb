"""A server on loopback that answers each hook with nothing: what an exchange by HTTP costs on this machine by itself.

usage: python -I -S bare_server.py ROOT. It says its port on its output, and ends as its input does.
"""

import socketserver
import sys
import threading


class Bare(socketserver.BaseRequestHandler):
    """One connection: hook after hook, read as ours reads them."""

    def handle(self) -> None:
        """Answer each hook."""
        from supervisor.runtime.attached.http_messages import Messages

        messages = Messages(self.request)
        while (head := messages.head()) is not None:
            messages.body(head.length)
            self.request.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")


if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Bare) as server:
        server.daemon_threads = True
        print(server.server_address[1], flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()
