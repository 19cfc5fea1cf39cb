"""What all tests share."""

import asyncio
import gc
import logging
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.opened import OpenWatch
from tests.support import real_claude_path

for _name in [each for each in os.environ if each.startswith("GIT_")]:
    # Git's hooks and `git bisect run` name the repository that they are run for: tests must not work on that one.
    del os.environ[_name]

if (_python := shutil.which("python3")) and Path(_python).read_bytes().startswith(b"#!"):
    # A version manager's `python3` is a script of scripts: 0.11 s of a processor for each stand-in and each tool call.
    os.environ["PATH"] = f"{Path(sys.base_prefix, 'bin')}:{os.environ['PATH']}"

hypothesis.settings.register_profile("unhurried", deadline=None)  # else 200 ms, missed where the machine is busy
hypothesis.settings.load_profile("unhurried")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without looks for garbage, which took a quarter of the time, and leave the tests out of later looks."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def _home_that_is_empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """HOME of the tests that ask for no folder, each of which finds it empty."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def _home_of_the_test(
    request: pytest.FixtureRequest, _home_that_is_empty: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """No test reads or writes the HOME of whoever runs it."""
    home = _home_that_is_empty
    if "tmp_path" in request.fixturenames:
        home = request.getfixturevalue("tmp_path") / "home"
        home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "STATE_DIRECTORY", "RUNTIME_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    yield
    if home is _home_that_is_empty and any(home.iterdir()):
        shutil.rmtree(home)
        home.mkdir()


_READABLE = "Exception in callback Future.set_result(None)"
"""Said of a Unix socket that became readable in the very turn of the loop in which the wait for it was cancelled: anyio
4 (`UNIXSocketStream`) takes the wait's end back one turn later. Nothing is lost by it."""


class _LoopErrors(logging.Handler):
    """Collects what an event loop could only log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[0] is asyncio.InvalidStateError and _READABLE in record.getMessage():
            return
        formatter = logging.Formatter()
        self.found.append(formatter.format(record))


@pytest.fixture(autouse=True)
def _no_errors_lost_in_the_loop() -> Iterator[None]:
    """An exception that no task and no callback could raise to anyone fails the test."""
    errors = _LoopErrors()
    log = logging.getLogger("asyncio")
    log.addHandler(errors)
    yield
    log.removeHandler(errors)
    assert not errors.found, "\n".join(errors.found)


@pytest.fixture(scope="session")
def _real_cli_watch(request: pytest.FixtureRequest) -> Iterator[OpenWatch | None]:
    """Tells whether the real CLI was started; none if tests were chosen that may, since one of another worker's would be seen."""
    if any(item.get_closest_marker("real_cli") for item in request.session.items):
        yield None
        return
    watch = OpenWatch(real_claude_path())
    yield watch
    watch.close()


@pytest.fixture(autouse=True)
def _no_real_cli_without_its_marker(_real_cli_watch: OpenWatch | None) -> Iterator[None]:
    """`make test-quick` leaves out what starts the real CLI by the marker alone."""
    yield
    assert _real_cli_watch is None or not _real_cli_watch.take(), (
        "The real CLI was started by this test, or by one that another worker ran meanwhile. Mark the one that did with real_cli."
    )


@pytest.fixture(scope="session")
def real_claude() -> Path:
    """The real CLI; tests that use it carry the marker `real_cli`."""
    return real_claude_path()
