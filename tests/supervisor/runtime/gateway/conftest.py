"""What the gateway saw is asked for often, so that no test waits two seconds for it."""

import pytest

from supervisor.runtime.gateway import client


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LOOK_SECONDS", 0.05)
