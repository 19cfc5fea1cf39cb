"""The command line against a real daemon, in threads of this process: a process for each command would cost a second."""

import os
from pathlib import Path

import anyio.to_thread
import pytest
from click.testing import CliRunner, Result

from supervisor.cli.__main__ import main
from tests.stages.daemon import Base


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Base:
    """A base whose socket is where commands of this process look for it."""
    made = Base(tmp_path / "base")
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(made.places.runtime))
    monkeypatch.setenv("STATE_DIRECTORY", str(made.places.state))
    return made


def command(*arguments: str, given: str | None = None) -> Result:
    """Run a command to its end."""
    assert os.environ["HOME"].startswith("/tmp") or "pytest" in os.environ["HOME"]
    return CliRunner().invoke(main, arguments, input=given, prog_name="chaperon")


async def chaperon(*arguments: str, given: str | None = None) -> Result:
    """The same beside a daemon in this process."""
    return await anyio.to_thread.run_sync(lambda: command(*arguments, given=given))
