"""Where groups are made, from what the kernel says of mounts, and on this machine's real cgroups."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from supervisor.runtime.processes.bounds import cgroups
from supervisor.runtime.processes.bounds.cgroups import Ceiling, Containment, ContainmentError, Uncontained, own_group

HYBRID = (
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
)
UNIFIED = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
PART = "35 24 0:30 /machine/c1 /sys/fs/cgroup\\040v2 rw - cgroup2 cgroup2 rw\n"


@pytest.mark.parametrize(
    ("mounts", "membership", "expected"),
    [
        (HYBRID, "4:memory:/api\n0::/\n", "/sys/fs/cgroup/unified"),
        (UNIFIED, "0::/system.slice/chaperon.service\n", "/sys/fs/cgroup/system.slice/chaperon.service"),
        (PART, "0::/machine/c1/x\n", "/sys/fs/cgroup v2/x"),
        (PART, "0::/machine/c1\n", "/sys/fs/cgroup v2"),
        (PART, "0::/machine/c12\n", None),
        (HYBRID, "4:memory:/api\n", None),
        ("32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "1:cpu:/\n", None),
    ],
)
def test_our_group_is_found_from_mounts_and_membership(mounts: str, membership: str, expected: str | None) -> None:
    assert own_group(mounts, membership) == (Path(expected) if expected else None)


def test_a_ceiling_becomes_the_kernels_files() -> None:
    ceiling = Ceiling(memory_high_bytes=1 << 30, memory_max_bytes=2 << 30, cpu_cores=1.5, pids_max=500)
    assert ceiling.settings() == {
        "memory.high": "1073741824", "memory.max": "2147483648", "cpu.max": "150000 100000", "pids.max": "500",
    }  # fmt: skip
    assert Ceiling().settings() == {}


def test_a_directory_that_is_no_cgroup_is_not_delegated(tmp_path: Path) -> None:
    assert not cgroups.is_delegated(tmp_path)


@pytest.fixture
def found(groups: Any) -> Containment:
    if isinstance(groups, Uncontained):
        pytest.skip(groups.reason)
    assert isinstance(groups, Containment)
    return groups


def test_a_group_is_made_once_and_removed_with_whoever_is_in_it(found: Containment) -> None:
    group = found.make("made")
    with pytest.raises(ContainmentError, match="could not be made"):
        found.make("made")
    enter = f"echo 0 > {group}/cgroup.procs && mkdir {group}/below && echo up && exec sleep 300"
    with subprocess.Popen(["/bin/sh", "-c", enter], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        assert cgroups.remove(group)
        assert process.wait(60) == -9
    assert not group.exists()
    assert cgroups.remove(group)


def test_groups_of_agents_that_do_not_live_are_removed(found: Containment) -> None:
    for name in ("old1", "lives", "old2"):
        found.make(name)
    ours = {entry.name for entry in found.agents.iterdir() if entry.is_dir()} - {"old1", "old2"}
    assert found.remove_stale(ours) == ["old1", "old2"]
    assert (found.agents / "lives").exists()
    assert cgroups.remove(found.agents / "lives")


def test_the_groups_above_the_agents_go_with_the_last_agent(found: Containment) -> None:
    own = Containment.find(f"{found.agents.parent.name}-leaving")
    assert isinstance(own, Containment)
    group = own.make("last")
    assert not own.leave()
    assert group.exists()
    assert cgroups.remove(group)
    assert own.leave()
    assert not own.agents.parent.exists()


def test_limits_that_have_no_controller_are_named(found: Containment) -> None:
    group = found.make("limited")
    missing = found.limit(group, Ceiling(memory_max_bytes=1 << 30, pids_max=100))
    expected = {name for name in ("memory.max", "pids.max") if name.partition(".")[0] not in found.controllers}
    assert set(missing) == expected
    assert bool(found.why_no_limits) == bool(set(cgroups.CONTROLLERS) - found.controllers)
    assert cgroups.remove(group)


@pytest.mark.parametrize("name", ["../x", "a/b", "cgroup.procs"])
def test_a_name_that_would_be_another_place_is_refused(found: Containment, name: str) -> None:
    with pytest.raises(ContainmentError, match="cannot name a cgroup"):
        found.make(name)
