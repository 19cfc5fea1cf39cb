"""Who runs in a directory, by pid, start time and boot."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from supervisor.protocol.identity import Identity
from supervisor.runtime.processes.identity import is_running, read_identity
from supervisor.runtime.shim import process_tree

OURS = Identity(
    agent="a1", nonce="n", cgroup=None, boot_id=process_tree.read("/proc/sys/kernel/random/boot_id").strip(),
    shim_pid=os.getpid(), shim_start_ticks=process_tree.start_ticks(os.getpid()), cli_pid=os.getppid(), cli_start_ticks=1, started_at=0.0,
)  # fmt: skip


def test_a_process_is_itself_by_pid_start_and_boot() -> None:
    assert is_running(OURS)


def test_a_reused_pid_is_somebody_else() -> None:
    assert not is_running(replace(OURS, shim_start_ticks=OURS.shim_start_ticks - 1))


def test_nobody_outlives_a_boot() -> None:
    assert not is_running(replace(OURS, boot_id="of another day"))


def test_an_identity_reads_back_as_written(tmp_path: Path) -> None:
    assert read_identity(tmp_path) is None
    (tmp_path / "agent.json").write_text(json.dumps(asdict(OURS)))
    assert read_identity(tmp_path) == OURS


@pytest.mark.parametrize(
    "change",
    [
        {"shim_pid": -1}, {"cli_pid": 0}, {"cli_pid": 1}, {"cli_pid": "7"}, {"shim_pid": None}, {"mark": -1}, {"agent": 7},
        {"cgroup": 7}, {"nonce": []}, {"started_at": "x"}, {"boot_id": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_file_that_a_program_of_the_agent_changed_names_nobody_whom_we_would_end(
    tmp_path: Path, change: dict[str, object]
) -> None:
    """A signal to process -1 goes to everybody."""
    (tmp_path / "agent.json").write_text(json.dumps({**asdict(OURS), **change}))
    assert read_identity(tmp_path) is None


@pytest.mark.parametrize("text", ["", "[]", "7", "{", "[" * 100_000, "\xff"])
def test_a_file_that_describes_nobody_is_survived(tmp_path: Path, text: str) -> None:
    (tmp_path / "agent.json").write_text(text)
    assert read_identity(tmp_path) is None


@pytest.mark.parametrize(
    "group", ["/sys/fs/cgroup", "/sys/fs/cgroup/user.slice", "/x/chaperon-1/agents/../..", "/x/agents/a1"]
)
def test_a_control_group_that_chaperon_did_not_make_is_not_believed(tmp_path: Path, group: str) -> None:
    """Whoever is in it would be ended."""
    (tmp_path / "agent.json").write_text(json.dumps({**asdict(OURS), "cgroup": group}))
    assert read_identity(tmp_path) == OURS
    own = "/sys/fs/cgroup/x.slice/chaperon-3fa9c1/agents/a1"
    (tmp_path / "agent.json").write_text(json.dumps({**asdict(OURS), "cgroup": own}))
    assert read_identity(tmp_path) == replace(OURS, cgroup=own)
