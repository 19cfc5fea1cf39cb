"""What checkpoints add to a tool call of a live run: from the CLI's question to the answer that it takes.

usage: python -m tests.bench.bench_checkpoint_live [FILES] [CALLS]

A stand-in asks for calls as the CLI does: some write, some read, and some delete what was just written, which waits for a
capture of its own. Two runs, with checkpoints and without, in the same repository.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import anyio

from supervisor.config.model import Agent, Config
from supervisor.config.paths import StatePaths
from supervisor.config.sections.workspaces import CheckpointsSection
from supervisor.protocol import events
from supervisor.protocol.records import decode
from supervisor.runtime.daemon.submission import Submission
from supervisor.runtime.service import Setup, run_daemon
from tests.bench.figures import Figure, middle, table

ASKER = Path(__file__).with_name("asker.py")

PAUSE_SECONDS = (0.0, 0.05)
"""Between a result and the next call: none, and a tenth of what a quick model takes."""


def make(base: Path, files: int) -> None:
    repo = base / "repo"
    for number in range(files):
        path = repo / f"d{number // 100}" / f"f{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n")
    git = ["git", "-C", str(repo), "-c", "user.name=b", "-c", "user.email=b@localhost"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run([*git, *command], check=True)
    (base / "home").mkdir()
    shutil.copy(ASKER, base / "claude")
    (base / "claude").chmod(0o755)


async def run(base: Path, enabled: bool, calls: int, pause: float) -> tuple[dict[str, list[float]], list[float]]:
    """Milliseconds of each call by kind, and of each capture."""
    places = StatePaths(state=base / f"state-{enabled}-{pause}", runtime=base / f"run-{enabled}-{pause}")
    environ = {"PATH": os.environ["PATH"], "HOME": str(base / "home")}
    (base / "home/asked.json").unlink(missing_ok=True)
    config = Config(agent=Agent(command=str(base / "claude")), checkpoints=CheckpointsSection(enabled=enabled))
    captures = []
    async with run_daemon(Setup(config, places, environ)) as daemon:
        prompt = json.dumps({"calls": calls, "pause": pause})
        await daemon.submit(Submission(prompt=prompt, repository=str(base / "repo"), name="a1"), by="bench")
        async for line in daemon.journal.follow():
            event = decode(line.data).event
            if isinstance(event, events.CheckpointMade):
                captures.append(event.micros / 1000)
            if isinstance(event, events.StateChanged) and event.after.ended:
                break
    asked: dict[str, list[float]] = json.loads((base / "home/asked.json").read_text())
    return asked, captures


def main(files: int = 1_000, calls: int = 50) -> list[Figure]:
    """Measure both, and print each."""
    return anyio.run(_measure, files, calls)


async def _measure(files: int, calls: int) -> list[Figure]:
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        make(base, files)
        for pause in PAUSE_SECONDS:
            off, _ = await run(base, False, calls, pause)
            on, captures = await run(base, True, calls, pause)
            where = f"{files:,} files, {pause * 1000:.0f} ms between calls"
            for kind in off:
                added = middle(on[kind]) - middle(off[kind])
                figures.append(Figure(f"added to a call that {kind}, {where}", round(added, 2), "ms", 5.0))
            figures.append(Figure(f"capture in a live run, {where}", round(middle(captures), 2), "ms"))
    return figures


if __name__ == "__main__":
    given = [int(value) for value in sys.argv[1:]]
    sys.stdout.write(table(main(*given)) + "\n")
