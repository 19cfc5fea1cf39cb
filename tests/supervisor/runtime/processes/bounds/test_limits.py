"""Limits, asserted on the real processes of a real CLI."""

import os
import resource
from collections.abc import Callable
from pathlib import Path

import anyio
import psutil
import pytest

from interventions.decisions import LimitsInForce
from monitors.contract.tasks import Limits
from supervisor.protocol import events
from supervisor.protocol.words import AgentState
from supervisor.runtime.processes.bounds.cgroups import Ceiling, Containment
from supervisor.runtime.processes.bounds.limits import Enforcer
from tests.stages.house import SECONDS, bash, house, say
from tests.support import alive

BUSY = "timeout 40 python3 -c 'while True: pass # busy'"
BUSY_AND_THEN = f"{BUSY} & sleep 2; kill %1; wait; echo over"


async def until(claim: Callable[[], bool]) -> None:
    with anyio.fail_after(SECONDS):
        while not claim():
            await anyio.sleep(0.02)


async def pace_of(process: psutil.Process, cpu_seconds: float = 0.6) -> float:
    """Processor time per time, over so much of the former."""

    def used() -> float:
        times = process.cpu_times()
        return times.user + times.system

    begun, before = anyio.current_time(), used()
    await until(lambda: used() - before >= cpu_seconds)
    return (used() - before) / (anyio.current_time() - begun)


def data_limit(process: psutil.Process) -> int:
    return int(process.rlimit(resource.RLIMIT_DATA)[0])


@pytest.mark.real_cli
async def test_a_throttled_tree_gets_less_of_the_processor_and_of_memory_until_its_limits_ease(tmp_path: Path) -> None:
    async with house(tmp_path, bash(BUSY, timeout=60_000), say("Done.")) as made:
        await made.submit()
        busy = await made.process("busy")
        cli = psutil.Process(made.daemon.board.summary("a1").cli_pid)
        usual, nice, oom = busy.ionice(), busy.nice(), Path(f"/proc/{busy.pid}/oom_score_adj").read_text()
        assert data_limit(busy) == resource.RLIM_INFINITY

        made.throttle(cpu_share=0.3, max_memory_mb=900)
        await until(lambda: data_limit(busy) == 900 << 20)
        assert data_limit(cli) == resource.RLIM_INFINITY, "a CLI that cannot allocate would die"
        assert (int(busy.ionice().ioclass), busy.ionice().value) == (psutil.IOPRIO_CLASS_BE, 7)
        assert int(Path(f"/proc/{busy.pid}/oom_score_adj").read_text()) == 500
        assert busy.nice() > nice
        assert await pace_of(busy) < 0.7, "0.3, and what a late freeze on a busy machine lets through"
        assert made.events(events.TreeFrozen) == [], "the turns of a throttling are no news"

        made.ease()
        await until(lambda: data_limit(busy) == resource.RLIM_INFINITY)
        assert (busy.ionice(), busy.nice()) == (usual, nice)
        assert Path(f"/proc/{busy.pid}/oom_score_adj").read_text() == oom
        assert busy.status() in (psutil.STATUS_RUNNING, psutil.STATUS_SLEEPING)


@pytest.mark.real_cli
async def test_a_throttled_agent_gets_on_is_told_its_limits_and_thinks_less_from_its_next_turn_on(
    tmp_path: Path,
) -> None:
    async with house(tmp_path, bash(BUSY_AND_THEN), say("One."), say("Two.")) as made:
        await made.submit(keep_open=True)
        await made.process("busy")
        made.throttle(cpu_share=0.2, effort="low")
        await made.until(events.StateChanged, lambda event: event.after is AgentState.IDLE)
        assert "[chaperon] Slower." in made.told()
        await made.daemon.request(events.SayRequested(**made.daemon.stamp("a1"), id="s1", text="more", by="test"))
        await made.until(events.LineReceived, lambda event: "Two." in str(event.frame))
        efforts = [request.body.get("output_config", {}).get("effort") for request in made.model.requests]
        assert efforts[0] != "low"
        assert efforts[-1] == "low"


@pytest.mark.real_cli
async def test_an_emergency_stop_of_a_throttled_tree_freezes_and_ends_it_for_good(tmp_path: Path) -> None:
    async with house(tmp_path, bash(BUSY, timeout=60_000)) as made:
        await made.submit()
        busy = await made.process("busy")
        usual = busy.nice()
        made.throttle(cpu_share=0.1)
        await until(lambda: busy.nice() > usual)
        await made.daemon.request(events.StopRequested(**made.daemon.stamp("a1"), by="test", force=True))
        assert (await made.ended()).after is AgentState.STOPPED
        assert len(made.events(events.TreeFrozen)) == 1
        assert not alive(busy.pid)


class ToyShim:
    """Notes what it is asked."""

    pid = cli_pid = 2**22 + 1
    containment = "subreaper"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.ids: list[str] = []

    def freeze(self, id_: str) -> None:
        self.asked.append("freeze")
        self.ids.append(id_)

    def thaw(self) -> None:
        self.asked.append("thaw")


LOW = LimitsInForce(Limits(), cpu_share=0.5)


def nothing_set(ceiling: Ceiling) -> tuple[str, ...]:
    return tuple(ceiling.settings())


async def test_nothing_is_frozen_while_an_answer_is_due() -> None:
    shim, due = ToyShim(), True
    enforcer = Enforcer(shim, nothing_set, lambda: due)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(enforcer.run)
        await enforcer.apply(LOW, 4_096)
        with anyio.move_on_after(0.6):
            await until(lambda: bool(shim.asked))
        assert shim.asked == []
        due = False
        await until(lambda: shim.asked[:2] == ["freeze", "thaw"])
        tasks.cancel_scope.cancel()


async def test_a_line_for_the_cli_ends_a_freeze_at_once_and_a_stop_ends_them_for_good() -> None:
    shim = ToyShim()
    enforcer = Enforcer(shim, nothing_set, lambda: False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(enforcer.run)
        await enforcer.apply(LOW, 4_096)
        await until(lambda: shim.asked[-1:] == ["freeze"])
        enforcer.answering()
        assert shim.asked[-2:] == ["freeze", "thaw"]
        assert all(enforcer.is_own(id_) for id_ in shim.ids)
        assert not enforcer.is_own("session"), "whoever else froze the tree waits for the answer"
        assert enforcer.is_own(""), "a shim of an older version names no id"
        await until(lambda: shim.asked[-1:] == ["freeze"])
        enforcer.stand_back(thaw=False)
        assert not enforcer.is_own(""), "the freeze of the end is answered without an id as well"
        asked = [*shim.asked]
        with anyio.move_on_after(0.6):
            await until(lambda: shim.asked != asked)
        assert shim.asked == asked
        tasks.cancel_scope.cancel()


async def test_a_kernel_that_keeps_the_limits_needs_no_freezing() -> None:
    shim, ceilings = ToyShim(), []

    def takes_all(ceiling: Ceiling) -> tuple[str, ...]:
        ceilings.append(ceiling)
        return ()

    enforcer = Enforcer(shim, takes_all, lambda: False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(enforcer.run)
        await enforcer.apply(LOW, 4_096)
        with anyio.move_on_after(0.6):
            await until(lambda: bool(shim.asked))
        tasks.cancel_scope.cancel()
    assert shim.asked == []
    assert ceilings[0].memory_high_bytes == 8_192 << 20
    assert ceilings[0].cpu_cores is not None


@pytest.mark.parametrize("share", [0.85, 0.7, 0.5])
def test_each_grade_of_a_throttle_is_written_to_the_files_of_a_control_group(tmp_path: Path, share: float) -> None:
    containment = Containment(tmp_path, frozenset({"cpu", "memory"}), "")
    group = containment.make("agent")
    for name in ("cpu.max", "memory.high"):
        (group / name).write_text("max")

    async def applied(limits: Limits, share: float) -> None:
        enforcer = Enforcer(ToyShim(), lambda ceiling: containment.limit(group, ceiling), lambda: False)
        await enforcer.apply(LimitsInForce(limits, cpu_share=share), 4_096)

    def cores() -> float:
        given, period = (int(word) for word in (group / "cpu.max").read_text().split())
        return given / period

    every = os.cpu_count() or 1
    anyio.run(applied, Limits(max_memory_mb=1_000), share)
    assert cores() == pytest.approx(share * every, rel=0.001)
    assert (group / "memory.high").read_text() == str(1_000 << 20)
    anyio.run(applied, Limits(max_memory_mb=4_096), 1.0)
    assert cores() == every, "as if there were no limit"
    assert (group / "memory.high").read_text() == str(4_096 << 20)
