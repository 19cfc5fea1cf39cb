"""What all tests share."""

from pathlib import Path

import pytest

from tests.support import real_claude_path


@pytest.fixture(autouse=True)
def _home_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the HOME of whoever runs it."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "STATE_DIRECTORY", "RUNTIME_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    return


@pytest.fixture(scope="session")
def real_claude() -> Path:
    """The real CLI; tests that use it carry the marker `real_cli`."""
    return real_claude_path()


@pytest.fixture
def anyio_backend() -> str:
    """Chaperon runs on asyncio: the connection, the daemon and uvicorn are written for it."""
    return "asyncio"
