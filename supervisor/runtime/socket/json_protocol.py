"""HTTP whose own error answers are JSON, as those of the routes are."""

import h11
import orjson
from uvicorn.protocols.http.h11_impl import H11Protocol


class JsonProtocol(H11Protocol):
    """The HTTP protocol of the socket: bytes that are no HTTP are answered with an `ErrorResponse`."""

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that cannot be read, and close: the next request could not be separated from them."""
        if self.conn.our_state is h11.IDLE or self.conn.our_state is h11.SEND_RESPONSE:
            what = f"The request is no HTTP/1.1 that can be read ({msg.rstrip('.')}). Nothing was done."
            body = orjson.dumps({"kind": "Usage", "what": what, "way_out": "See /openapi.json."})
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(body)),
                (b"connection", b"close"),
            ]
            for event in (
                h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
