"""What a hook adds to a call of an attached CLI, by each way, with twenty sessions at once; and calls while the daemon is killed.

usage: python -m tests.bench --only hooks; --only hooks_flood; --only hooks_killed

The daemon and each session are processes of their own. Nineteen sessions call by HTTP; one calls by each way in
turn, at the same pace, so that all ways meet the same machine. A way by HTTP includes the client's part, of Python here; a command includes its start by `/bin/sh -c`, as the CLI starts it.
Beside ours stand an exchange by HTTP with a server that does nothing, hooks that do nothing but read their input, of the
shell, of Python, and of Node if it is there, and hooks of others that review a call, from the registries if they can be
had.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from supervisor.runtime.attached.launcher import built
from supervisor.runtime.attached.relay_settings import RelaySettings, read
from supervisor.runtime.attached.settings.hook_entries import RelayUse, handlers
from tests.bench.figures import Figure, middle, percentile
from tests.stages import bare_server
from tests.stages.hook_crowd import ROOT, Crowd, Way, crowd

SESSIONS = 20
CALLS = 10
PAUSE = 1.0
KILLED_CALLS = 500
FLOOD_CALLS = 200

AIMS = {"HTTP": (5.0, 15.0), "a compiled program": (10.0, None), "bash": (None, None), "isolated Python": (None, None)}
"""Of ours, in ms: the median, and the 99th percentile."""


PYTHON_PEER, NODE_PEER = "nah==0.11.0", "cc-safety-net@2.4.5"
"""Hooks of others that decide about a call by themselves, of PyPI and of npm: each is a program that the CLI starts."""

INSTALL_SECONDS = 60.0


def peers(folder: Path) -> dict[str, Way]:
    """Install the hooks of others; without a registry there are none."""
    found: dict[str, Way] = {}
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
    if _installs(folder, *pip, f"--target={folder}", PYTHON_PEER):
        found[f"{PYTHON_PEER}, of PyPI"] = f"HOME={folder} PYTHONPATH={folder} {sys.executable} -m nah.hook"
    npm = ("npm", "install", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
    if shutil.which("node") and _installs(folder, *npm, NODE_PEER):
        program = folder / "node_modules/cc-safety-net/dist/bin/cc-safety-net.js"
        found[f"{NODE_PEER}, of npm"] = f"HOME={folder} node {program} hook --claude-code"
    return found


def _installs(folder: Path, *command: str) -> bool:
    folder.mkdir(exist_ok=True)
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=INSTALL_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


@contextmanager
def bare() -> Iterator[int]:
    """The port of a server that does nothing."""
    command = [sys.executable, "-I", "-S", str(bare_server.__file__), str(ROOT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        assert process.stdin is not None
        process.stdin.close()


def ways(stage: Crowd, port: int, others: Mapping[str, Way]) -> dict[str, Way]:
    """The ways, ours first.

    Args:
        stage: The daemon.
        port: That of a server that does nothing.
        others: Hooks of others.
    """
    settings = read(stage.folder)
    assert isinstance(settings, RelaySettings)
    program = built(stage.folder)
    uses = {
        "a compiled program": RelayUse(stage.folder, settings, "", program),
        "bash": RelayUse(stage.folder, settings, ""),
        "isolated Python": None,
    }
    found: dict[str, Way] = {"HTTP": None}
    for way, relay in uses.items():
        if relay is None or relay.program or way == "bash":
            found[way] = handlers(stage.socket, "block", relay=relay)["PreToolUse"]["hooks"][0]["command"]
    found["HTTP to a server that does nothing"] = port
    found["a shell hook that does nothing"] = "cat > /dev/null"
    found["a Python hook that does nothing"] = f"{sys.executable} -c 'import json, sys; json.load(sys.stdin)'"
    if node := shutil.which("node"):
        found["a Node hook that does nothing"] = f"{node} -e 'JSON.parse(require(\"fs\").readFileSync(0))'"
    return {**found, **others}


def main() -> list[Figure]:
    """Measure the time of one hook."""
    with tempfile.TemporaryDirectory(prefix="chaperon-bench-") as place, crowd(Path(place)) as stage, bare() as port:
        one = ways(stage, port, peers(Path(place) / "peers"))
        many: dict[str, Way] = {f"HTTP, {number}": None for number in range(len(one))}
        stage.run([one, *[many] * (SESSIONS - 1)], CALLS, PAUSE)
    taken = {way: seconds for way, seconds in stage.taken.items() if way in one}
    taken["HTTP"] = [second for way in ("HTTP", *many) for second in stage.taken[way]]
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
