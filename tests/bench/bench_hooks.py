"""What a hook adds to a call of an attached CLI, by each way, with twenty sessions at once; and calls while the daemon is killed.

usage: python -m tests.bench --only hooks; --only hooks_flood; --only hooks_killed

The daemon and each session are processes of their own. Nineteen sessions call by HTTP; one calls by each way in
turn, at the same pace, so that all ways meet the same machine. A way by HTTP includes the client's part, of Python here; a command includes its start by `/bin/sh -c`, as the CLI starts it.
Beside ours stand hooks that do nothing but read their input: of the shell, of Python, and of Node if it is there.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from supervisor.runtime.attached.hook_entries import RelayUse, handlers
from supervisor.runtime.attached.launcher import built
from supervisor.runtime.attached.relay_settings import RelaySettings, read
from tests.bench.figures import Figure, middle, percentile
from tests.stages.hook_crowd import Crowd, crowd

SESSIONS = 20
CALLS = 10
PAUSE = 1.0
KILLED_CALLS = 500
FLOOD_CALLS = 200

AIMS = {"HTTP": (5.0, 15.0), "a compiled program": (10.0, None), "bash": (None, None), "isolated Python": (None, None)}
"""Of ours, in ms: the median, and the 99th percentile."""


def ways(stage: Crowd) -> dict[str, str | None]:
    """The ways, ours first; None is HTTP."""
    settings = read(stage.folder)
    assert isinstance(settings, RelaySettings)
    program = built(stage.folder)
    uses = {
        "a compiled program": RelayUse(stage.folder, settings, "", program),
        "bash": RelayUse(stage.folder, settings, ""),
        "isolated Python": None,
    }
    found: dict[str, str | None] = {"HTTP": None}
    for way, relay in uses.items():
        if relay is None or relay.program or way == "bash":
            found[way] = handlers(stage.socket, "block", relay=relay)["PreToolUse"]["hooks"][0]["command"]
    found["a shell hook that does nothing"] = "cat > /dev/null"
    found["a Python hook that does nothing"] = f"{sys.executable} -c 'import json, sys; json.load(sys.stdin)'"
    if node := shutil.which("node"):
        found["a Node hook that does nothing"] = f"{node} -e 'JSON.parse(require(\"fs\").readFileSync(0))'"
    return found


def main() -> list[Figure]:
    """Measure the time of one hook."""
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place, crowd(Path(place)) as stage:
        one = ways(stage)
        many = {f"HTTP, {number} of six": None for number in range(len(one))}
        stage.run([one, *[many] * (SESSIONS - 1)], CALLS, PAUSE)
    taken = {way: seconds for way, seconds in stage.taken.items() if way in one}
    taken["HTTP"] = [second for way, seconds in stage.taken.items() if way.startswith("HTTP") for second in seconds]
    assert stage.refused == 0
    figures = []
    for way, seconds in taken.items():
        most, most_p99 = AIMS.get(way, (None, None))
        figures.append(Figure(f"{SESSIONS} sessions: a hook by {way}, median", middle(seconds) * 1e3, "ms", most))
        figures.append(
            Figure(
                f"{SESSIONS} sessions: a hook by {way}, 99th percentile",
                percentile(seconds, 0.99) * 1e3,
                "ms",
                most_p99,
            )
        )
    return figures


def flood() -> list[Figure]:
    """Count the hooks of a second with sessions that send one after another without a pause, and what is lost of them."""
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place, crowd(Path(place)) as stage:
        stage.run([{"HTTP": None}] * SESSIONS, FLOOD_CALLS, 0.0)
        reviewed = stage.reviewed()
    calls, taken = SESSIONS * FLOOD_CALLS, stage.taken["HTTP"]
    wrong = (
        stage.refused + calls - len(taken) + sum(abs(1 - times) for times in reviewed.values()) + calls - len(reviewed)
    )
    what = f"a flood of {2 * calls:,} hooks of {SESSIONS} sessions"
    return [
        Figure(f"{what}: answered", 2 * calls / stage.seconds, "hooks/s"),
        Figure(f"{what}: a call, median", middle(taken) * 1e3, "ms"),
        Figure(f"{what}: a call, 99th percentile", percentile(taken, 0.99) * 1e3, "ms"),
        Figure(f"{what}: refused, lost, or not reviewed once", wrong, "", 0),
    ]


def killed() -> list[Figure]:
    """Count what became of 10,000 calls by HTTP while the daemon was killed a second after each start."""
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place, crowd(Path(place)) as stage:
        stage.run([{"HTTP": None}] * SESSIONS, KILLED_CALLS, 0.02, kill_every=1.0)
        reviewed = stage.reviewed()
    calls = SESSIONS * KILLED_CALLS
    return [
        Figure(f"{calls:,} calls: the daemon was killed", stage.kills, "times"),
        Figure(f"{calls:,} calls: refused or lost", stage.refused + calls - len(stage.taken["HTTP"]), "", 0),
        Figure(f"{calls:,} calls: without a review in the journal", calls - len(reviewed), "", 0),
        Figure(
            f"{calls:,} calls: reviewed again, since the answer was lost with the daemon",
            reviewed.total() - len(reviewed),
            "",
        ),
    ]


if __name__ == "__main__":
    print(*main(), sep="\n")
