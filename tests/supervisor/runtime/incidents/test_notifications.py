"""Channels: filters, storms, channels that fail, that never answer, and what they must never delay."""

import json
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest

from interventions.decisions import Incident
from monitors.contract.words import Severity
from supervisor.protocol.words import AgentState
from supervisor.runtime import parts
from supervisor.runtime.incidents import notifications
from supervisor.runtime.incidents.delivered import NAME
from supervisor.runtime.incidents.notifications import (
    DONE,
    MOST_SHOWN,
    MOST_WAITING,
    RESTS,
    STORM_MESSAGES,
    WAITS,
    ByApprise,
    ByDesktop,
    ByJournal,
    ChannelSettings,
    Notifications,
    SendError,
    body_of,
    is_urgent,
    title_of,
)
from supervisor.runtime.metrics.exposition import text
from tests.stages.daemon import Base, served, until
from tests.stages.house import bash, house


def incident(number: int = 1, severity: Severity = Severity.HIGH, type_: str = "disk_full", **more: Any) -> Incident:
    return Incident(
        f"i-{number}", 100.0 + number, "a1", type_, severity, f"Thing {number} happened.", "do this", **more
    )


class Post:
    """Takes messages, after refusing so many."""

    def __init__(self, refuses: int = 0) -> None:
        self.refuses = refuses
        self.sent: list[tuple[str, str]] = []
        self.attempts = 0

    def __call__(self, title: str, body: str, incidents: Sequence[Incident]) -> None:  # noqa: ARG002 - the protocol's
        self.attempts += 1
        if self.attempts <= self.refuses:
            raise SendError("not now")
        self.sent.append((title, body))


class Office:
    """Channels in a task group, and what came of them."""

    def __init__(self, *channels: ChannelSettings) -> None:
        self.faults: list[tuple[str, str, str]] = []
        self.counts: list[tuple[str, str]] = []
        self.notifications = Notifications(
            channels, lambda *what: self.faults.append(what), lambda *what: self.counts.append(what)
        )

    async def tell(self, *incidents: Incident, until: Callable[[], bool]) -> None:
        async with anyio.create_task_group() as tasks:
            self.notifications.start(tasks)
            for each in incidents:
                self.notifications.tell(each)
            with anyio.fail_after(60):
                while not until():
                    await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()


def channel(send: Any, name: str = "mail", **more: Any) -> ChannelSettings:
    return ChannelSettings(name, send, **{"group_seconds": 0.05, "backoff_seconds": (0.01, 0.01), **more})


async def test_after_many_messages_the_next_is_a_digest_and_what_is_urgent_waits_for_none() -> None:
    post = Post()
    office = Office(channel(post, group_seconds=0.0, digest_seconds=3_600.0))
    async with anyio.create_task_group() as tasks:
        office.notifications.start(tasks)
        for number in range(STORM_MESSAGES):
            office.notifications.tell(incident(number))
            await until(lambda: len(post.sent) == number + 1)  # noqa: B023 - awaited within the round
        for number in range(10, 20):
            office.notifications.tell(incident(number, Severity.HIGH, "disk_full" if number % 2 else "agent_failed"))
        await anyio.wait_all_tasks_blocked()
        assert len(post.sent) == STORM_MESSAGES, "the rest waits for the digest"
        assert not any(is_urgent(each) for each in office.notifications._channels[0].waiting)
        tasks.cancel_scope.cancel()
    quick = Post()
    hurried = Office(channel(quick, group_seconds=0.0, digest_seconds=0.1))
    many = [incident(number, Severity.HIGH, "disk_full" if number % 2 else "agent_failed") for number in range(10)]
    await hurried.tell(*many, until=lambda: bool(quick.sent))
    assert "In all: 5 agent_failed, 5 disk_full" in quick.sent[0][1]


async def test_a_critical_incident_and_an_action_that_waits_break_into_the_wait_for_a_digest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notifications, "URGENT_SECONDS", 0.05)
    for urgent in (incident(9, Severity.CRITICAL), incident(9, Severity.MEDIUM, WAITS)):
        post = Post()
        office = Office(channel(post, group_seconds=0.0, digest_seconds=3_600.0))
        office.notifications._channels[0].sent.extend([anyio.current_time()] * STORM_MESSAGES)
        await office.tell(incident(1), urgent, until=lambda: bool(post.sent))  # noqa: B023 - awaited within the round
        assert "Thing 1 happened" in post.sent[0][1]
        assert "Thing 9 happened" in post.sent[0][1]


def test_each_incident_has_a_link_to_where_a_person_can_act() -> None:
    told = body_of([incident(7), incident(8, Severity.MEDIUM, WAITS)], panel="http://127.0.0.1:8765/")
    assert "  http://127.0.0.1:8765/incidents/i-7" in told.splitlines()
    assert "  http://127.0.0.1:8765/agents/a1" in told.splitlines()
    assert "http" not in body_of([incident(7)])


def test_a_desktop_is_told_by_its_own_program_and_a_failure_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SendError, match="no program notify-send"):
        ByDesktop()("title", "body", [incident()])
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/told\necho "no desktop"; exit ${{CODE:-0}}\n')
    program.chmod(0o755)
    ByDesktop()("--title", "body", [incident(severity=Severity.CRITICAL)])
    assert (tmp_path / "told").read_text().splitlines() == [
        "--app-name=chaperon",
        "--urgency=critical",
        "--",
        "--title",
        "body",
    ]
    program.write_text("#!/bin/sh\necho no desktop\nexit 3\n")
    with pytest.raises(SendError, match="notify-send ended with 3: no desktop"):
        ByDesktop()("title", "body", [incident()])


async def test_people_are_told_of_an_agent_that_is_done_and_of_one_that_waits_to_be_told_more(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    post, silent = Post(), Post()
    kinds = channel(post, min_severity=Severity.CRITICAL), channel(silent, "silent", ends=False)
    monkeypatch.setattr(parts, "channels", lambda _config: list(kinds))
    base.cli("begin()\ndone()\nhear()\nsys.stdin.read()")
    async with served(base) as (daemon, _):
        await daemon.submit(base.submission(name="rests", keep_open=True), by="test")
        await until(lambda: any(f"{RESTS} (rests): Agent rests waits to be told more" in body for _, body in post.sent))
        base.plan("ls")
        await daemon.submit(base.submission(name="ends"), by="test")
        await until(lambda: any(f"{DONE} (ends): Agent ends is done" in body for _, body in post.sent))
    assert not any(DONE in body or RESTS in body for _, body in silent.sent)


async def test_a_storm_is_one_message_with_the_worst_first() -> None:
    post = Post()
    storm = [incident(number) for number in range(50)] + [incident(99, Severity.CRITICAL, "emergency_stop")]
    await Office(channel(post)).tell(*storm, until=lambda: bool(post.sent))
    ((title, body),) = post.sent
    assert title == f"chaperon on {socket.gethostname()}: critical emergency_stop (a1) and 50 more"
    assert body.startswith("critical emergency_stop (a1): Thing 99 happened.\n  do this\n")
    assert body.endswith(f"and {51 - MOST_SHOWN} more: chaperon incidents")


async def test_what_is_below_a_channels_severity_is_not_told_except_a_stop_where_it_is_asked_for() -> None:
    critical_only, of_stops = Post(), Post()
    office = Office(
        channel(critical_only, "pager", min_severity=Severity.CRITICAL),
        channel(of_stops, "mail", min_severity=Severity.CRITICAL, stops=True),
    )
    await office.tell(incident(1), incident(2, type_="emergency_stop"), until=lambda: bool(of_stops.sent))
    assert critical_only.attempts == 0
    assert "Thing 2" in of_stops.sent[0][1]
    assert "Thing 1" not in of_stops.sent[0][1]


async def test_an_action_that_waits_is_told_whatever_its_severity_and_not_if_it_was_answered_meanwhile() -> None:
    wanted, unwanted = Post(), Post()
    office = Office(
        channel(wanted, min_severity=Severity.CRITICAL, group_seconds=0.2),
        channel(unwanted, "silent", min_severity=Severity.CRITICAL, approvals=False),
    )
    for number in (1, 2):
        office.notifications.tell(incident(number, Severity.MEDIUM, WAITS))
    office.notifications.withdraw("i-1")
    await office.tell(until=lambda: bool(wanted.sent))
    ((_, body),) = wanted.sent
    assert "Thing 2" in body
    assert "Thing 1" not in body
    assert not unwanted.sent


def test_a_message_names_the_machine_the_task_and_where_it_is_worked_on() -> None:
    assert socket.gethostname() in title_of([incident()])
    body = body_of([incident(1), incident(2)], 0, lambda agent: f"Mend the test. (in /repo of {agent})")
    assert body.splitlines()[-1] == "a1: Mend the test. (in /repo of a1)"
    assert body.count("Mend the test.") == 1


async def test_a_message_that_is_not_taken_is_sent_again() -> None:
    post = Post(refuses=2)
    office = Office(channel(post))
    await office.tell(incident(), until=lambda: bool(post.sent))
    assert office.counts == [("mail", "retried"), ("mail", "retried"), ("mail", "sent")]
    assert office.faults == []


async def test_a_channel_that_stays_broken_is_one_incident_that_it_is_not_told_of_itself() -> None:
    post = Post(refuses=1_000)
    office = Office(channel(post))
    await office.tell(incident(), until=lambda: bool(office.faults))
    ((agent, type_, what),) = office.faults
    assert (agent, type_) == ("", "notification_failed")
    assert what == "Channel mail could not be told of 1 incident (i-1): not now"
    told_again = Incident("i-9", 1.0, "", type_, Severity.HIGH, what)
    assert not channel(post).wants(told_again)
    assert channel(post, "slack").wants(told_again)
    await office.tell(incident(2), until=lambda: len([each for each in office.counts if each[1] == "failed"]) == 2)
    assert len(office.faults) == 1


async def test_a_channel_that_never_answers_delays_no_other() -> None:
    let_go = threading.Event()

    def never(title: str, body: str, incidents: Sequence[Incident]) -> None:
        let_go.wait(20)

    post = Post()
    office = Office(channel(never, "slow", send_seconds=0.1, backoff_seconds=()), channel(post))
    try:
        await office.tell(incident(), until=lambda: bool(post.sent and office.faults))
    finally:
        let_go.set()
    assert "no answer within 0.1 s" in office.faults[0][2]


def test_telling_never_blocks_and_what_does_not_fit_is_counted() -> None:
    notifications = Notifications([channel(Post())], lambda *_: None)
    for number in range(MOST_WAITING + 7):
        notifications.tell(incident(number))
    waiting = notifications._channels[0]
    assert (len(waiting.waiting), waiting.left_out) == (MOST_WAITING, 7)
    assert title_of(list(waiting.waiting), 7).endswith(f"and {MOST_WAITING + 6} more")
    assert f"and {MOST_WAITING - MOST_SHOWN + 7} more" in body_of(list(waiting.waiting), 7)


def test_the_journal_gets_an_entry_with_fields_for_each_incident(tmp_path: Path) -> None:
    path = tmp_path / "journal.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(str(path))
        ByJournal(path)("title", "body", [incident(1, Severity.CRITICAL), incident(2)])
        entries = [journal.recv(65_536).decode().splitlines() for _ in range(2)]
    assert "PRIORITY=2" in entries[0]
    assert "CHAPERON_INCIDENT=i-1" in entries[0]
    assert "MESSAGE=disk_full: Thing 2 happened." in entries[1]


def test_no_line_break_of_an_incident_makes_a_field_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "journal.sock"
    forged = Incident("i-1", 1.0, "a1", "odd", Severity.LOW, "one\nPRIORITY=0\nCHAPERON_AGENT=other")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.bind(str(path))
        ByJournal(path)("title", "body", [forged])
        lines = journal.recv(65_536).decode().splitlines()
    assert [line for line in lines if line.startswith(("PRIORITY", "CHAPERON_AGENT"))] == [
        "PRIORITY=6",
        "CHAPERON_AGENT=a1",
    ]


def test_a_machine_without_a_journal_says_so(tmp_path: Path) -> None:
    with pytest.raises(SendError, match="takes nothing"):
        ByJournal(tmp_path / "none")("title", "body", [incident()])


@pytest.mark.filterwarnings("ignore:'imghdr':DeprecationWarning")  # by Python 3.11's own mail modules
def test_apprise_sends_to_a_real_service() -> None:
    pytest.importorskip("apprise", reason="the [notify] extra is not installed")
    received: list[dict[str, Any]] = []

    class Service(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:  # noqa: ARG002 - the base's
            return

    server = HTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    try:
        worst = [incident(1, Severity.LOW), incident(2, Severity.CRITICAL)]
        ByApprise(f"json://127.0.0.1:{server.server_port}")("the title", "the body", worst)
    finally:
        thread.join(10)
        server.server_close()
    assert (received[0]["title"], received[0]["message"]) == ("the title", "the body")
    assert received[0]["type"] == "failure"
    with pytest.raises(SendError, match="no service for an address that begins 'nonsense'"):
        ByApprise("nonsense://secret")("t", "b", [])


def test_without_apprise_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "apprise", None)
    with pytest.raises(SendError, match="-m pip install apprise"):
        ByApprise("json://127.0.0.1:1")("t", "b", [])


@pytest.mark.real_cli
async def test_a_channel_that_fails_delays_no_stop_and_is_counted(tmp_path: Path) -> None:
    channels = [{"name": "mail", "url": "nonsense://secret", "group_seconds": 0}]
    guarded = bash(f"echo x > {tmp_path}/state/journal/x")
    async with house(tmp_path, guarded, policy={"notify": {"channels": channels}}) as made:
        await made.submit()
        assert (await made.ended()).after is AgentState.STOPPED
        with anyio.fail_after(60):
            while 'chaperon_notifications_total{channel="mail",result="retried"}' not in text(made.daemon.metrics):
                await anyio.sleep(0.01)


async def test_what_was_not_sent_when_the_daemon_ended_is_sent_by_the_next(tmp_path: Path) -> None:
    """Sent at least once, in one message; what was sent before, and what came before the channel was there, is not."""
    post = Post()
    base = Base(tmp_path)
    base.cli("begin()\nraise SystemExit(3)")
    mail, slack = channel(post, group_seconds=3_600.0), channel(post, "slack", group_seconds=0.05)

    async def session(*channels: ChannelSettings, fails: bool = False) -> None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(parts, "channels", lambda _: channels)
            async with served(base) as (daemon, _):
                if fails:
                    await daemon.submit(base.submission(name=f"a{len(base.incidents())}"), by="test")
                    await until(lambda: bool(base.incidents()))
                else:
                    last = base.incidents()[-1]["seq"]
                    await until(lambda: json.loads((base.places.state / NAME).read_text())["mail"] == last)

    await session(mail, fails=True)
    assert post.sent == []
    await session(replace(mail, group_seconds=0.05), slack)
    ((title, _),) = post.sent
    assert title == f"chaperon on {socket.gethostname()}: high agent_failed (a0)"
