"""A shim that was killed: what it leaves behind is found and ended, and nobody else is."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from supervisor.protocol.identity import Identity
from supervisor.runtime.processes.identity import is_running, read_identity
from supervisor.runtime.processes.leftovers import (
    EndedProcesses,
    end_everything,
    end_leftovers,
    find_leftovers,
    survivors,
)
from supervisor.runtime.processes.shim_client import ShimGoneError
from supervisor.runtime.processes.shim_remains import read_exit_record
from supervisor.runtime.shim import process_tree

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


async def test_those_that_cleared_their_environment_are_found_with_a_cgroup_and_without(both: Yard) -> None:
    identity = await lose(both, "setsid env -i /bin/sleep 300 & echo up; read x")
    both.eventually(lambda: len(find_leftovers(identity)) == 1)
    (pid,) = find_leftovers(identity)
    assert end_leftovers(identity).ended == (f"{pid} sleep",)
    assert not find_leftovers(identity)


def command_line(pid: str) -> bytes:
    """Return the command line of a process; empty if it has ended meanwhile, as those of others may at any time."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


HIDDEN = "until grep -aqs ^sleep /proc/$!/cmdline; do :; done"
"""Words of a shell that wait until its last child has become what it is to be: before, it is known and ended."""


async def test_one_that_lowers_its_mark_is_left_alone_and_named(yard: Yard) -> None:
    """It hides whose it is: it may be another agent's, and what is not known is said to be so."""
    seconds = 100_000 + os.getpid()  # names it among those of other tests
    identity = await lose(
        yard, f"bash -c 'ulimit -x 7; exec setsid env -i sleep {seconds}' & {HIDDEN}; echo up; read x"
    )

    def strays(cleared: EndedProcesses) -> list[str]:
        ours = f"sleep\0{seconds}\0".encode()
        return [each for each in cleared.strays if command_line(each.split()[0]) == ours]

    yard.eventually(lambda: strays(end_leftovers(identity)) != [])
    cleared = end_leftovers(identity)
    (stray,) = strays(cleared)
    assert (cleared.ended, cleared.left) == ((), 0)
    assert stray in str(cleared)
    assert "may be of it too, which is not known" in str(cleared)
    os.kill(int(stray.split()[0]), signal.SIGKILL)


async def test_another_agent_that_a_shim_watches_is_no_stray(yard: Yard) -> None:
    """One of two agents carries the lower mark, by chance: it hides nothing."""
    shims = [await yard.sh("setsid sleep 300 & echo up; read x") for _ in range(2)]
    for shim in shims:
        await yard.read_until(shim, b"up\n")
    lower, higher = sorted((shim.identity for shim in shims), key=lambda one: one.mark)
    os.kill(higher.shim_pid, signal.SIGKILL)
    yard.eventually(lambda: not is_running(higher))
    strays = {int(each.split()[0]) for each in end_leftovers(higher).strays}
    assert is_running(lower)
    assert not strays & {lower.cli_pid, *process_tree.descendants(lower.cli_pid)}


async def test_an_agent_whose_shim_stands_still_is_ended_without_it(both: Yard) -> None:
    shim = await both.sh("setsid env -i /bin/sleep 300 & sleep 300 & echo up; read x")
    await both.read_until(shim, b"up\n")
    os.kill(shim.pid, signal.SIGSTOP)
    cleared = end_everything(shim.identity)
    assert cleared.left == 0
    assert len(cleared.ended) == 3
    assert not both.living()
    assert not is_running(shim.identity)


async def test_a_look_of_our_own_finds_who_lives(both: Yard) -> None:
    """The CLI, who is in its process group and, where there is one, who is in its control group."""
    shim = await both.sh("sleep 300 & setsid sleep 300 & echo up; read x")
    await both.read_until(shim, b"up\n")
    both.eventually(lambda: len(both.living()) == 3)
    # A child that is to have a group of its own is in the CLI's until it has asked for one.
    both.eventually(lambda: len(survivors(shim.identity)) == (2 if both.group is None else 3))
    os.kill(shim.cli_pid, signal.SIGKILL)
    both.eventually(lambda: shim.cli_pid not in survivors(shim.identity))
    end_everything(shim.identity)
    assert survivors(shim.identity) == set()


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
