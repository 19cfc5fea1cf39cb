"""The channels as people see them, and a message through each, with a service on this machine."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.supervisor.cli.conftest import command

CHANNELS = """
notify:
  channels:
    - {name: mail, url: 'mailto://ann:hush@example.org', min_severity: critical}
    - {name: chat, url: 'slack://hush', approvals: off}
"""


class Apprise:
    """What stands in for apprise, which is an extra: it takes messages for chat, and none for mail."""

    sent: list[dict[str, Any]]

    def add(self, url: str) -> bool:
        self.url = url
        return True

    def notify(self, **message: Any) -> bool:
        self.sent.append(message)
        return not self.url.startswith("mailto")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    Apprise.sent = []
    stand_in = ModuleType("apprise")
    stand_in.Apprise = Apprise  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "apprise", stand_in)
    file = tmp_path / "c.yaml"
    file.write_text(CHANNELS)
    file.chmod(0o600)
    return str(file)


def test_channels_are_listed_without_their_addresses_and_nothing_is_sent(config: str) -> None:
    done = command("--config", config, "notify")
    assert done.exit_code == 0
    assert done.output.splitlines() == [
        "mail             incidents from critical on, actions that wait",
        "chat             incidents from high on",
    ]
    assert not Apprise.sent


def test_a_test_says_of_each_channel_whether_it_took_the_message(config: str) -> None:
    done = command("--config", config, "notify", "--test", "--json")
    assert done.exit_code == 1
    mail, chat = json.loads(done.stdout)
    assert (mail["sent"], chat["sent"]) == (False, True)
    assert "did not take it" in mail["problem"]
    assert "This is a test of channel chat" in Apprise.sent[-1]["body"]
    assert "hush" not in done.output


def test_one_channel_can_be_tried_and_one_that_there_is_not_is_told(config: str) -> None:
    assert command("--config", config, "notify", "--test", "chat").exit_code == 0
    assert len(Apprise.sent) == 1
    missing = command("--config", config, "notify", "--test", "fax")
    assert "There is no channel 'fax'. There are: mail, chat." in missing.stderr


def test_without_channels_the_way_to_some_is_named() -> None:
    assert "see notify.channels" in command("notify").output
