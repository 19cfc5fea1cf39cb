"""A line of the CLI: the message in it, or what is known of one that cannot be read."""

from dataclasses import dataclass

from monitors.contract.errors import FrameError
from supervisor.protocol.claude import messages
from supervisor.protocol.events import LinePassedOver, LineReceived

TOO_LARGE = "This call is too large to be reviewed, so it was not run. Do it in smaller steps."


@dataclass(frozen=True, slots=True)
class Unread:
    """A line that cannot be read, with the request in it that waits for an answer, if there is one."""

    problem: str
    request_id: str | None
    permission: bool = False
    """Whether the request is a `can_use_tool`, which is answered in another form than a hook."""


def read(event: LineReceived | LinePassedOver) -> messages.Message | Unread | None:
    """Parse the line; `Unread` for a request that cannot be parsed but must be answered, None for anything else.

    A line that is too long or too deep to be read is passed over unless it is a request.
    """
    if isinstance(event, LinePassedOver):
        return _too_large(event.request_id)
    if event.frame is None:
        return _too_large(messages.request_id_of((event.text or "").encode(errors="replace")))
    try:
        return messages.parse_frame(event.frame)
    except FrameError as error:
        return Unread(str(error), error.request_id, error.kind.endswith("can_use_tool"))


def _too_large(request_id: str | None) -> Unread | None:
    return None if request_id is None else Unread(TOO_LARGE, request_id)
