"""The daemon of a fleet's rehearsal as a process of its own, a person's commands to it, and what goes wrong.

The journal is read from its files, and not asked of the daemon: it is there while no daemon runs.
"""

import contextlib
import os
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import orjson
from anyio.abc import Process

from monitors.contract.errors import ChaperonError
from supervisor.config.paths import StatePaths
from supervisor.rehearsal.check import CheckFinding
from supervisor.rehearsal.fleets.fleet_scenario import Act, FleetScenario
from supervisor.rehearsal.fleets.leftovers import end_all_in, ended_with_this_process
from supervisor.rehearsal.fleets.moments import FleetMoments
from supervisor.runtime.journal.reader import Cursor

LOOK_SECONDS = 0.05
"""Between two looks at the journal's files: a tenth of what a CLI takes for one answer of the scripted model."""

START_SECONDS = 60.0
"""Longest time until a daemon that was started answers: it takes a second, on a busy machine ten."""

END_SECONDS = 30.0
"""Longest time until a daemon that was asked to end has ended. Its checkpoints and its snapshot take 10 s at most."""

NO_DAEMON = 3
"""The exit code of a command that found no daemon."""

SHOWN = 2_000
"""Characters of what a command printed that are shown."""


class FleetError(ChaperonError):
    """The rehearsal of a fleet did not come to its end."""


class Director:
    """Directs one rehearsal.

    Args:
        fleet: What is played.
        base: The folder of everything.
        environ: The whole environment of the daemon, and of a person's commands to it.
        moments: What has come so far.
        tell: Shown each command, and what it printed.
        watch: Called with each line of the journal.
    """

    def __init__(
        self,
        fleet: FleetScenario,
        base: Path,
        environ: Mapping[str, str],
        moments: FleetMoments,
        tell: Callable[[str], object],
        watch: Callable[[bytes], object],
    ) -> None:
        self.findings: list[CheckFinding] = []
        """Acts that failed."""
        self._fleet, self._base, self._environ, self._moments = fleet, base, environ, moments
        self._tell, self._watch = tell, watch
        self._places = StatePaths(state=base / "state", runtime=Path(environ["RUNTIME_DIRECTORY"]))
        self._daemon: Process | None = None

    @asynccontextmanager
    async def served(self) -> AsyncIterator[None]:
        """Have a daemon; it and all agents are ended with the block, also if this process is killed in it."""
        async with ended_with_this_process(self._base):
            await self._start()
            try:
                yield
            finally:
                with anyio.CancelScope(shield=True):
                    with anyio.move_on_after(START_SECONDS):
                        await self._run("stop", "--all", "--force", "--reason", "the rehearsal has ended")
                    await self._end()
                    await anyio.to_thread.run_sync(end_all_in, self._base)

    async def follow(self) -> None:
        """Read the journal until every act is done, every task over, and every workspace closed."""
        cursor = Cursor(self._places.journal)
        while True:
            acts_done = len(self._moments.acts) == len(self._fleet.acts)
            while lines := await anyio.to_thread.run_sync(cursor.take):
                for line in lines:
                    self._moments.take(orjson.loads(line.data))
                    self._watch(line.data)
            self._moments.tell()
            states = self._moments.states.values()
            if acts_done and states and all(state.over for state in states) and not self._moments.open:
                return
            await anyio.sleep(LOOK_SECONDS)

    async def add_tasks(self) -> None:
        """Add the stored tasks, as a person does."""
        plan = [
            {
                "name": task.name,
                "prompt": task.prompt,
                "repository": self._moments.filled(f"{{repository:{task.repository}}}"),
                **({"depends_on": list(task.depends_on)} if task.depends_on else {}),
                **task.about,
            }
            for task in self._fleet.tasks
        ]
        path = self._base / "plan.jsonl"
        await anyio.Path(path).write_bytes(b"".join(orjson.dumps(task) + b"\n" for task in plan))
        code, printed = await self._run("submit", str(path), "--json")
        if code:
            raise FleetError(f"The tasks of {self._fleet.name!r} were not added: {printed}", way_out="Mend the file.")
        added = orjson.loads(printed)
        self._moments.ids.update({task.name: row["task"] for task, row in zip(self._fleet.tasks, added, strict=True)})
        self._moments.tell()

    async def act(self, act: Act) -> None:
        """Do one act, once its moment has come."""
        await self._moments.come(act.after)
        if act.run:
            words = [self._moments.filled(word) for word in shlex.split(act.run)]
            self._tell(f"$ chaperon {shlex.join(words)}")
            code, printed = await self._run(*words)
            self._tell(printed[:SHOWN].rstrip())
            if code:
                self.findings.append(CheckFinding(f"acts {act.name!r}", f"It failed with {code}: {printed[:SHOWN]}"))
        elif act.kill_cli:
            await self._kill_cli(act.kill_cli)
        else:
            assert self._daemon is not None
            self._tell(f"The daemon {self._daemon.pid} is killed.")
            self._daemon.kill()
            await self._daemon.wait()
            await anyio.sleep(act.down)
            await self._start()
        self._moments.acts.add(act.name)
        self._moments.tell()

    async def _kill_cli(self, task: str) -> None:
        agent = self._moments.filled(f"{{agent:{task}}}")
        launched = [one for one in self._moments.events if one["kind"] == "agent_launched" and one["agent"] == agent]
        self._tell(f"The CLI {launched[-1]['cli_pid']} of {agent} is killed.")
        with contextlib.suppress(ProcessLookupError):
            os.kill(launched[-1]["cli_pid"], signal.SIGKILL)

    # ── the daemon ────────────────────────────────────────────────────────────────────────────────────────────────

    async def _start(self) -> None:
        """Start a daemon, and wait until it answers."""
        with (self._base / "daemon.log").open("ab") as log:
            command = [*_CHAPERON, "--config", str(self._base / "chaperon.yaml"), "serve"]
            self._daemon = await anyio.open_process(
                command, env=self._environ, cwd=self._base, stdin=None, stdout=log, stderr=log
            )
        with anyio.move_on_after(START_SECONDS):
            while self._daemon.returncode is None:
                if (await self._run("task", "list", "--json"))[0] != NO_DAEMON:
                    return
                await anyio.sleep(LOOK_SECONDS)
        raise FleetError(
            f"The daemon of the rehearsal {self._fleet.name!r} did not start.",
            way_out=f"{self._base / 'daemon.log'} has what it said; --keep keeps it.",
        )

    async def _run(self, *words: str) -> tuple[int, str]:
        """Run a command of a person's; returns its exit code and what it printed."""
        done = await anyio.run_process([*_CHAPERON, *words], check=False, env=self._environ, cwd=self._base)
        return done.returncode, (done.stdout + (done.stderr if done.returncode else b"")).decode(errors="replace")

    async def _end(self) -> None:
        """End the daemon in order, or by force."""
        if self._daemon is None or self._daemon.returncode is not None:
            return
        self._daemon.terminate()
        with anyio.move_on_after(END_SECONDS):
            await self._daemon.wait()
            return
        self._daemon.kill()
        await self._daemon.wait()


_CHAPERON = [sys.executable, "-m", "supervisor.cli"]
