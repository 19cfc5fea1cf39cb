"""Stored tasks of two repositories, with a daemon that is killed in the middle of them."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import psutil
import pytest

from supervisor.protocol.tasks import TaskState
from supervisor.rehearsal import scratch
from supervisor.rehearsal.model import ScriptedModel
from supervisor.rehearsal.script import ModelScript
from tests.stages import forked
from tests.stages.house import bash, say
from tests.stages.live import make_repository
from tests.support import kill_tree, real_claude_path

pytestmark = [pytest.mark.real_cli, pytest.mark.slow, pytest.mark.timeout(240)]

PLAN = """
defaults: {permission_mode: bypassPermissions, merge: "off", verify: ""}
tasks:
  - {name: schema, prompt: Write the schema., repository: db}
  - {name: server, prompt: Write the server., repository: web, depends_on: schema}
  - {name: pages, prompt: Write the pages., repository: web, depends_on: [schema, server]}
"""

WORK = "git add -A && git -c user.name=A -c user.email=a@localhost commit -qm {0}"


def does(what: str, first: str = "true") -> ModelScript:
    command = f"{first}; echo {what} > {what}.txt && {WORK.format(what)}"
    return ModelScript((bash(command), say("done")), when=f"Write the {what}.")


@contextmanager
def served(base: Path, environ: dict[str, str]) -> Iterator[forked.Program]:
    """A daemon as people start it; killed if it is left."""
    command = ["supervisor.cli", "--config", str(base / "chaperon.yaml"), "serve"]
    with (
        (base / "daemon.log").open("ab") as log,
        forked.Program(command, env=environ, stdout=log, stderr=log) as daemon,
    ):
        try:
            yield daemon
        finally:
            daemon.kill()


async def chaperon(environ: dict[str, str], *arguments: str) -> Any:
    """Run a command, until a daemon answers; its JSON."""
    with anyio.fail_after(60):
        while True:
            done = await anyio.to_thread.run_sync(
                lambda: forked.run("supervisor.cli", *arguments, "--json", seconds=60, environ=environ)
            )
            if done.returncode != 3:  # 3: no daemon listens yet
                assert done.returncode == 0, done.stderr
                return json.loads(done.stdout)


async def test_three_tasks_in_two_repositories_are_done_in_order_though_the_daemon_is_killed_meanwhile(
    tmp_path: Path,
) -> None:
    for name in ("db", "web"):
        make_repository(tmp_path / name, {"README": name})
    gate = tmp_path / "gate"
    waits = f"echo begun; until test -e {gate}; do sleep 0.2; done"
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "plan.yaml").write_text(PLAN)
    config = {
        "agent": {"command": str(real_claude_path()), "environment": {"IS_SANDBOX": "1"}},
        "tasks": {"max_load_per_core": 0, "min_free_memory_mb": 0},
    }
    (tmp_path / "chaperon.yaml").write_text(json.dumps(config))
    async with ScriptedModel([does("schema"), does("server", waits), does("pages"), ModelScript((say("?"),))]) as model:
        environ = scratch.environment(tmp_path / "home", model.url, os.environ["PATH"])
        environ |= {"RUNTIME_DIRECTORY": str(tmp_path / "run"), "STATE_DIRECTORY": str(tmp_path / "state")}
        try:
            with served(tmp_path, environ) as daemon:
                rows = await chaperon(environ, "submit", str(tmp_path / "plan.yaml"), "--request-id", "plan-1")
                ids = [row["task"] for row in rows]
                await model.wait_for_step(0, script=1)  # the server is under way, and its call is about to run
                daemon.kill()
                await anyio.to_thread.run_sync(daemon.wait)
            gate.touch()
            with served(tmp_path, environ):
                again = await chaperon(environ, "submit", str(tmp_path / "plan.yaml"), "--request-id", "plan-1")
                assert [row["task"] for row in again] == ids
                with anyio.fail_after(120):
                    while any(not TaskState(row["state"]).over for row in await chaperon(environ, "task", "list")):
                        await anyio.to_thread.run_sync(lambda: None)
                known = {row["task"]: row for row in await chaperon(environ, "task", "list")}
                shown = [await chaperon(environ, "task", "show", id_) for id_ in ids]
        finally:
            for process in psutil.process_iter(["pid", "cmdline"]):
                if str(tmp_path) in " ".join(process.info["cmdline"] or ()):
                    kill_tree(process.info["pid"], tmp_path)
    assert [known[id_]["state"] for id_ in ids] == ["done"] * 3
    assert [known[id_]["agent"] for id_ in ids] == ["echo-001", "echo-002", "echo-003"]
    assert [len(one["runs"]) for one in shown] == [1, 1, 1], "the agent went on through the kill, in its own run"
    for name, subjects in (("db", {"schema"}), ("web", {"server", "pages"})):
        log = ["git", "-C", str(tmp_path / name), "log", "--all", "--format=%s"]
        committed = subprocess.run(log, check=True, capture_output=True, text=True).stdout.split("\n")
        assert subjects <= set(committed)
