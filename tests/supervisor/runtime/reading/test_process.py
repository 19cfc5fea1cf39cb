"""The reading process: a real one, asked over a real channel."""

import json
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from monitors.contract.actions import Action, ReviewContext
from supervisor.config.model import Config
from supervisor.protocol.events import TimerFired
from supervisor.runtime.journal.journal import Journal
from supervisor.runtime.metrics.metrics import Counted, Metrics
from supervisor.runtime.reading.jobs import (
    FINISHED,
    Checkpoints,
    Events,
    FileProgress,
    Incidents,
    MetricsText,
    ReadJob,
    ReadPaths,
    Reviewing,
    send,
)
from supervisor.runtime.reading.reader import PROGRAM
from supervisor.runtime.reading.reviews import pickled

SECONDS = 60.0


@pytest.fixture
def places(tmp_path: Path) -> ReadPaths:
    journal, _ = Journal.open(tmp_path / "journal")
    for number in range(10):
        journal.append(TimerFired(agent="a1", at=0.0, mono=0.0, name=f"{number}"))
    journal.close()
    (tmp_path / "incidents.jsonl").write_bytes(b'{"id":"one"}\n')
    reviewer = pickled(Config(), ReviewContext())
    log, stores = tmp_path / "incidents.jsonl", tmp_path / "checkpoints"
    return ReadPaths(tmp_path / "journal", log, stores, reviewer, log_level=30, connections=2)


@contextmanager
def running(places: ReadPaths) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-I", "-c", PROGRAM, json.dumps(sys.path)]
        process = subprocess.Popen(command, stdin=theirs.fileno(), stderr=subprocess.PIPE)
    with ours, process:
        try:
            ours.settimeout(SECONDS)
            send(ours, places)
            send(ours, FileProgress(10, 1))
            yield process, ours
        finally:
            process.kill()


def ask(channel: socket.socket, wanted: object) -> socket.socket:
    peer, theirs = socket.socketpair()
    peer.settimeout(SECONDS)
    with theirs:
        send(channel, ReadJob(wanted, "1.0"), theirs.fileno())
    return peer


def read(peer: socket.socket) -> bytes:
    """All that comes until the end, without the head."""
    with peer:
        data = b""
        while part := peer.recv(100_000):
            data += part
    return data.split(b"\r\n\r\n", 1)[1]


def everything(*, follow: bool = False) -> Events:
    return Events(0, 10, follow=follow, agent=None, since=0.0)


def test_it_answers_each_on_its_own_connection_and_ends_with_the_channel(places: ReadPaths) -> None:
    with running(places) as (process, channel):
        events, incidents = ask(channel, everything()), ask(channel, Incidents(follow=False))
        assert len(read(events).splitlines()) == 10
        assert read(incidents) == b'{"id":"one"}\n'
        channel.close()
        assert process.wait(SECONDS) == 0


def test_what_costs_much_is_answered_beside_it(places: ReadPaths) -> None:
    with running(places) as (_, channel):
        assert read(ask(channel, Checkpoints(""))) == b'{"checkpoints":[],"problems":[]}'
        for command, decision in (("rm -rf /", "block"), ("ls", "allow"), ("x" * 5_000_000, "block")):
            answer = read(ask(channel, Reviewing.of(Action("Bash", {"command": command}))))
            assert json.loads(answer)["decision"] == decision, command[:20]


def test_metrics_of_one_moment_are_written_once_for_all_who_ask(places: ReadPaths) -> None:
    """Each text costs a look at every file of every store."""
    moment, later = (pickle.dumps(Counted(Metrics(), (), os.getpid() if one else os.getppid())) for one in (1, 0))
    with running(places) as (_, channel):
        first = read(ask(channel, MetricsText(moment)))
        with (places.journal / f"{11:020d}.jsonl").open("wb") as grown:
            grown.write(bytes(1_000_000))
        assert read(ask(channel, MetricsText(moment))) == first
        assert b"chaperon_journal_bytes" in first
        assert read(ask(channel, MetricsText(later))) != first


def test_those_who_follow_get_what_was_written_last_and_then_the_end(places: ReadPaths) -> None:
    with running(places) as (process, channel):
        following = ask(channel, everything(follow=True))
        journal, _ = Journal.open(places.journal)
        journal.append(TimerFired(agent="a1", at=0.0, mono=0.0, name="the last"))
        journal.close()
        send(channel, FileProgress(11, 1))
        channel.close()
        assert read(following).splitlines()[-1].startswith(b'{"n":11,')
        assert process.wait(SECONDS) == 0


def test_one_who_follows_and_hangs_up_is_told_of(places: ReadPaths) -> None:
    with running(places) as (_, channel):
        following = ask(channel, everything(follow=True))
        assert following.recv(10)
        following.close()
        assert channel.recv(1) == FINISHED


def test_more_than_it_takes_are_told_so_and_what_nobody_knows_ends_nobody(places: ReadPaths) -> None:
    with running(places) as (process, channel):
        held = [ask(channel, everything(follow=True)) for _ in range(2)]
        assert all(each.recv(10) for each in held)
        assert b"As many readers are served as it takes" in read(ask(channel, everything()))
        held.pop().close()
        assert channel.recv(1) == FINISHED
        with ask(channel, "nonsense") as peer:
            assert peer.recv(10) == b""
        assert len(read(ask(channel, everything())).splitlines()) == 10
        channel.close()
        held.pop().close()
        assert process.wait(SECONDS) == 0
        assert process.stderr is not None
        assert b"'nonsense' is nothing that can be read" in process.stderr.read()
