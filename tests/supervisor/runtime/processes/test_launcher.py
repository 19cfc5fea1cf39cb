import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from monitors.contract.tasks import Limits, Task
from supervisor.config.environment import GATE_ARGUMENTS
from supervisor.config.model import Agent
from supervisor.protocol.commands import Launch
from supervisor.runtime.processes import shim_client
from supervisor.runtime.processes.bounds.cgroups import Containment, Uncontained
from supervisor.runtime.processes.launcher import WIRE, ProcessLauncher, arguments
from supervisor.runtime.shim import process_tree
from tests.stages.daemon import Base

NONE = Uncontained("none here")


def launch(base: Base, **about: object) -> Launch:
    task = Task("t-1", "go", str(base.repo), **about)  # type: ignore[arg-type]
    return Launch(task, str(base.repo), "00000000-0000-0000-0000-000000000001")


def launcher(base: Base, containment: Containment | Uncontained = NONE, **agent: object) -> ProcessLauncher:
    settings = Agent.model_validate({"command": str(base.command), **agent})
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(base.home), "SECRET": "x", "ANTHROPIC_API_KEY": "k"}
    return ProcessLauncher(settings, environ, base.places.agents, containment)


def test_a_new_task_begins_a_session_of_the_id_it_was_given(base: Base) -> None:
    found = arguments(launch(base, model="opus"))
    assert found[: len(WIRE)] == list(WIRE)
    assert "--session-id=00000000-0000-0000-0000-000000000001" in found
    assert "--model=opus" in found


def test_a_task_that_goes_on_resumes_its_session(base: Base) -> None:
    found = arguments(launch(base, resume_session="00000000-0000-0000-0000-000000000009"))
    assert "--resume=00000000-0000-0000-0000-000000000009" in found
    assert not any(argument.startswith("--session-id") for argument in found)


def test_the_gates_arguments_come_last_and_the_environment_is_clean(base: Base) -> None:
    spec = launcher(base, arguments=("--effort", "low"), environment={"MORE": "1"})._spec("a1", launch(base))
    assert spec.argv[0] == str(base.command)
    assert tuple(spec.argv[-len(GATE_ARGUMENTS) :]) == GATE_ARGUMENTS
    assert spec.env.items() >= {"MORE": "1", "ANTHROPIC_API_KEY": "k"}.items()
    assert "SECRET" not in spec.env


def test_an_agent_can_have_a_configuration_directory_of_its_own(base: Base) -> None:
    spec = launcher(base, own_config_dir=True)._spec("a1", launch(base))
    assert spec.env["CLAUDE_CONFIG_DIR"] == str(base.places.agents / "a1" / "claude")


async def test_a_cli_that_cannot_be_used_is_a_launch_error_with_its_way_out(base: Base) -> None:
    with pytest.raises(shim_client.LaunchError, match="cannot be used") as caught:
        await launcher(base, command="/nowhere/claude").launch("a1", launch(base))
    assert "agent.command" in caught.value.way_out


async def test_a_directory_that_cannot_be_made_is_a_launch_error(base: Base) -> None:
    base.places.state.mkdir()
    base.places.agents.write_text("in the way")
    with pytest.raises(shim_client.LaunchError, match="was not started"):
        await launcher(base).launch("a1", launch(base))


async def test_a_launch_that_fails_leaves_no_control_group_and_one_left_behind_is_no_hindrance(base: Base) -> None:
    contained = await anyio.to_thread.run_sync(Containment.find, "test-launcher")
    if isinstance(contained, Uncontained):
        pytest.skip(contained.reason)
    try:
        await anyio.to_thread.run_sync(contained.make, "a1")
        (base.places.agents / "a1").mkdir(parents=True)
        (base.places.agents / "a1" / "exit.json").write_text("{}")
        with pytest.raises(shim_client.LaunchError, match="belongs to an earlier launch"):
            await launcher(base, contained).launch("a1", launch(base, limits=Limits()))
        assert not await anyio.to_thread.run_sync(Path(contained.agents / "a1").exists)
    finally:
        assert await anyio.to_thread.run_sync(contained.leave)


def groups_with_pids() -> Iterator[Path]:
    """Where control groups can bound processes here, in either version of them: ours, if we may make groups there."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, kind, options = Path(line.split()[4]), *line.partition(" - ")[2].split()[::2]
        controllers = mount / "cgroup.controllers"
        bounds = (
            "pids" in options.split(",")
            if kind == "cgroup"
            else controllers.exists() and "pids" in controllers.read_text()
        )
        if kind.startswith("cgroup") and bounds and os.access(mount / "cgroup.procs", os.W_OK):
            yield mount


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "most"), [({}, "4096"), ({"max_processes": 9}, "9"), ({"max_processes": None}, "max")]
)
def test_an_agents_group_bounds_its_processes(base: Base, settings: dict[str, object], most: str) -> None:
    """A bomb of one agent made the calls of the others fail."""
    mount = next(groups_with_pids(), None)
    if mount is None:
        pytest.skip("no control group bounds processes here")
    agents = mount / f"chaperon-test{os.getpid()}"
    agents.mkdir()
    try:
        group = (
            launcher(base, Containment(agents, frozenset({"pids"}), ""), **settings)._spec("a1", launch(base)).cgroup
        )
        assert group is not None
        assert (group / "pids.max").read_text() == f"{most}\n"
        if most == "9":
            bomb = f"echo $$ > {group}/cgroup.procs; for n in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 9 & done; wait -n"
            with subprocess.Popen(["/bin/bash", "-c", bomb], stderr=subprocess.PIPE, text=True) as bash:
                assert bash.stderr is not None
                said = bash.stderr.readline()  # of its first try: it tries again for seconds
                for pid in (group / "cgroup.procs").read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
            assert "Resource temporarily unavailable" in said
    finally:
        for directory in (agents / "a1", agents):
            deadline = process_tree.now() + 10
            while directory.exists() and process_tree.now() < deadline:
                with suppress(OSError):
                    directory.rmdir()
                process_tree.pause()
