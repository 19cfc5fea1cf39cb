"""What the wall costs: a CLI's start and a command in a sandbox, and a model call through the gateway, beside bare ones.

usage: python -m tests.bench --only wall
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import get_args

import anyio
import anyio.abc
import httpx

from supervisor.config.sections.sandbox import SandboxInForce, SandboxKind, SandboxSection
from supervisor.rehearsal.model import ScriptedModel
from supervisor.runtime.sandbox.sandboxes import SHELL_PREFIX, LaunchSite, SandboxedLaunch, SandboxError, Sandboxes
from tests.bench.figures import Figure
from tests.stages.gateway import gateway
from tests.stages.live import bash, script
from tests.support import cli_environment, real_claude_path

STARTS = 11
COMMANDS = 40
CLI_CALLS = 9
CALLS = 80
STREAMED = 64 * 2**20

ELSEWHERE = Path("/srv/chaperon-bench")
"""A home directory that is not there, for Landlock: it is refused where it cannot hide one, as below /tmp."""


def held(base: Path, kind: SandboxKind, program: str) -> SandboxedLaunch:
    """Say how a program is started in the sandbox of an agent."""
    for name in ("home", "repo"):
        (base / name).mkdir(exist_ok=True)
    home, hidden = (base / "home", (base / "state",)) if kind != "landlock" else (ELSEWHERE, ())
    made = Sandboxes(kind, SandboxSection(), home, hidden, os.environ)
    environment = {"PATH": os.environ["PATH"], "HOME": str(base / "home")}
    return made.wrap(LaunchSite(program, base / "repo", base / "repo", base / "state/own", environment))


def took(launch: SandboxedLaunch, *arguments: str, cwd: Path) -> float:
    """Run it to its end; return how long that took, in milliseconds."""
    words = [*launch.words, launch.program, *arguments]
    began = perf_counter()
    subprocess.run(words, env=dict(launch.environment), cwd=cwd, check=True, stdout=subprocess.DEVNULL)
    return 1e3 * (perf_counter() - began)


def starts(base: Path) -> list[Figure]:
    """Measure the CLI's start in each sandbox and in none, in turn."""
    cli = str(real_claude_path())
    launches: dict[SandboxInForce, SandboxedLaunch] = {}
    for kind in get_args(SandboxInForce):
        try:
            launches[kind] = held(base, kind, cli)
        except SandboxError:  # this machine does not give it
            continue
    taken: dict[SandboxInForce, list[float]] = {kind: [] for kind in launches}
    for _ in range(STARTS):
        for kind, launch in launches.items():
            taken[kind].append(took(launch, "--version", cwd=base / "repo"))
    bare = median(taken.pop("none"))
    added = [
        Figure(f"the CLI's start in {kind}, more than bare", median(each) - bare, "ms", 50)
        for kind, each in taken.items()
    ]
    return [Figure("the CLI's start (`--version`), bare", bare, "ms"), *added]


def commands(base: Path) -> list[Figure]:
    """Measure a command of the shell inside and outside, started as the CLI 2.1.329 starts it: by bash, in which the
    program that is named as prefix gets the command as its one argument."""
    none, figures = held(base, "none", "/bin/sh"), []
    for kind in (kind for kind in get_args(SandboxInForce) if kind != "none"):
        try:
            launch = held(base, kind, "/bin/sh")
        except SandboxError:
            continue
        inside: list[float] = []
        outside: list[float] = []
        for _ in range(5):
            for one, made, into in ((launch, launch.settings.get(SHELL_PREFIX, ""), inside), (none, "", outside)):
                shell = f"/bin/bash -c '{made} true'"
                many = took(
                    one, "-c", f"i=0; while [ $i -lt {COMMANDS} ]; do {shell}; i=$((i+1)); done", cwd=base / "repo"
                )
                into.append((many - took(one, "-c", ":", cwd=base / "repo")) / COMMANDS)
        figures.append(
            Figure(f"a command of the shell in {kind}, more than outside", min(inside) - min(outside), "ms", 2)
        )
    return figures


OWN_SANDBOX = {"sandbox": {"enabled": True, "autoAllowBashIfSandboxed": True, "allowUnsandboxedCommands": False}}
"""Settings by which the CLI holds the commands of its tool Bash in a sandbox of its own."""

OWN_NEEDS = ("bwrap", "socat", "rg")
"""Programs that it needs on Linux."""


async def played(base: Path, settings: object, commands: int) -> tuple[float, str]:
    """Have the CLI run so many commands; return how long that took in milliseconds, and the last one's namespace."""
    with tempfile.TemporaryDirectory(dir=base) as folder:
        repo = Path(folder, "repo")
        repo.mkdir()
        each = "readlink /proc/self/ns/pid > namespace"
        async with ScriptedModel([script(*[bash(f"{each} # {number}") for number in range(commands)])]) as model:
            words = [str(real_claude_path()), "--print", "Go.", "--permission-mode", "bypassPermissions"]
            began = perf_counter()
            await anyio.run_process(
                [*words, "--settings", json.dumps(settings)],
                cwd=repo, env=cli_environment(Path(folder), model.url), stdin=subprocess.DEVNULL,
            )  # fmt: skip
            return 1e3 * (perf_counter() - began), (repo / "namespace").read_text().strip()


async def own_sandbox(base: Path) -> list[Figure]:
    """Measure the CLI's own sandbox: a call of Bash in it, and what its start adds."""
    if not all(map(shutil.which, OWN_NEEDS)):
        return []
    taken: dict[bool, dict[int, list[float]]] = {True: {1: [], CLI_CALLS: []}, False: {1: [], CLI_CALLS: []}}
    for _ in range(3):
        for held_by_it, counts in taken.items():
            for commands, into in counts.items():
                took_, namespace = await played(base, OWN_SANDBOX if held_by_it else {}, commands)
                ours = str(Path("/proc/self/ns/pid").readlink())
                assert (namespace != ours) is held_by_it, "it did not do as it was told"
                into.append(took_)
    call = {kind: (min(counts[CLI_CALLS]) - min(counts[1])) / (CLI_CALLS - 1) for kind, counts in taken.items()}
    begins = {kind: min(counts[1]) - call[kind] for kind, counts in taken.items()}
    return [
        Figure("the CLI's own sandbox: a call of Bash, more than without", call[True] - call[False], "ms"),
        Figure("the CLI's own sandbox: a run, more than without", begins[True] - begins[False], "ms"),
    ]


class Stream:
    """A model whose answer is long."""

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        async with stream:
            asked = b""
            while not asked.endswith(b"{}"):  # what is left unread when it closes would cut the answer off
                asked += await stream.receive()
            await stream.send(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % STREAMED
            )
            piece = b"data: {}\n\n" * 6_000
            for _ in range(STREAMED // len(piece)):
                await stream.send(piece)
            await stream.send(b"x" * (STREAMED % len(piece)))


async def first_byte(http: httpx.AsyncClient) -> float:
    """Ask the model; return when the first byte of its answer is there, in milliseconds."""
    began, taken = perf_counter(), 0.0
    async with http.stream("POST", "/v1/messages", content=b"{}") as answer:
        async for _ in answer.aiter_raw():
            taken = taken or 1e3 * (perf_counter() - began)
    return taken


async def streamed(http: httpx.AsyncClient) -> float:
    """Read a long answer; return how many MB of it came in a second."""
    began, count = perf_counter(), 0
    async with http.stream("POST", "/v1/messages", content=b"{}") as answer:
        async for piece in answer.aiter_raw():
            count += len(piece)
    assert count == STREAMED
    return count / 1e6 / (perf_counter() - began)


async def calls(base: Path) -> list[Figure]:
    """Measure calls of a model through the gateway and without it, in turn."""
    async with gateway(base) as stage, stage.http() as through:

        def bare() -> httpx.AsyncClient:
            return httpx.AsyncClient(base_url=f"http://127.0.0.1:{stage.upstream.port}", timeout=20)

        with_it, without = [], []
        async with bare() as direct:
            await first_byte(through)
            for _ in range(CALLS):
                with_it.append(await first_byte(through))
                without.append(await first_byte(direct))
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        stage.upstream.port = listener.extra(anyio.abc.SocketAttribute.local_port)
        stage.client.renew(stage.client._settings)
        await stage.looked()
        async with anyio.create_task_group() as tasks, bare() as direct:
            tasks.start_soon(listener.serve, Stream().serve)
            fast = [(await streamed(through), await streamed(direct)) for _ in range(3)]
            tasks.cancel_scope.cancel()
        await listener.aclose()
    return [
        Figure(
            "a model call through the gateway, first byte, more than without",
            median(with_it) - median(without),
            "ms",
            3,
        ),
        Figure("a long answer through the gateway", max(one for one, _ in fast), "MB/s"),
        Figure("the same without it", max(other for _, other in fast), "MB/s"),
    ]


def main() -> list[Figure]:
    """Measure all."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "gateway").mkdir()
        return [*starts(base), *commands(base), *anyio.run(own_sandbox, base), *anyio.run(calls, base)]


if __name__ == "__main__":
    print(*main(), sep="\n")
