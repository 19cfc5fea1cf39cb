"""Policies that counted once."""

from pathlib import Path

import pytest

from supervisor.config.model import Config
from supervisor.runtime.assembly.policy import digest_of
from supervisor.runtime.assembly.policy_store import keep_policy, kept_policy

RULE = {"name": "own.no-ls", "tool": "Bash", "match": "^ls", "decision": "block", "reason": "No."}


def config(**about: object) -> Config:
    return Config.model_validate(about)


def test_a_policy_comes_back_by_its_digest_with_todays_keys_of_the_start(tmp_path: Path) -> None:
    then = config(rules=[RULE], metrics={"listen": "127.0.0.1:9001"})
    today = config(metrics={"listen": "127.0.0.1:9002"})
    keep_policy(tmp_path / "policies", then)
    keep_policy(tmp_path / "policies", then)
    found = kept_policy(tmp_path / "policies", digest_of(then), today)
    assert found is not None
    assert (found.config.rules, found.config.metrics) == (then.rules, today.metrics)
    assert digest_of(found.config) == digest_of(then)
    assert found.changed == ()
    (kept,) = (tmp_path / "policies").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert b"9001" not in kept.read_bytes(), "what is no part of a policy, such as keys and addresses, is not kept"


def test_a_plugin_that_is_another_one_today_is_named(tmp_path: Path) -> None:
    plugin = tmp_path / "own.py"
    plugin.write_text("x = 1\n")
    then = config(plugins={"detectors": [str(plugin)]})
    digest = digest_of(then)
    keep_policy(tmp_path / "policies", then)
    plugin.write_text("x = 2\n")
    found = kept_policy(tmp_path / "policies", digest, config())
    assert found is not None
    assert found.changed == (str(plugin),)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"keys":{},"files":{}}', b'{"keys":{"rules":3},"files":[]}'])
def test_one_that_cannot_be_read_or_has_no_digests_name_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / f"{'0' * 16}.json").write_bytes(content)
    (tmp_path / "secret.json").write_bytes(content)
    folder = tmp_path / "policies"
    folder.mkdir()
    for digest in ("0" * 16, "../" + "0" * 16, "../secret", "", "1" * 16):
        assert kept_policy(folder, digest, config()) is None
    assert kept_policy(tmp_path, "0" * 16, config()) is None


def test_a_folder_that_cannot_be_written_keeps_nothing_and_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "policies").write_text("a file")
    keep_policy(tmp_path / "policies", config())
