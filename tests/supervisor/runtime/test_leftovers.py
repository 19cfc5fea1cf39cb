"""A shim that was killed: what it leaves behind is found and ended, and nobody else is."""

import os
import signal
import subprocess
from typing import Any

import pytest

from supervisor.runtime.identity import Identity, is_running, read_identity
from supervisor.runtime.leftovers import end_leftovers, find_leftovers
from supervisor.runtime.shims import ShimGoneError, read_exit_record

pytestmark = pytest.mark.anyio

Yard = Any  # the fixture's class lives in conftest.py, which is not importable by name


async def lose(yard: Yard, script: str) -> Identity:
    """An agent whose shim has been killed."""
    shim = await yard.sh(script)
    await yard.read_until(shim, b"up\n")
    identity = read_identity(shim.directory)
    assert identity is not None
    os.kill(shim.pid, signal.SIGKILL)
    assert await yard.everything(shim) == []
    yard.eventually(lambda: not is_running(identity))
    return identity


async def test_the_cli_does_not_outlive_its_shim_but_tools_do_until_they_are_ended(both: Yard) -> None:
    identity = await lose(both, "setsid sleep 300 & (setsid sh -c 'sleep 300 & exec sleep 300' &) ; echo up; read x")
    both.eventually(lambda: identity.cli_pid not in both.living())
    both.eventually(lambda: len(both.living()) == 3)
    left = both.living()
    assert find_leftovers(identity) == left
    cleared = end_leftovers(identity)
    assert cleared.left == 0
    assert {int(entry.partition(" ")[0]) for entry in cleared.ended} == left
    assert not both.living()


async def test_a_cgroup_finds_even_those_that_cleared_their_environment(both: Yard) -> None:
    if both.group is None:
        pytest.skip("without a cgroup nothing ties such a process to the agent")
    identity = await lose(both, "setsid env -i /bin/sleep 300 & echo up; read x")
    both.eventually(lambda: len(find_leftovers(identity)) == 1)
    (pid,) = find_leftovers(identity)
    assert end_leftovers(identity).ended == (f"{pid} sleep",)
    assert not find_leftovers(identity)


async def test_a_lost_agent_has_no_record_and_nobody_listens(yard: Yard) -> None:
    await lose(yard, "echo up; read x")
    assert read_exit_record(yard.directories[0]) is None
    with pytest.raises(ShimGoneError):
        await yard.attach(yard.directories[0])


async def test_while_the_shim_lives_nothing_is_left_over(yard: Yard) -> None:
    shim = await yard.sh("setsid sleep 300 & echo up; read x")
    await yard.read_until(shim, b"up\n")
    identity = read_identity(shim.directory)
    assert identity is not None
    assert end_leftovers(identity).ended == ()
    assert yard.living()


async def test_a_process_with_another_nonce_is_nobody_of_ours(yard: Yard) -> None:
    stranger = subprocess.Popen(
        ["sleep", "300"], env={"CHAPERON_AGENT_NONCE": yard.nonce + "0", "PATH": "/usr/bin:/bin"}
    )
    try:
        identity = await lose(yard, "setsid sleep 300 & echo up; read x")
        assert end_leftovers(identity).left == 0
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
