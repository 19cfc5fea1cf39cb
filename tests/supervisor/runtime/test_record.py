"""A journal that was written over while no daemon ran: whole daemons, and a stand-in for the CLI."""

import json
import os
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from supervisor.protocol import events, records
from supervisor.protocol.words import AgentState
from supervisor.runtime.journal.reader import list_segments
from supervisor.runtime.journal.signing import Signing, SigningKeyError
from supervisor.runtime.journal.snapshots import NoSnapshot, Snapshot, read_snapshot, write_snapshot
from supervisor.runtime.processes.earlier_life import living
from supervisor.runtime.service import run_daemon
from supervisor.runtime.state_files import SNAPSHOT_VERSION
from tests.stages.daemon import GREETING, PATIENCE_SECONDS, Base, ended, reached, served, until

pytestmark = pytest.mark.slow

WAITS = "begin()\nwhile True:\n    hear()\n"


def write_over(base: Base, forged: dict[str, Any]) -> None:
    """Drop what was decided, add a person's word, and chain and seal it all anew, as a program without the key can."""
    path = list_segments(base.places.journal)[-1].path
    header, *lines = path.read_bytes().splitlines(keepends=True)
    bodies = [json.loads(line) for line in lines]
    bodies = [body for body in bodies if body["kind"] not in ("review_made", "checkpoint_made")]
    last = bodies[-1]
    bodies.append({"agent": "a1", "at": last["at"], "mono": last["mono"], **forged})
    kept, previous = [header], records.line_hash(header)
    for n, body in enumerate(bodies, 1):
        plain = {name: value for name, value in body.items() if name not in ("n", "p", "c")}
        line, previous = records.frame(n, json.dumps(plain, separators=(",", ":")).encode(), previous)
        kept.append(line)
    path.write_bytes(b"".join(kept))
    base.places.snapshot.unlink(missing_ok=True)


def append_to(base: Base, forged: dict[str, Any]) -> None:
    """Put a person's word behind the last line, chained and sealed."""
    path = list_segments(base.places.journal)[-1].path
    before = path.read_bytes()
    last = json.loads(before.splitlines()[-1])
    body = {"agent": "a1", "at": last["at"], "mono": last["mono"], **forged}
    line, _ = records.frame(last["n"] + 1, json.dumps(body).encode(), records.line_hash(before.splitlines()[-1]))
    path.write_bytes(before + line)
    base.places.snapshot.unlink()


def damage(base: Base) -> None:
    """Change a byte in the last line but one of an agent, as a disk may."""
    path = list_segments(base.places.journal)[-1].path
    lines = path.read_bytes().splitlines(keepends=True)
    at = max(n for n, line in enumerate(lines) if b'"agent":"a1"' in line or b'"agent":"a3"' in line)
    lines[at] = lines[at].replace(b'"kind"', b'"kinD"')
    path.write_bytes(b"".join(lines))
    base.places.snapshot.unlink(missing_ok=True)


ALLOWANCE = {
    "id": "w-forged", "by": "ada", "rule": "files.delete-outside", "tool": "Bash", "text": "", "uses": None,
    "seconds": 86400.0, "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(), "from_agent": "",
    "kind": "allowance_given",
}  # fmt: skip


async def test_an_allowance_that_was_written_into_the_journal_is_not_believed_and_ends_who_lived(base: Base) -> None:
    base.cli(WAITS, greeting=GREETING)
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), "ann")
        await daemon.submit(base.submission(name="a2"), "ann")
        await reached(daemon, AgentState.RUNNING)
        await reached(daemon, AgentState.RUNNING, "a2")
    await anyio.to_thread.run_sync(append_to, base, ALLOWANCE)
    async with served(base) as (daemon, _):
        assert not base.events(events.AllowanceGiven)
        summary = await ended(daemon)
        assert summary.state is AgentState.LOST
        assert "is not what was written there (signature)" in summary.why
        assert (await ended(daemon, "a2")).state is AgentState.LOST
        await until(lambda: len([one for one in base.incidents() if one["type"] == "record_damaged"]) == 3)
        told = next(one for one in base.incidents() if one["type"] == "record_damaged" and not one["agent"])
        assert told["severity"] == "critical"
        assert "nothing that a person allowed or approved there counts" in told["summary"]
        with anyio.fail_after(PATIENCE_SECONDS):
            while await anyio.to_thread.run_sync(living, base.places.agents, []):
                await anyio.sleep(0.01)
    async with run_daemon(base.setup()) as daemon:
        assert daemon.board.summary("a1").state is AgentState.LOST
        assert len([one for one in base.incidents() if one["type"] == "record_damaged"]) == 3
        await daemon.submit(base.submission(name="a3"), "ann")
        await reached(daemon, AgentState.RUNNING, "a3")
    await anyio.to_thread.run_sync(damage, base)
    async with served(base) as (daemon, _):
        assert (await ended(daemon, "a3")).state is AgentState.LOST


async def test_a_line_that_is_damaged_costs_its_agent_and_the_others_go_on(base: Base) -> None:
    base.cli(WAITS, greeting=GREETING)
    async with run_daemon(base.setup()) as daemon:
        for name in ("a1", "a2"):
            await daemon.submit(base.submission(name=name), "ann")
            await reached(daemon, AgentState.RUNNING, name)
    await anyio.to_thread.run_sync(damage, base)
    async with served(base) as (daemon, client):
        assert (await ended(daemon)).state is AgentState.LOST
        assert daemon.board.summary("a2").state is AgentState.RUNNING
        told = next(one for one in base.incidents() if one["type"] == "record_damaged" and not one["agent"])
        assert "Agents that they are about are ended: a1." in told["summary"]
        await client.post("/v1/agents/a2/stop", json={"reason": "enough", "force": True})
        await ended(daemon, "a2")


async def test_a_journal_that_was_written_over_from_early_on_ends_all_agents_that_it_can_say_nothing_of(
    base: Base,
) -> None:
    base.cli(WAITS, greeting=GREETING)
    async with run_daemon(base.setup()) as daemon:
        await daemon.submit(base.submission(), "ann")
        await reached(daemon, AgentState.RUNNING)
    await anyio.to_thread.run_sync(write_over, base, ALLOWANCE)
    async with served(base) as (daemon, _):
        assert not base.events(events.AllowanceGiven)
        await until(lambda: any(one["type"] == "record_damaged" for one in base.incidents()))
        with anyio.fail_after(PATIENCE_SECONDS):
            while await anyio.to_thread.run_sync(living, base.places.agents, ["a2"]):
                await anyio.sleep(0.01)


async def test_with_a_key_from_outside_a_journal_without_its_note_starts_nothing(base: Base) -> None:
    key = base.root / "key"
    key.write_text("k" * 43)
    key.chmod(0o600)
    base.config["audit"] = {"signing_key": f"file:{key}"}
    async with served(base):
        pass
    assert all(records.is_marked(line) for line in await anyio.to_thread.run_sync(journal_lines, base))
    os.unlink(base.places.state / "signing.json")  # noqa: PTH108 - as a program would
    with pytest.raises(SigningKeyError, match="with the note on its key is gone"):
        async with served(base):
            pass


def journal_lines(base: Base) -> list[bytes]:
    return [line for one in list_segments(base.places.journal) for line in one.path.read_bytes().splitlines()[1:]]


async def test_a_snapshot_that_was_written_over_is_passed_over(base: Base) -> None:
    async with served(base):
        pass
    assert "is not signed with the key of the journal" in await anyio.to_thread.run_sync(written_over, base)


def written_over(base: Base) -> str:
    """Write the snapshot anew without the key, and return why it is passed over."""
    key = Signing(base.places.state).known()
    found = read_snapshot(base.places.state, SNAPSHOT_VERSION, key=key)
    assert isinstance(found, Snapshot)
    write_snapshot(base.places.state, found.n, SNAPSHOT_VERSION, found.state)
    again = read_snapshot(base.places.state, SNAPSHOT_VERSION, key=key)
    assert isinstance(again, NoSnapshot)
    return again.problem
