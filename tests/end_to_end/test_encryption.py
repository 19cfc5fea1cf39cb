"""A run whose records are encrypted: nothing it said stands on the disk, and all who may read it see it as before."""

import json
import secrets
import socket
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from checkpoints.retention import RetentionPolicy
from monitors.contract.errors import ChaperonError
from supervisor.protocol.words import AgentState
from supervisor.runtime.clock import Clock
from supervisor.runtime.protection.keys import FINGERPRINT_NAME
from supervisor.runtime.services.checkpoint_upkeep import CheckpointUpkeep
from tests.stages.daemon import Base, ended, lines, served
from tests.supervisor.cli.conftest import chaperon

pytestmark = pytest.mark.slow

PLANTED = "the-word-that-is-planted"


def new_key(folder: Path, name: str) -> str:
    path = folder / name
    path.write_text(secrets.token_hex(32))
    path.chmod(0o600)
    return f"file:{path}"


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Base:
    made = Base(tmp_path / "base")
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(made.places.runtime))
    monkeypatch.setenv("STATE_DIRECTORY", str(made.places.state))
    configured(made, monkeypatch, new_key(tmp_path, "one"))
    made.plan(f"touch {PLANTED}")
    return made


def configured(base: Base, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """Name a key for the daemon, and for commands."""
    base.config = {"audit": {"encrypt": True, "key": key}}
    path = base.root / "chaperon.yaml"
    path.write_text(json.dumps(base.config))
    monkeypatch.setenv("CHAPERON_CONFIG", str(path))


def standing(base: Base) -> list[str]:
    """The files of the state directory in which the planted word stands, and what git could read of checkpoints."""
    files = [path for path in base.places.state.rglob("*") if path.is_file()]
    return sorted(
        str(path.relative_to(base.places.state))
        for path in files
        if path.suffix in (".pack", ".idx") or PLANTED.encode() in path.read_bytes()
    )


async def lived(base: Base, name: str) -> list[Any]:
    """Have an agent live under a daemon, and return what readers of the journal are told of it."""
    async with served(base) as (daemon, client):
        await daemon.submit(base.submission(name=name, prompt=f"Say {PLANTED}"), by="test")
        assert (await ended(daemon, name)).state is AgentState.DONE
        return await lines(client, "/v1/events", agent=name)


async def test_nothing_stands_in_the_clear_and_readers_and_the_next_start_see_all(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = await lived(base, "a1")
    assert base.ran() == [f"touch {PLANTED}"]
    (submitted,) = [one for one in told if one["kind"] == "task_submitted"]
    assert submitted["task"]["prompt"] == f"Say {PLANTED}"
    assert any(PLANTED in json.dumps(one) for one in told if one["kind"] == "review_made")
    assert standing(base) == []
    async with served(base) as (daemon, client):
        assert daemon.board.summary("a1").state is AgentState.DONE
        assert await lines(client, "/v1/events", agent="a1") == told
        said = await chaperon("tail", "--json", "--agent", "a1")
        assert PLANTED in said.stdout
        assert (await chaperon("trust", "--record")).exit_code == 0
    journal = str(base.places.journal)
    replayed = await chaperon("--config", str(base.root / "chaperon.yaml"), "replay", journal, "--json")
    assert replayed.exit_code == 0, replayed.output
    assert orjson.loads(replayed.stdout.splitlines()[0])["actions"] == 1
    assert standing(base) == []


async def test_checkpoints_are_encrypted_too_and_a_later_daemon_with_another_key_lists_shows_and_goes_back(
    base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (base.repo / "file").write_text(PLANTED)
    await lived(base, "a1")
    assert [path for path in base.places.checkpoints.rglob("*.sealed") if path.stat().st_size]
    assert standing(base) == []
    two, config = new_key(tmp_path, "two"), ("--config", str(base.root / "chaperon.yaml"))
    assert (await chaperon(*config, "keys", "--add", two)).exit_code == 0
    configured(base, monkeypatch, two)
    assert (await chaperon(*config, "keys", "--rotate")).exit_code == 0
    (base.repo / "file").write_text("spoiled")
    async with served(base) as (_, client):
        listed = (await client.get("/v1/checkpoints")).json()
        assert (listed["problems"], {one["facts"]["agent"] for one in listed["checkpoints"]}) == ([], {"a1"})
        name = listed["checkpoints"][-1]["name"]
        went = await chaperon("rollback", name, "--agent", "a1", "--files-only", "--yes")
        assert went.exit_code == 0, went.output
        assert (base.repo / "file").read_text() == PLANTED
        examined = await chaperon("checkpoints", "doctor")
        assert examined.exit_code == 0, examined.output
    assert standing(base) == []


async def test_checkpoints_of_before_are_encrypted_though_nobody_opens_them(base: Base) -> None:
    encrypts = base.config
    base.config = {"audit": {"key": encrypts["audit"]["key"]}}
    await lived(base, "a1")
    assert list(base.places.checkpoints.rglob("*.pack"))
    base.config = encrypts
    async with served(base) as (daemon, client):
        await CheckpointUpkeep(daemon.board, daemon.checkpoint_manager, daemon.fault, Clock(), RetentionPolicy()).look()
        stores = base.places.checkpoints
        assert (list(stores.rglob("*.pack")), len(list(stores.rglob("*.sealed")))) == ([], 1)
        assert not [path for path in stores.rglob("*") if path.is_file() and b'"agent":"a1"' in path.read_bytes()]
        assert (await client.get("/v1/checkpoints")).json()["checkpoints"]


async def test_a_forgotten_agent_is_taken_out_of_encrypted_records_of_others_too(base: Base) -> None:
    await lived(base, "a1")
    async with served(base) as (_, client):
        answer = await client.post("/v1/agents/a1/forget", json={})
        assert answer.json()["done"], answer.text
        assert not any(one["agent"] == "a1" for one in await lines(client, "/v1/events"))
        assert (await chaperon("trust", "--record")).exit_code == 0


async def test_keys_are_changed_by_commands_and_the_recovery_key_opens_what_a_lost_one_has_sealed(
    base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ("--config", str(base.root / "chaperon.yaml"))
    await lived(base, "a1")
    two = new_key(tmp_path, "two")
    assert "the key in use" in (await chaperon(*config, "keys")).stdout
    assert (await chaperon(*config, "keys", "--add", two)).exit_code == 0
    configured(base, monkeypatch, two)
    await lived(base, "a2")
    assert (await chaperon(*config, "keys", "--rotate")).exit_code == 0
    made = await chaperon(*config, "keys", "--recovery", "--json")
    recovery = orjson.loads(made.stdout)["recovery_key"]
    assert recovery not in (base.places.state / FINGERPRINT_NAME).read_text()
    await lived(base, "a3")
    journal = b"".join(path.read_bytes() for path in base.places.journal.glob("*.jsonl"))
    assert (b'"sealed":"1.' in journal, b'"sealed":"2.' in journal) == (True, True)
    Path(two.partition(":")[2]).unlink()
    kept = tmp_path / "recovery"
    kept.write_text(recovery)
    kept.chmod(0o600)
    configured(base, monkeypatch, f"file:{kept}")
    async with served(base) as (daemon, _):
        assert {one.agent for one in daemon.board.summaries()} == {"a1", "a2", "a3"}


async def test_a_lost_key_stops_the_start_and_destroys_nothing(
    base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = base.config["audit"]["key"]
    await lived(base, "a1")
    before = {path: path.read_bytes() for path in base.places.journal.iterdir()}
    for lost in (new_key(tmp_path, "other"), f"file:{tmp_path}/none"):
        configured(base, monkeypatch, lost)
        with pytest.raises(ChaperonError) as error:
            async with served(base):
                pass
        assert error.value.way_out
    configured(base, monkeypatch, key)
    slots = base.places.state / FINGERPRINT_NAME
    kept = slots.read_bytes()
    slots.unlink()
    with pytest.raises(ChaperonError, match="not what was sealed"):
        async with served(base):
            pass
    assert {path: path.read_bytes() for path in base.places.journal.iterdir()} == before
    slots.write_bytes(kept)
    async with served(base) as (daemon, _):
        assert daemon.board.summary("a1").state is AgentState.DONE


async def test_switched_off_it_writes_in_the_clear_and_reads_all_that_was_sealed_without_a_snapshot(base: Base) -> None:
    await lived(base, "a1")
    base.config["audit"]["encrypt"] = False
    told = await lived(base, "a2")
    assert any(path.endswith(".jsonl") for path in standing(base))
    (base.places.state / "snapshot.json").unlink()
    async with served(base) as (daemon, client):
        assert len(await lines(client, "/v1/events", agent="a1")) == len(told)
        known = daemon.board.summary("a1")
        assert (known.state, known.task.prompt) == (AgentState.DONE, f"Say {PLANTED}")


async def test_exporters_get_records_in_the_clear(base: Base) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.setblocking(False)
        address = f"udp://127.0.0.1:{server.getsockname()[1]}"
        base.config["audit"]["exporters"] = [{"name": "siem", "type": "syslog", "to": address, "begin": "start"}]
        got: list[bytes] = []
        async with served(base) as (daemon, _):
            await daemon.submit(base.submission(name="a1", prompt=f"Say {PLANTED}"), by="test")
            with anyio.fail_after(30):
                while not any(PLANTED.encode() in each for each in got):
                    await anyio.wait_readable(server)
                    got.append(server.recv(65_536))
    assert not any(b'"sealed"' in each for each in got)
