"""The section of what a sandboxed agent can reach; which sandbox holds it is said by `agent.sandbox`."""

from typing import Annotated, Literal

from pydantic import Field

from monitors.contract.bounds import Count
from supervisor.config.sections.base import AbsolutePath, Section

SandboxKind = Literal["auto", "bubblewrap", "landlock", "none"]
"""Kinds of sandboxes for an agent's processes; `auto` is the strongest that works on this machine."""

SandboxProfile = Literal["open", "project", "closed", "container"]
"""How much of the machine an agent reaches."""

Paths = Annotated[tuple[AbsolutePath, ...], Field(strict=False)]


class SandboxSection(Section):
    """The reach of a sandboxed agent; which sandbox holds it is said by `agent.sandbox`."""

    profile: SandboxProfile = "project"
    """`project`: the workspace to write, programs to read, and of the home directory what is named here. `closed`: the
    same without a network. `open` and `container`: the whole machine but chaperon's own files and the processes
    outside, as for machines that are thrown away."""
    read: Paths = ()
    """Further paths that agents may read in `project` and `closed`. Example: `~/.npmrc`."""
    write: Paths = ()
    """Further paths that they may write. Examples: `~/.cache`, the socket of docker, that of an ssh agent."""
    commands_apart: bool = True
    """Whether each command of an agent's shell is closed off from the agent's CLI and from its other commands, if the
    kernel can (Linux 6.12): it can neither signal nor trace them, and so not answer the gate in the CLI's place. A
    command that was left in the background is then ended by the CLI's own tool, and not by `kill` of a later one."""
    memory_mb: Count = 2_048
    """Size of `/tmp`, of the home directory and of `/run` inside bubblewrap, each, in MiB at most: they are in memory
    and go with the agent."""
