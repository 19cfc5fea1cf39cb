"""Real shims around real programs, in a cgroup and without one, all ended when the test is."""

import os
import secrets
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import anyio
import pytest

from supervisor.runtime.processes.bounds import cgroups
from supervisor.runtime.processes.identity import is_running, read_identity
from supervisor.runtime.processes.leftovers import end_leftovers
from supervisor.runtime.processes.shim_client import ShimClient, ShimSpec
from supervisor.runtime.processes.shim_events import CliOutput, Exited, ExitRecord, ShimEvent
from supervisor.runtime.shim import process_tree
from tests.blocking import _no_blocking_calls  # noqa: F401 - a fixture
from tests.stages.daemon import Base

E = TypeVar("E")
PATIENCE_SECONDS = 60.0


def eventually(claim: Callable[[], bool]) -> None:
    """Look until the claim is true; fail when it does not become so."""
    deadline = time.perf_counter() + PATIENCE_SECONDS
    while not claim():
        assert time.perf_counter() < deadline, "it did not become true"
        process_tree.pause()


@dataclass
class Yard:
    """Launches shims, reads them, and knows which processes belong to them."""

    root: Path
    group: Path | None
    nonce: str = field(default_factory=lambda: secrets.token_hex(8))
    shims: list[ShimClient] = field(default_factory=list)
    directories: list[Path] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str]:
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "CHAPERON_AGENT_NONCE": self.nonce}

    def spec(self, *argv: str, **changes: object) -> ShimSpec:
        directory = self.root / f"agent-{len(self.directories)}"
        self.directories.append(directory)
        values: dict[str, object] = {
            "agent": "a1", "directory": directory, "argv": argv, "cwd": self.root, "env": self.env, "cgroup": self.group,
        }  # fmt: skip
        return ShimSpec(**{**values, **changes})  # type: ignore[arg-type]

    async def launch(self, *argv: str, **changes: object) -> ShimClient:
        shim = await ShimClient.launch(self.spec(*argv, **changes))
        self.shims.append(shim)
        return shim

    async def sh(self, script: str, **changes: object) -> ShimClient:
        return await self.launch("/bin/sh", "-c", script, **changes)

    async def python(self, script: str, *arguments: str, **changes: object) -> ShimClient:
        return await self.launch(sys.executable, "-I", "-S", "-c", script, *arguments, **changes)

    async def attach(self, directory: Path, offset: int = 0) -> ShimClient:
        shim = await ShimClient.attach(directory, offset)
        self.shims.append(shim)
        return shim

    @staticmethod
    def eventually(claim: Callable[[], bool]) -> None:
        """Look until the claim is true; fail when it does not become so."""
        eventually(claim)

    def living(self) -> set[int]:
        """Every process with our nonce in its environment; the shims themselves have none."""
        mark = f"CHAPERON_AGENT_NONCE={self.nonce}"
        pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
        return {
            pid
            for pid in pids
            if process_tree.states(pid) - process_tree.GONE and mark in process_tree.read(f"/proc/{pid}/environ")
        }

    def names(self) -> list[str]:
        """Return the names of these processes; one that has not yet become its program has another's."""
        return [process_tree.read(f"/proc/{pid}/comm").strip() for pid in self.living()]

    async def everything(self, shim: ShimClient) -> list[ShimEvent]:
        """All that is still to come."""
        with anyio.fail_after(PATIENCE_SECONDS):
            return [event async for event in shim.events()]

    async def read_until(self, shim: ShimClient, wanted: bytes) -> bytes:
        """Output, until these bytes are in it."""
        text = b""
        with anyio.fail_after(PATIENCE_SECONDS):
            async for event in shim.events():
                if isinstance(event, CliOutput):
                    text += event.data
                    if wanted in text:
                        return text
        raise AssertionError(f"the agent ended after {text!r}")

    async def next_of(self, shim: ShimClient, kind: type[E]) -> E:
        """The next event of a kind; others are passed over."""
        with anyio.fail_after(PATIENCE_SECONDS):
            async for event in shim.events():
                if isinstance(event, kind):
                    return event
        raise AssertionError(f"the agent ended without {kind.__name__}")

    async def finish(self, shim: ShimClient) -> tuple[bytes, ExitRecord]:
        """The rest of the output, and the exit record that must follow it."""
        events = await self.everything(shim)
        assert isinstance(events[-1], Exited), events[-3:]
        return b"".join(event.data for event in events if isinstance(event, CliOutput)), events[-1].record

    def clear(self) -> None:
        """End what is left, by the means of a lost agent."""
        for shim in self.shims:
            shim.close()
        for directory in self.directories:
            identity = read_identity(directory)
            if identity is None:
                continue
            if is_running(identity):
                os.kill(identity.shim_pid, signal.SIGKILL)
                eventually(lambda identity=identity: not is_running(identity))  # type: ignore[misc]
            end_leftovers(identity)
        assert not self.living()


@pytest.fixture(scope="session")
def groups() -> Iterator[cgroups.Containment | cgroups.Uncontained]:
    """Where agents' groups are made on this machine, if anywhere."""
    found = cgroups.Containment.find(f"test-{os.getpid()}")
    yield found
    if isinstance(found, cgroups.Containment):
        assert cgroups.remove(found.agents.parent)


@pytest.fixture(params=["cgroup", "walk"])
def group(request: pytest.FixtureRequest, groups: cgroups.Containment | cgroups.Uncontained) -> Iterator[Path | None]:
    """A cgroup of the test's own, and then none."""
    if request.param == "walk":
        yield None
    elif isinstance(groups, cgroups.Uncontained):
        pytest.skip(groups.reason)
    else:
        made = groups.make(f"t-{secrets.token_hex(4)}")
        yield made
        assert cgroups.remove(made)


@pytest.fixture
async def yard(tmp_path: Path) -> AsyncIterator[Yard]:
    """Shims without a cgroup."""
    made = Yard(tmp_path, None)
    yield made
    made.clear()


@pytest.fixture
async def both(tmp_path: Path, group: Path | None) -> AsyncIterator[Yard]:
    """Shims in a cgroup, and then without."""
    made = Yard(tmp_path, group)
    yield made
    made.clear()


@pytest.fixture
def base(tmp_path: Path) -> Base:
    """Where a daemon of the test's own keeps everything."""
    return Base(tmp_path / "base")
