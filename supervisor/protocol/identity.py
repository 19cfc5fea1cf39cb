"""The identity of a launch's processes, by which they are recognised and never mistaken for others."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """A shim, its CLI, and the marks of the CLI's processes.

    A pid means a process together with its start time and boot.
    """

    agent: str
    nonce: str | None
    """In the environment of every process of the launch that did not clear it."""
    cgroup: str | None
    """The control group that they are born in, if there is one."""
    boot_id: str
    shim_pid: int
    shim_start_ticks: int
    """When it started, in clock ticks since boot."""
    cli_pid: int
    cli_start_ticks: int
    started_at: float
    """Unix time."""
    mark: int = 0
    """The hard limit that every process of the launch inherits (`supervisor.runtime.shim.marks`); 0 if they carry
    none."""
    sandbox: str = ""
    """The sandbox that holds them, with its profile; empty for none. For people: nothing is decided by it."""
