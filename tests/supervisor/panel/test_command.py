"""The panel as a service, whose links nobody sees printed."""

import os
import re
import signal
import subprocess
from pathlib import Path

import anyio.to_thread
import pytest

from tests.sources import ROOT
from tests.stages import forked
from tests.stages.daemon import Base, until


@pytest.mark.slow
async def test_a_service_writes_its_link_for_its_user_alone_and_another_one_when_it_is_asked(base: Base) -> None:
    file = base.root / "link"
    words = ["supervisor.cli", "panel", "--port", "0", "--link-file", str(file)]
    environ = {"PATH": os.environ["PATH"], "HOME": str(base.home), "RUNTIME_DIRECTORY": str(base.places.runtime)}
    printed = base.root / "printed"
    with printed.open("w") as output:
        service = forked.Program(words, env=environ, cwd=ROOT, stdout=output)
        try:
            await until(file.exists)
            first = file.read_text()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#\S{16,}\n", first)
            assert file.stat().st_mode & 0o777 == 0o600
            service.send_signal(signal.SIGUSR1)
            await until(lambda: file.read_text() != first)
        finally:
            service.terminate()
            assert await anyio.to_thread.run_sync(service.wait) == 0
    assert str(file) in printed.read_text()
    assert "#" not in printed.read_text(), "what is printed is read by whoever reads the system's journal"
    assert [path.name for path in Path(base.root).glob("link*")] == ["link"]


@pytest.mark.slow
async def test_a_link_that_cannot_be_written_is_told_of_and_written_once_it_can(base: Base) -> None:
    file = base.root / "later" / "link"
    words = ["supervisor.cli", "panel", "--port", "0", "--link-file", str(file)]
    environ = {"PATH": os.environ["PATH"], "HOME": str(base.home), "RUNTIME_DIRECTORY": str(base.places.runtime)}
    told = base.root / "told"
    with told.open("w") as output:
        service = forked.Program(words, env=environ, cwd=ROOT, stderr=output, stdout=subprocess.DEVNULL)
        try:
            await until(lambda: "send SIGUSR1" in told.read_text())
            file.parent.mkdir()
            service.send_signal(signal.SIGUSR1)
            await until(file.exists)
        finally:
            service.terminate()
            assert await anyio.to_thread.run_sync(service.wait) == 0
