"""Progress in a command."""

import socket
from typing import Any, cast

import pytest

from supervisor.cli.client import Client, Wait
from supervisor.cli.output.progress import QUIET_SECONDS, Shower, post_long, shown


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def mono(self) -> float:
        return self.now


def test_where_no_terminal_is_few_lines_come_and_fewer_with_time(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    report = Shower(on_terminal=False, clock=clock).report("replaying", "", "MiB")
    for second in range(121):
        clock.now = float(second)
        report(second, 1_000)
    told = capsys.readouterr().err.splitlines()
    assert [line.split(" of ")[0] for line in told] == [f"replaying: {at}" for at in (2, 5, 10, 20, 30, 60, 90, 120)]
    assert told[-1] == "replaying: 120 of 1,000 MiB, 12 %, 14 min 40 s left"
    assert list(QUIET_SECONDS) == [2, 5, 10, 20, 30]


def test_on_a_terminal_one_line_is_drawn_over_and_taken_away(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    shower = Shower(on_terminal=True, clock=clock)
    report = shower.report("restoring", "a1\x1b[31m", "file")
    report(1, 10)
    assert capsys.readouterr().err == "", "what is soon over is not drawn"
    for clock.now in (1.0, 1.05, 2.0):
        report(5, 10)
    shower.end()
    drawn = capsys.readouterr().err
    assert drawn.count("restoring a1") == 2
    assert "\x1b[31m" not in drawn
    assert drawn.endswith("\r\x1b[K")


def test_quiet_work_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with shown("replaying", "", "MiB", quiet=True) as report:
        report(1, 2)
    assert capsys.readouterr().err == ""


class AskedDaemon:
    """Answers how far it is, and then what was asked."""

    def __init__(self, *work: dict[str, Any]) -> None:
        self.answering, self.asking = socket.socketpair()
        self._work = work

    def get(self, path: str) -> list[dict[str, Any]]:
        assert path == "/v1/work"
        self.answering.sendall(b"done")
        return list(self._work)

    def post(self, path: str, body: object, *, seconds: None, wait: Wait) -> bytes:
        assert (path, body) == ("/v1/agents/a1/forget", {})
        wait(self.asking, seconds)
        return self.asking.recv(4)


RESTORING = {"what": "restoring", "subject": "a1", "unit": "file", "done": 1, "total": 4, "seconds": 0.0}


@pytest.mark.parametrize(
    ("work", "shows"), [((), "forgetting a1, for "), ((RESTORING,), "restoring a1: 1 of 4 files, 25 %")]
)
def test_what_a_daemon_was_asked_for_is_shown_by_itself_if_the_daemon_does_not_say_how_far_it_is(
    work: tuple[dict[str, Any], ...],
    shows: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("supervisor.cli.output.progress.QUIET_SECONDS", (0.0, 3_600.0))
    monkeypatch.setattr("supervisor.cli.output.progress.ASKED_SECONDS", 0.01)
    monkeypatch.setattr("supervisor.cli.output.progress.UNTOLD_SECONDS", 0.0)
    daemon = AskedDaemon(*work)
    with daemon.asking, daemon.answering:
        assert post_long(cast("Client", daemon), "/v1/agents/a1/forget", {}, "forgetting", "a1") == b"done"
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith(shows)
