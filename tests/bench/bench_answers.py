"""Ten agents in trouble at the same moment: how long from the choice of an answer to its effect, by kind.

usage: python -m tests.bench --only answers

The daemon, its journal and the shims are the real ones; small programs take the CLI's place. Five agents repeat an error
until they get a word, five reach for the daemon's own files and are stopped. The stops are played alone as well: what
corrections beside them cost shows in the difference.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.to_thread

from interventions.words import InterventionKind
from supervisor.protocol import events
from supervisor.runtime.daemon.daemon import Daemon
from tests.bench.figures import Figure, middle
from tests.stages.daemon import Base, served

EACH = 5
"""Agents of a kind."""

LONGEST_SECONDS = 120.0

TROUBLE = """
prompt = greet()
hook = {{"subtype": "hook_callback", "callback_id": "p", "input": {{"hook_event_name": "UserPromptSubmit", "prompt": prompt}}}}
say({{"type": "control_request", "request_id": "prompt", "request": hook}})
say({{"type": "system", "subtype": "init", "session_id": prompt, "cwd": os.getcwd(), "tools": []}})
while not os.path.exists({gate!r}):
    time.sleep(0.002)
tool, given = ("Bash", {{"command": "make"}}) if "word" in prompt else ("Write", {{"file_path": {forbidden!r}, "content": "x"}})
for n in range(3):
    use = prompt + str(n)
    call = {{"type": "tool_use", "id": use, "name": tool, "input": given}}
    say({{"type": "assistant", "message": {{"id": use, "role": "assistant", "content": [call], "usage": {{}}}}}})
    about = {{"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given, "tool_use_id": use, "cwd": os.getcwd()}}
    hook = {{"subtype": "hook_callback", "callback_id": "PreToolUse", "input": about}}
    say({{"type": "control_request", "request_id": use, "request": hook}})
    while hear().get("response", {{}}).get("request_id") != use:
        pass
    result = {{"type": "tool_result", "tool_use_id": use, "content": "make: no rule", "is_error": True}}
    say({{"type": "user", "message": {{"role": "user", "content": [result]}}}})
while True:
    hear()
"""


async def play(root: Path, kinds: tuple[str, ...]) -> list[tuple[InterventionKind, float, float]]:
    """Let agents of these kinds get into trouble at once; of each its answer, and seconds until it acted and until it was over."""
    base = Base(root, {"agent": {"cgroups": "auto"}, "checkpoints": {"enabled": False}})
    gate = root / "gate"
    base.cli(TROUBLE.format(gate=str(gate), forbidden=str(base.places.snapshot)))
    names = [f"{kind}{number}" for kind in kinds for number in range(EACH)]
    with anyio.fail_after(LONGEST_SECONDS):
        async with served(base) as (daemon, _):
            for name in names:
                await daemon.submit(base.submission(name=name, prompt=name), by="bench")
            while any(daemon.board.summary(name).state != "running" for name in names):
                await anyio.sleep(0.05)
            gate.touch()
            while len(found := list(await acted(daemon))) < len(names):
                await anyio.sleep(0.2)
            return found


async def acted(daemon: Daemon) -> Iterator[tuple[InterventionKind, float, float]]:
    """The answers that have had their effect: by the journal's own times."""
    records = await anyio.to_thread.run_sync(lambda: list(daemon.journal.read(0)))
    chosen: dict[str, events.InterventionChosen] = {}
    first: dict[str, float] = {}
    over: dict[str, float] = {}
    for record in records:
        match record.event:
            case events.InterventionChosen() as event:
                chosen[event.agent] = event
            case events.InputAccepted(key=key) as event if key.startswith("tell:"):
                first[event.agent] = over[event.agent] = event.mono
            case events.TreeFrozen() as event:
                first[event.agent] = event.mono
            case events.TreeEnded() as event:
                over[event.agent] = event.mono
            case _:
                pass
    return iter(
        [
            (event.intervention.kind, first[agent] - event.mono, over[agent] - event.mono)
            for agent, event in chosen.items()
            if agent in first and agent in over
        ]
    )


def main() -> list[Figure]:
    """Measure."""
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place:
        alone = anyio.run(play, Path(place) / "alone", ("stop",))
        both = anyio.run(play, Path(place) / "both", ("word", "stop"))
    words = [first for kind, first, _ in both if kind is InterventionKind.SOFT_CORRECTION]
    stops = [row for row in both if row[0] is InterventionKind.EMERGENCY_STOP]
    assert (len(words), len(stops), len(alone)) == (EACH, EACH, EACH)
    return [
        Figure("10 agents in trouble at once: from the choice to the word taken, median", middle(words) * 1e3, "ms"),
        Figure("10 agents in trouble at once: from the choice to the word taken, the slowest", max(words) * 1e3, "ms"),
        Figure("10 agents in trouble at once: from the choice to all standing still, median",
               middle(first for _, first, _ in stops) * 1e3, "ms"),
        Figure("10 agents in trouble at once: from the choice to all standing still, the slowest",
               max(first for _, first, _ in stops) * 1e3, "ms", 1_000),
        Figure("10 agents in trouble at once: from the choice to all ended, the slowest",
               max(over for _, _, over in stops) * 1e3, "ms", 5_000),
        Figure("5 stops alone: from the choice to all standing still, median",
               middle(first for _, first, _ in alone) * 1e3, "ms"),
    ]  # fmt: skip


if __name__ == "__main__":
    print(*main(), sep="\n")
