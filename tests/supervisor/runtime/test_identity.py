"""Who runs in a directory, by pid, start time and boot."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

from supervisor.runtime import trees
from supervisor.runtime.identity import Identity, is_running, read_identity

OURS = Identity(
    agent="a1", nonce="n", cgroup=None, boot_id=trees.read("/proc/sys/kernel/random/boot_id").strip(),
    shim_pid=os.getpid(), shim_start_ticks=trees.start_ticks(os.getpid()), cli_pid=1, cli_start_ticks=1, started_at=0.0,
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
