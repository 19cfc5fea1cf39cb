"""What supervision adds to a tool call: the same forty calls of the real CLI bare and supervised, in turn.

usage: python -m tests.bench --only added

A scripted model on loopback answers both, in this process; a call's time is the time between two of the model's requests, so that
start and end of the CLI are left out, and the first decile of all calls is told. The daemon's own part is from the read that brought a hook's line to the answer handed to the
shim. Both are seen by wrapping two methods here; the product is as it is.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import anyio
import orjson

from supervisor.protocol.claude.control import user_message
from supervisor.rehearsal import scratch
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.run import rehearse
from supervisor.rehearsal.scenario import Scenario, ScenarioPaths
from supervisor.runtime.daemon.running.agent_output import AgentOutput
from supervisor.runtime.processes.launcher import WIRE
from supervisor.runtime.processes.shim_client import ShimClient
from tests.bench.figures import Figure, middle, percentile
from tests.support import real_claude_path

CALLS = 40
ROUNDS = 4
LATENCY_SECONDS = 0.3
LATENCY_ROUNDS = 2
RUN_SECONDS = 90
"""The longest that one run may take: it takes 10 s, and 22 s with the latency."""

PROMPT = "Count to forty."


def scenario(latency: float) -> Scenario:
    """Forty harmless calls, one a step; each makes something new, so that no detector has anything to say."""
    steps = [
        {"use": {"tool": "Bash", "input": {"command": f"echo 'part {number}' > part_{number}.txt"}}, "wait": latency}
        for number in range(CALLS)
    ]
    task = {"prompt": PROMPT}
    return Scenario.model_validate({"name": "forty", "task": task, "steps": steps})


def between(model: ScriptedModel) -> list[float]:
    """Seconds from each of the model's requests to the next."""
    at = [request.at for request in model.conversation()]
    assert len(at) == CALLS + 1, f"the CLI asked the model {len(at)} times and not {CALLS + 1}"
    return [after - before for before, after in pairwise(at)]


async def bare(latency: float, base: Path) -> list[float]:
    """The CLI by itself, with the tool allowed."""
    places = ScenarioPaths(*(str(base / name) for name in ("workspace", "home", "state")))
    await scratch.make(scenario(latency), places)
    async with ScriptedModel(scenario(latency).scripts()) as model:
        environ = scratch.environment(Path(places.home), model.url, "/usr/local/bin:/usr/bin:/bin")
        command = [str(real_claude_path()), *WIRE, "--allowedTools", "Bash"]
        await anyio.run_process(command, input=user_message(PROMPT), cwd=places.workspace, env=environ)
        return between(model)


async def supervised(latency: float, base: Path, models: list[ScriptedModel]) -> list[float]:
    """The same under the daemon."""
    await rehearse(scenario(latency), base, cli=str(real_claude_path()))
    return between(models.pop())


@contextmanager
def watched(own: list[float], models: list[ScriptedModel]) -> Iterator[None]:
    """Note the daemon's own part of each review, and each model that is made."""
    read, send, enter = AgentOutput.read, ShimClient.send_line, ScriptedModel.__aenter__
    began: dict[bytes, float] = {}

    async def timed_read(self: AgentOutput, data: bytes) -> None:
        for line in data.splitlines():
            if b'"PreToolUse"' in line and b'"hook_callback"' in line:
                began[orjson.loads(line)["request_id"].encode()] = time.perf_counter()
        await read(self, data)

    def timed_send(self: ShimClient, key: str, line: bytes) -> None:
        send(self, key, line)
        asked = began.pop(key.removeprefix("answer:").encode(), None)
        if asked is not None:
            own.append(time.perf_counter() - asked)

    async def noted_enter(self: ScriptedModel) -> ScriptedModel:
        models.append(self)
        return await enter(self)

    AgentOutput.read, ShimClient.send_line, ScriptedModel.__aenter__ = timed_read, timed_send, noted_enter  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        AgentOutput.read, ShimClient.send_line, ScriptedModel.__aenter__ = read, send, enter  # type: ignore[method-assign]


async def run(rounds: int, latency: float, own: list[float]) -> tuple[list[float], list[float]]:
    """Bare and supervised in turn; the seconds of each call of both."""
    alone, watched_over = [], []
    models: list[ScriptedModel] = []
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-", dir=Path.home()) as place, watched(own, models):
        for number in range(rounds):
            with anyio.fail_after(RUN_SECONDS):
                alone += await bare(latency, Path(place) / f"bare-{number}")
            models.clear()
            with anyio.fail_after(RUN_SECONDS):
                watched_over += await supervised(latency, Path(place) / f"supervised-{number}", models)
    return alone, watched_over


def least(seconds: list[float]) -> float:
    """What a call takes where little else ran: the first decile. Others on the machine only ever add, and by far more than a gate."""
    return percentile(seconds, 0.1)


def main() -> list[Figure]:
    """Measure."""
    own: list[float] = []
    alone, watched_over = anyio.run(run, ROUNDS, 0.0, own)
    assert len(own) >= ROUNDS * CALLS
    slow_alone, slow_watched = anyio.run(run, LATENCY_ROUNDS, LATENCY_SECONDS, [])
    added = least(watched_over) - least(alone)
    share = (least(slow_watched) - least(slow_alone)) / least(slow_watched)
    return [
        Figure("a tool call of the bare CLI", least(alone) * 1e3, "ms"),
        Figure("the same supervised", least(watched_over) * 1e3, "ms"),
        Figure("added to a tool call", added * 1e3, "ms", 10),
        Figure("the daemon's own part of a decision", least(own) * 1e3, "ms", 1),
        Figure("the daemon's own part of a decision, median", middle(own) * 1e3, "ms"),
        Figure("the daemon's own part of a decision, 99th percentile", percentile(own, 0.99) * 1e3, "ms"),
        Figure(f"share of a call with {LATENCY_SECONDS * 1e3:.0f} ms model latency", share * 100, "%", 2),
    ]


if __name__ == "__main__":
    print(*main(), sep="\n")
