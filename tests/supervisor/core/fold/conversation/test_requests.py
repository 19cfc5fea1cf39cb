"""A request waits until it was answered or withdrawn, with all that it waits for."""

from monitors.contract.actions import Action
from supervisor.core.fold.conversation.requests import Requests
from supervisor.core.observing.frames import Unread
from supervisor.protocol import events
from supervisor.protocol.claude.messages import CanUseTool
from tests.stages.session import ALLOW

QUESTION = CanUseTool("r1", "Bash", {"command": "ls"}, "u1")
ASKED = events.ApprovalAsked(
    agent="a1",
    at=0,
    mono=0,
    request_id="r1",
    action=Action("Bash", {}),
    review=ALLOW,
    why="it writes",
    deadline_seconds=300,
)
LATE = events.TimerFired(agent="a1", at=0, mono=0, name="approval:r1")


def test_a_request_that_is_over_leaves_nothing_behind() -> None:
    requests = Requests({"r1": QUESTION}, {"r1": ASKED})
    requests.remember(LATE)
    assert requests.overdue == {"r1"}
    assert requests.over("r1") is QUESTION
    assert requests == Requests()
    assert requests.over("r1") is None


def test_time_that_is_over_for_nobody_means_nothing() -> None:
    requests = Requests({"r1": QUESTION})
    requests.remember(LATE)
    assert not requests.overdue


def test_the_end_of_the_processes_clears_all() -> None:
    requests = Requests({"r1": QUESTION}, {"r1": ASKED}, unread=Unread("too large", "r2"))
    requests.clear()
    assert requests == Requests()
