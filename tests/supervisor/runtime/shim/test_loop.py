"""What a shim does with a tree, with floods, with a full disk, and at the end."""

import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from supervisor.runtime.processes.shim_events import Accepted, CliOutput, Exited, Fault, Frozen, TreeKilled
from supervisor.runtime.processes.shim_remains import read_exit_record
from supervisor.runtime.shim import process_tree, wire
from supervisor.runtime.shim.pipes import STDERR_CAP_BYTES, TAIL_BYTES

Yard = Any  # the fixture's class lives in conftest.py, which is not importable by name

DAEMON = (
    "import os, sys\n"
    "if os.fork(): os.wait(); print('up', flush=True); input()\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "os.close(1); os.close(2)\n"
    "os.execvp('sleep', ['sleep', '300'])\n"
)
TREES = {
    "two in the background of a subshell": ("sh", "(sleep 300 & sleep 300) & echo up; read x", 3),
    "a session of its own": ("sh", "setsid sleep 300 >/dev/null 2>&1 & echo up; read x", 2),
    "a daemon by double fork": ("python", DAEMON, 2),
    "one that ignores what can be ignored": ("sh", "trap '' TERM HUP INT; sleep 300 & echo up; read x", 2),
    "twenty": ("sh", "for i in $(seq 20); do setsid sleep 300 & done; echo up; read x", 21),
}


@pytest.mark.parametrize("how", TREES)
async def test_after_end_tree_no_process_of_the_agent_is_left(both: Yard, how: str) -> None:
    kind, script, size = TREES[how]
    shim = await getattr(both, kind)(script)
    await both.read_until(shim, b"up\n")
    both.eventually(lambda: len(both.living()) >= size)
    shim.end_tree()
    events = await both.everything(shim)
    assert not both.living()
    (ended,) = [event for event in events if isinstance(event, TreeKilled)]
    assert ended.left == 0
    record = events[-1].record
    assert (record.code, record.signal, record.left) == (None, signal.SIGKILL, 0)
    assert len(record.ended_with_it) >= size - 1


@pytest.mark.parametrize("how", ["a session of its own", "a daemon by double fork"])
async def test_what_the_cli_leaves_running_ends_with_it(both: Yard, how: str) -> None:
    kind, script, _ = TREES[how]
    shim = await getattr(both, kind)(script)
    await both.read_until(shim, b"up\n")
    both.eventually(lambda: both.names().count("sleep") == 1)
    shim.send_line("go", b"\n")
    _, record = await both.finish(shim)
    assert not both.living()
    assert [entry.partition(" ")[2] for entry in record.ended_with_it] == ["sleep"]


BUSY = "while :; do :; done & setsid sh -c 'while :; do :; done' & echo up; read x"


def cpu_ticks(pids: set[int]) -> int:
    """User and system time of these processes, in clock ticks."""
    fields = [process_tree.stat_fields(f"/proc/{pid}/stat") for pid in pids]
    return sum(int(field[11]) + int(field[12]) for field in fields if field)


def burn(seconds: float) -> None:
    """Let time pass in which others could run."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


async def test_frozen_processes_stand_still_and_go_on_when_thawed(both: Yard) -> None:
    shim = await both.sh(BUSY)
    await both.read_until(shim, b"up\n")
    both.eventually(lambda: len(both.living()) >= 3)
    everybody = both.living()
    both.eventually(lambda: cpu_ticks(everybody) > 2)
    shim.freeze("f1")
    frozen = await both.next_of(shim, Frozen)
    assert frozen.micros < 1_000_000
    assert frozen.id == "f1", "the answer names the freeze"
    if both.group is None:
        assert {state for pid in everybody for state in process_tree.states(pid)} == {"T"}
    else:
        assert "frozen 1" in (both.group / "cgroup.events").read_text()
    before = cpu_ticks(everybody)
    burn(0.1)
    assert cpu_ticks(everybody) == before
    shim.thaw()
    both.eventually(lambda: cpu_ticks(everybody) > before)
    shim.end_tree()
    await both.finish(shim)


async def test_a_frozen_tree_can_be_ended(both: Yard) -> None:
    shim = await both.sh(BUSY)
    await both.read_until(shim, b"up\n")
    shim.freeze("f1")
    await both.next_of(shim, Frozen)
    shim.end_tree()
    assert (await both.next_of(shim, TreeKilled)).left == 0
    await both.finish(shim)
    assert not both.living()


async def test_an_agent_that_is_for_one_daemon_alone_ends_with_it(both: Yard) -> None:
    script = "setsid sleep 300 >/dev/null 2>&1 & echo up; read x"
    shim = await both.sh(script, ends_with_daemon=True)
    await both.read_until(shim, b"up\n")
    both.eventually(lambda: len(both.living()) >= 2)
    shim.close()
    both.eventually(lambda: not both.living())
    both.eventually((both.directories[0] / "exit.json").exists)
    record = await anyio.to_thread.run_sync(read_exit_record, both.directories[0])
    assert record is not None
    assert (record.signal, record.left) == (signal.SIGKILL, 0)


async def test_another_daemon_that_takes_over_ends_no_agent(both: Yard) -> None:
    shim = await both.sh("echo up; read x; echo $x", ends_with_daemon=True)
    await both.read_until(shim, b"up\n")
    next_one = await both.attach(both.directories[0])
    shim.close()
    next_one.send_line("go", b"on\n")
    output, record = await both.finish(next_one)
    assert (output, record.code) == (b"up\non\n", 0)


async def test_terminate_reaches_the_cli_alone(both: Yard) -> None:
    shim = await both.sh("trap 'echo told; exit 7' TERM; sleep 300 >/dev/null 2>&1 & echo up; wait")
    await both.read_until(shim, b"up\n")
    shim.terminate()
    output, record = await both.finish(shim)
    assert (output, record.code) == (b"told\n", 7)
    assert not both.living()


# ── floods ──


async def test_a_flood_of_error_output_is_capped_counted_and_its_end_kept(yard: Yard) -> None:
    extra = 3_000_000
    shim = await yard.python(
        f"import sys\nleft = {STDERR_CAP_BYTES + extra}\nwhile left:\n n = min(left, 1 << 20)\n"
        " sys.stderr.buffer.write(b'e' * n); left -= n\nsys.stderr.buffer.write(b'the last words')"
    )
    _, record = await yard.finish(shim)
    assert (shim.directory / "err.log").stat().st_size == STDERR_CAP_BYTES
    assert record.stderr_dropped == extra + len("the last words")
    assert record.stderr_tail.endswith("eethe last words")
    assert len(record.stderr_tail) == TAIL_BYTES


async def test_a_cli_that_does_not_read_does_not_stop_the_shim(yard: Yard) -> None:
    shim = await yard.sh("echo up; sleep 300")
    await yard.read_until(shim, b"up\n")
    for number in range(8):
        shim.send_line(f"k{number}", b"x" * 1_000_000 + b"\n")
    shim.freeze("f1")
    keys, frozen = [], False
    async for event in shim.events():
        keys += [event.key] if isinstance(event, Accepted) else []
        frozen = frozen or isinstance(event, Frozen)
        if frozen:
            break
    assert keys == [f"k{number}" for number in range(8)]
    shim.end_tree()
    _, record = await yard.finish(shim)
    assert (record.lines_taken, record.lines_written) == (8, 0)


async def test_lines_queued_for_a_slow_reader_arrive_whole_and_in_order(yard: Yard) -> None:
    shim = await yard.python("import sys\ninput('go?')\nprint(sum(1 for line in sys.stdin if len(line) == 500_001))")
    for number in range(10):
        shim.send_line(f"k{number}", b"y" * (500_000 if number else 1) + b"\n")
    shim.close_input()
    output, record = await yard.finish(shim)
    assert output == b"go?9\n"
    assert record.lines_written == 10


async def test_a_full_disk_makes_the_cli_wait_and_loses_nothing(yard: Yard) -> None:
    """The limit on file size stands for the disk: the kernel refuses the write in the same place."""
    shim = await yard.python("import os\ninput()\nfor n in range(1000): os.write(1, b'%05d\\n' % n * 200)")
    _, hard = resource.prlimit(shim.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(shim.pid, resource.RLIMIT_FSIZE, (300_000, hard))
    shim.send_line("go", b"\n")
    fault = await yard.next_of(shim, Fault)
    assert fault.text.startswith(f"{shim.directory}/out.log of agent 'a1' cannot be written (")
    assert fault.kind == wire.OUTPUT_UNWRITABLE
    assert (shim.directory / "out.log").stat().st_size == 300_000
    resource.prlimit(shim.pid, resource.RLIMIT_FSIZE, (hard, hard))
    _, record = await yard.finish(shim)
    assert (shim.directory / "out.log").read_bytes() == b"".join(b"%05d\n" % n * 200 for n in range(1000))
    assert (record.code, record.out_size) == (0, 1_200_000)


# ── who may connect ──

KNOCK = (
    "import os, socket, sys\n"
    "fd = os.open(sys.argv[1], os.O_PATH)\n"
    "s = socket.socket(socket.AF_UNIX)\n"
    "s.connect(f'/proc/self/fd/{fd}/shim.sock')\n"
    "print(len(s.recv(5)), flush=True)\n"
)
KNOCK_AS_A_DAEMON = f"import os\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  exec({KNOCK!r})\n"


@pytest.mark.parametrize("knock", [KNOCK, KNOCK_AS_A_DAEMON], ids=["child", "daemon"])
async def test_a_process_of_the_agent_is_refused_by_its_own_shim(both: Yard, knock: str) -> None:
    directory = both.root / "a"
    both.directories.append(directory)
    shim = await both.python(knock, str(directory), directory=directory)
    output, _ = await both.finish(shim)
    assert output == b"0\n"
    assert "Refused a connection of process" in (directory / "shim.log").read_text()


async def test_a_process_of_another_agent_is_refused(yard: Yard) -> None:
    """It could have answered the gate of this agent in the daemon's place, and ended all its processes."""
    shim = await yard.sh("echo up; read x")
    await yard.read_until(shim, b"up\n")
    knock = f"""
import os, socket
os.chdir({str(shim.directory)!r})
connection = socket.socket(socket.AF_UNIX)
connection.connect("shim.sock")
print(connection.recv(100), flush=True)
"""
    other = await yard.python(knock)
    assert await yard.read_until(other, b"\n") == b"b''\n"
    shim.thaw()
    shim.end_tree()
    await yard.next_of(shim, Exited)


async def test_the_same_knock_from_outside_is_answered(yard: Yard) -> None:
    shim = await yard.launch("cat")
    knock = subprocess.run(
        [sys.executable, "-c", KNOCK, str(shim.directory)], capture_output=True, check=True, timeout=20
    )
    assert knock.stdout == b"5\n"


async def test_commands_that_cannot_be_read_are_faults_and_the_agent_goes_on(yard: Yard) -> None:
    shim = await yard.launch("cat")
    bad = [b"garbage", b"[]", b'{"op":"dance"}', b'{"op":"attach","offset":"x"}', b'{"op":"line","key":[],"line":""}',
           b"[" * 100_000]  # fmt: skip
    connection = shim._connection
    for line in bad:
        connection.setblocking(True)
        connection.sendall(line + b"\n")
        connection.setblocking(False)
        fault = await yard.next_of(shim, Fault)
        assert (fault.kind, "cannot read" in fault.text) == (wire.COMMAND_UNREADABLE, True)
    shim.send_line("k", b"on it goes\n")
    assert await yard.read_until(shim, b"\n") == b"on it goes\n"


# ── the end ──


@pytest.mark.parametrize(
    ("script", "code", "number"), [("exit 3", 3, None), ("kill -9 $$", None, 9), ("kill -15 $$", None, 15)]
)
async def test_the_record_tells_code_or_signal(both: Yard, script: str, code: int | None, number: int | None) -> None:
    _, record = await both.finish(await both.sh(script))
    assert (record.code, record.signal) == (code, number)


async def test_the_record_has_what_the_cli_used(yard: Yard) -> None:
    shim = await yard.python("import time\nx = b'x' * 50_000_000\nwhile time.process_time() < 0.1: pass")
    _, record = await yard.finish(shim)
    assert 0.1 <= record.user_seconds + record.system_seconds < 60
    assert record.max_rss_kib > 50_000


async def test_a_grandchild_that_holds_the_output_open_delays_the_end_for_a_bounded_time(both: Yard) -> None:
    shim = await both.sh("sleep 300 & echo last words")
    started = time.perf_counter()
    output, record = await both.finish(shim)
    assert output == b"last words\n"
    assert [entry.partition(" ")[2] for entry in record.ended_with_it] == ["sleep"]
    assert time.perf_counter() - started < 100
    assert not both.living()


async def test_what_a_grandchild_says_before_the_end_is_kept(yard: Yard) -> None:
    shim = await yard.python(
        "import os\nparent = os.getpid()\nif os.fork(): os._exit(0)\n"
        "while os.getppid() == parent: pass\nos.write(1, b'after it')"
    )
    output, record = await yard.finish(shim)
    assert output == b"after it"
    assert record.code == 0


GIVES_ITS_OUTPUT_AWAY = (
    "import socket, sys, time\n"
    "with socket.socket(socket.AF_UNIX) as friend:\n"
    "    friend.connect(sys.argv[1])\n"
    "    socket.send_fds(friend, [b'.'], [1])\n"
    "time.sleep(300)\n"
)


@pytest.mark.slow
async def test_a_stranger_who_holds_the_output_open_and_writes_on_does_not_keep_the_agent_from_ending(
    yard: Yard, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "friend"))
        listener.listen()
        shim = await yard.python(GIVES_ITS_OUTPUT_AWAY, str(tmp_path / "friend"))
        friend, _ = await anyio.to_thread.run_sync(listener.accept)
    with friend:
        output = socket.recv_fds(friend, 1, 1)[1][0]
    with subprocess.Popen(["yes"], stdout=output) as stranger:
        os.close(output)
        try:
            await yard.next_of(shim, CliOutput)
            shim.end_tree()
            events = await yard.everything(shim)
        finally:
            stranger.kill()
    assert isinstance(events[-1], Exited)
    last = [event for event in events if isinstance(event, CliOutput)][-1]
    assert events[-1].record.out_size == last.offset + len(last.data) == (shim.directory / "out.log").stat().st_size


async def test_a_shim_that_fails_ends_the_agent_and_writes_down_why(yard: Yard) -> None:
    """Out of memory in the middle of a command: nobody could watch the CLI from here on."""
    shim = await yard.sh("setsid sleep 300 & echo up; read x")
    await yard.read_until(shim, b"up\n")
    size = int(process_tree.read(f"/proc/{shim.pid}/statm").split()[0]) * resource.getpagesize()
    resource.prlimit(shim.pid, resource.RLIMIT_AS, (size + 4_000_000, resource.RLIM_INFINITY))
    shim.send_line("big", b"x" * 20_000_000)
    await yard.everything(shim)
    yard.eventually(lambda: read_exit_record(shim.directory) is not None)
    record = read_exit_record(shim.directory)
    assert record is not None
    assert "The process that holds the CLI failed, so the agent was ended: MemoryError" in (record.error or "")
    assert "in commands" in (shim.directory / "shim.log").read_text()
    assert not yard.living()


async def test_a_late_daemon_still_hears_of_the_end(yard: Yard) -> None:
    """The first takes nothing; the second, come after the end, gets all output and the record."""
    first = await yard.python("print('x' * 3_000_000)")
    yard.eventually(lambda: read_exit_record(first.directory) is not None)
    second = await yard.attach(first.directory, 1_000_000)
    output, record = await yard.finish(second)
    assert (len(output), record.out_size) == (2_000_001, 3_000_001)
