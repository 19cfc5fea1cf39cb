"""The keys of records are shown and changed without a daemon; what cannot be done is said and changes nothing."""

import json
from pathlib import Path

import orjson
import pytest

from tests.supervisor.cli.conftest import command

KEY = "0123456789abcdef" * 4


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """The option that names a configuration whose key lies elsewhere."""
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    for name in ("key", "next"):
        (tmp_path / name).write_text(KEY if name == "key" else KEY[::-1])
        (tmp_path / name).chmod(0o600)
    path = tmp_path / "chaperon.yaml"
    path.write_text(json.dumps({"audit": {"key": f"file:{tmp_path}/key"}}))
    return "--config", str(path)


def test_slots_are_made_before_the_first_encrypted_record_and_listed(
    configured: tuple[str, str], tmp_path: Path
) -> None:
    assert "not encrypted" in command(*configured, "keys").stdout
    added = command(*configured, "keys", "--add", f"file:{tmp_path}/next")
    assert added.exit_code == 0, added.output
    assert [line.split("  ")[1] for line in added.stdout.splitlines()] == ["the key in use", "another key"]
    rotated = orjson.loads(command(*configured, "keys", "--rotate", "--json").stdout)
    assert rotated["slots"] == [rotated["key"]]


def test_a_recovery_key_is_printed_once_and_kept_nowhere(configured: tuple[str, str], tmp_path: Path) -> None:
    made = command(*configured, "keys", "--recovery").stdout.splitlines()[-1]
    assert len(bytes.fromhex(made)) == 32
    assert made not in (tmp_path / "state/protection.json").read_text()
    assert "the recovery key" in command(*configured, "keys").stdout
    assert made not in command(*configured, "keys").stdout


def test_a_key_that_lies_beside_the_records_gets_no_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    said = command("keys", "--rotate")
    assert said.exit_code != 0
    assert "openssl rand -hex 32" in said.output
    assert not (tmp_path / "state/protection.json").exists()
    assert command("keys", "--rotate", "--recovery").exit_code == 2
