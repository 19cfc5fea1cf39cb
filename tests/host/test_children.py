"""A program that is run to its end: whatever it does, its run is bounded, and nothing of it runs on."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from host.children import ERROR_BYTES, MOST_LEFT, ChildCommand, ChildResult, run_child, run_child_async
from tests.support import alive

pytestmark = pytest.mark.timeout(60)


def command(text: str, **given: Any) -> ChildCommand:
    defaults = {"environment": dict(os.environ), "seconds": 30.0, "output_bytes": 1000}
    return ChildCommand(argv=["sh", "-c", text], **{**defaults, **given})


def in_a_thread(given: ChildCommand) -> ChildResult:
    return anyio.run(run_child_async, given)


RUNS = [pytest.param(run_child, id="blocking"), pytest.param(in_a_thread, id="async")]

Run = Callable[[ChildCommand], ChildResult]


def wait_until(condition: Callable[[], bool]) -> None:
    give_up = time.perf_counter() + 20
    while not condition():
        assert time.perf_counter() < give_up
        os.sched_yield()


@pytest.mark.parametrize("run", RUNS)
def test_it_ends_with_its_code_and_what_it_printed(run: Run, tmp_path: Path) -> None:
    given = command(
        'cat; echo "$A $(pwd)"; echo bad >&2; exit 3', stdin=b"fed ", environment={"A": "x"}, folder=tmp_path
    )
    done = run(given)
    assert (done.code, done.output, done.flooded) == (3, f"fed x {tmp_path}\nbad\n".encode(), False)


@pytest.mark.parametrize("run", RUNS)
def test_a_signal_is_a_negative_code(run: Run) -> None:
    assert run(command("kill -9 $$")).code == -9


@pytest.mark.parametrize("run", RUNS)
def test_one_that_cannot_be_started_raises_the_kernels_error(run: Run) -> None:
    with pytest.raises(FileNotFoundError):
        run(ChildCommand(argv=["/no/such"], environment={}, seconds=1, output_bytes=1))


def test_standard_error_goes_where_it_is_told_to() -> None:
    text = "echo out; echo err >&2"
    assert run_child(command(text, errors="apart")) == ChildResult(0, b"out\n", b"err\n")
    assert run_child(command(text, errors="nowhere")) == ChildResult(0, b"out\n")
    long = run_child(command("head -c 100000 /dev/zero >&2; echo last >&2", errors="apart")).errors
    assert len(long) == ERROR_BYTES
    assert long.endswith(b"last\n")


def test_one_that_floods_is_ended_with_the_beginning_of_what_it_printed() -> None:
    done = run_child(command("echo first; exec cat /dev/zero"))
    assert done.flooded
    assert len(done.output) == 1000
    assert done.output.startswith(b"first\n")


def test_of_one_that_floods_the_end_is_kept_if_that_is_asked_for() -> None:
    done = run_child(command("head -c 3000000 /dev/zero; echo last", keep="end"))
    assert (done.code, done.flooded, len(done.output)) == (0, False, 1000)
    assert done.output.endswith(b"\0last\n")


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    "text", ["trap '' TERM; sleep 600 & echo $!; wait", "sleep 600 & echo $!; exec >&- 2>&-; wait"]
)
def test_one_that_takes_too_long_is_ended_with_all_it_started(run: Run, text: str) -> None:
    done = run(command(text, seconds=0.5))
    assert done.code is None
    child = int(done.output)
    wait_until(lambda: not alive(child))


@pytest.mark.parametrize("run", RUNS)
def test_what_it_leaves_running_holds_up_nobody_and_is_ended(run: Run) -> None:
    done = run(command("sleep 600 & echo $!"))
    assert done.code == 0
    wait_until(lambda: not alive(int(done.output)))


def test_a_process_that_left_the_group_and_writes_on_for_ever_holds_up_nobody() -> None:
    """It is not a child of ours any more; containment is for that. This waits for it neither at the end nor at any read."""
    began = time.perf_counter()
    done = run_child(
        command(
            "setsid sh -c 'echo $$; exec timeout 20 cat /dev/zero' & sleep 0.3", keep="end", output_bytes=2 * MOST_LEFT
        )
    )
    assert done.code == 0
    assert time.perf_counter() - began < 15


@pytest.mark.parametrize("run", RUNS)
def test_one_that_does_not_read_what_it_is_given_is_fine(run: Run) -> None:
    assert run(command("exec 0<&-; echo ok", stdin=b"x" * 1_000_000)) == ChildResult(0, b"ok\n")


def test_it_hears_all_it_is_given_however_much_it_says_meanwhile() -> None:
    given = b"x" * 3_000_000
    assert run_child(command("cat", stdin=given, output_bytes=4_000_000)).output == given


def test_it_has_no_terminal_and_a_session_of_its_own_and_stands_back() -> None:
    done = run_child(command("ps -o sid=,nice= -p $$; echo $$; (: < /dev/tty) 2>/dev/null || echo none", niceness=5))
    session, nice, pid, terminal = done.output.split()
    assert (session, nice, terminal) == (pid, b"5", b"none")


async def test_a_caller_that_gives_up_leaves_nothing_and_gets_no_result(tmp_path: Path) -> None:
    told = tmp_path / "child"
    got = []
    async with anyio.create_task_group() as tasks:

        async def wait_for_it() -> None:
            got.append(await run_child_async(command(f"sleep 600 & echo $! > {told}.new; mv {told}.new {told}; wait")))

        tasks.start_soon(wait_for_it)
        with anyio.fail_after(20):
            while not told.exists():
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert not got
    with anyio.fail_after(20):
        while alive(int(told.read_text())):
            await anyio.sleep(0.01)


async def test_programs_of_any_number_run_side_by_side(tmp_path: Path) -> None:
    """More than the loop has threads: each waits for the last."""
    last = tmp_path / "last"
    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(run_child_async, command(f"while ! test -e {last}; do sleep 0.1; done"))
        await run_child_async(command(f"touch {last}"))


async def test_no_descriptor_is_left_open() -> None:
    async def each() -> None:
        await run_child_async(command("echo x", stdin=b"x", errors="apart"))
        await run_child_async(command("sleep 9", seconds=0.05))
        with pytest.raises(OSError, match="No such file"):
            await run_child_async(ChildCommand(argv=["/no/such"], environment={}, seconds=1, output_bytes=1))

    await each()
    before = len(list(Path("/proc/self/fd").iterdir()))
    await each()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
