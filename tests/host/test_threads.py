"""Worker threads where the kernel gives none: tried in a process of its own, whose memory has no room for another."""

import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
import anyio, anyio.to_thread
from host.threads import wait_for_threads

told = []
if "wait" in sys.argv:
    wait_for_threads(told.append)
    wait_for_threads(told.append)

async def main():
    size = int(open("/proc/self/statm").read().split()[0]) * 4096
    usual = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size + 2**20, usual[1]))

    async def make_room():
        while not told:
            await anyio.sleep(0.01)
        resource.setrlimit(resource.RLIMIT_AS, usual)

    async with anyio.create_task_group() as group:
        if "wait" in sys.argv:
            group.start_soon(make_room)
        print(await anyio.to_thread.run_sync(lambda: "came through"))
    assert len(told) == 1 and "no more threads" in told[0]

    def fails():
        raise RuntimeError("can't start new thread")
    try:
        await anyio.to_thread.run_sync(fails)
    except RuntimeError:
        print("told")

anyio.run(main)
"""


@pytest.mark.parametrize(("argument", "said"), [("wait", ["came through", "told"]), ("", [])])
def test_what_needs_a_thread_waits_until_there_is_one(argument: str, said: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, argument], capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:-1] == said
    assert ("can't start new thread" in done.stderr) is (argument == "")
