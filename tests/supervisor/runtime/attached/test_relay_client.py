"""The care that the relay is there; tests/supervisor/runtime/attached/test_relay.py kills a real one."""

import contextlib
import os
import signal
import socket
from pathlib import Path

import anyio
import pytest

from supervisor.runtime.attached import relay_client, relay_settings
from supervisor.runtime.attached.hook import LAUNCHED
from supervisor.runtime.attached.relay_client import RelayError
from tests.stages.daemon import Base, served
from tests.supervisor.runtime.attached.test_relay import attached


def test_an_agents_own_process_starts_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LAUNCHED, "nonce")
    relay_settings.write(tmp_path, tmp_path / "s")
    attached(tmp_path)
    with pytest.raises(RelayError, match="agent's own process"):
        relay_client.start(tmp_path)


def test_where_none_ever_was_there_is_no_process(tmp_path: Path) -> None:
    assert relay_client.process_of(tmp_path / "attached") == 0


async def test_without_settings_none_is_kept(tmp_path: Path) -> None:
    with anyio.fail_after(10):
        await relay_client.keep(tmp_path, tmp_path / "s", pytest.fail)


def test_who_attaches_again_meets_one_that_is_about_to_go_or_another_at_its_port(tmp_path: Path) -> None:
    ports = set()
    try:
        for _ in range(2):
            settings = relay_settings.write(tmp_path, tmp_path / "s")
            attached(tmp_path)
            relay_client.start(tmp_path)
            ports.add(settings.port)
            with socket.socket() as connection:
                connection.connect((relay_settings.LOOPBACK, settings.port))
            relay_settings.remove(tmp_path)  # as `detach` does; the relay notices within two seconds
        assert len(ports) == 1
    finally:
        if pid := relay_client.process_of(tmp_path):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


async def test_a_daemon_leaves_settings_that_are_damaged_alone_and_does_not_look_for_ever(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = []

    async def keep(*_: object) -> None:
        kept.append(1)

    monkeypatch.setattr(relay_client, "keep", keep)
    base.places.attached.mkdir(parents=True)
    (base.places.attached / relay_settings.NAME).write_text('{"port": 70000, "key": "00", "socket": ""}')
    async with served(base) as (_, client):
        for _ in range(5):
            assert (await client.get("/v1/approvals")).status_code == 200
    assert kept == []
