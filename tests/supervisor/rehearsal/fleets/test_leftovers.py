"""A fleet's rehearsal leaves no process, however it ends: the real CLI, in a rehearsal that waits until it is ended."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from supervisor.rehearsal.fleets.leftovers import end_all_in, ended_with_this_process, left_in
from tests.stages import forked
from tests.support import names_in

FLEET = """
name: waits
description: An agent that waits for what does not come.
repositories: [{name: shop, files: [{path: README.md, content: "x"}]}]
policy:
  tasks: {slots: 1, max_load_per_core: 0, min_free_memory_mb: 0, min_free_disk_mb: 0}
tasks:
  - name: wait
    repository: shop
    prompt: Wait.
    steps:
      - name: waits
        use: {tool: Bash, input: {command: "until test -e never; do sleep 0.2; done", description: Wait}}
expect:
  tasks: {wait: done}
  repositories: {shop: {files: {}, commits: {}}}
"""


async def becomes(claim: Callable[[], bool]) -> None:
    """Look until the claim is true: seldom, since each look is at all processes of the machine."""
    with anyio.fail_after(120):
        while not claim():
            await anyio.sleep(0.2)


@pytest.mark.real_cli
@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("ended_by", [signal.SIGKILL, signal.SIGTERM])
async def test_daemon_agents_and_what_they_started_end_with_the_rehearsal(
    tmp_path: Path, real_claude: Path, ended_by: signal.Signals
) -> None:
    (tmp_path / "fleet.yaml").write_text(FLEET)
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CHAPERON_AGENT__COMMAND": str(real_claude)}
    command = ["supervisor.cli", "rehearse", str(tmp_path / "fleet.yaml")]
    with forked.Program(command, env=environ, cwd="/", stdout=subprocess.DEVNULL) as run:
        try:
            await becomes(lambda: "sleep" in names_in(tmp_path))
            run.send_signal(ended_by)
            await becomes(lambda: run.poll() is not None)
            await becomes(lambda: left_in(tmp_path) == [])
        finally:
            run.kill()
            end_all_in(tmp_path)


async def test_at_an_end_in_order_nothing_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "300"], cwd=tmp_path) as other:
        try:
            with anyio.fail_after(60):
                async with ended_with_this_process(tmp_path):
                    pass
            assert [one.pid for one in left_in(tmp_path)] == [other.pid]
        finally:
            other.kill()
