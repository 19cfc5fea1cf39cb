"""How many files may be open: raised for the daemon, and not for agents."""

import resource
import subprocess
import sys
from typing import Any

import pytest

from supervisor.runtime.descriptors import ENOUGH

Yard = Any  # the fixture's class lives in conftest.py, which is not importable by name

RAISED = """
import resource, sys
from supervisor.runtime.descriptors import allowed, raised
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
with raised() as usual:
    print(usual, allowed())
print(allowed())
"""


@pytest.mark.parametrize(("soft", "hard", "within"), [(1_024, 4_096, 4_096), (500, 500, 500), (1_024, 70_000, ENOUGH)])
def test_the_limit_is_raised_as_far_as_it_can_be_and_given_back(soft: int, hard: int, within: int) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < hard:
        pytest.skip("the hard limit of this machine is lower")
    command = [sys.executable, "-c", RAISED, str(soft), str(hard)]
    said = subprocess.run(command, check=True, capture_output=True).stdout.decode()
    assert said == f"{soft} {within}\n{soft}\n"


async def test_an_agent_gets_the_limit_that_the_daemon_was_started_with(yard: Yard) -> None:
    shim = await yard.sh("ulimit -Sn; read x", descriptors=333)
    assert await yard.read_until(shim, b"\n") == b"333\n"
