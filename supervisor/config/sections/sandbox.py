"""The section of what a sandboxed agent can reach; which sandbox holds it is said by `agent.sandbox`."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from monitors.contract.bounds import Count
from supervisor.config.sections.base import AbsolutePath, Section

SandboxInForce = Literal["bubblewrap", "landlock", "none"]
"""Kinds of sandboxes that an agent's processes can be in."""

SandboxKind = Literal["auto", SandboxInForce]
"""Kinds that can be asked for; `auto` is the strongest that works on this machine."""

SandboxProfile = Literal["open", "project", "closed", "container"]
"""How much of the machine an agent reaches."""

Paths = Annotated[tuple[AbsolutePath, ...], Field(strict=False)]


_HOST = re.compile(
    r"(?:(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
)


def _host(text: str) -> str:
    found = _HOST.fullmatch(text)
    if found is None or not 0 < int(found["port"] or 443) < 65_536:
        raise ValueError(f"{text!r} is no host: write NAME, NAME:PORT or *.NAME, and an IPv6 address as [ADDRESS]")
    return text


Host = Annotated[str, AfterValidator(_host)]


_REMOTE = re.compile(r"https://[A-Za-z0-9.-]+(?::(?P<port>[0-9]{1,5}))?(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~+@-]+)*/?")


def _git_remote(text: str) -> str:
    found = _REMOTE.fullmatch(text)
    if found is None or not 0 < int(found["port"] or 443) < 65_536:
        raise ValueError(f"{text!r} is no remote: write https://HOST/PATH, without a user's name")
    return text


GitRemote = Annotated[str, AfterValidator(_git_remote)]


class SandboxSection(Section):
    """The reach of a sandboxed agent; which sandbox holds it is said by `agent.sandbox`."""

    profile: SandboxProfile = "project"
    """`project`: the workspace to write, programs to read, and of the home directory what is named here. `closed`: the
    same without a network. `open`: the whole machine but chaperon's own files and the processes outside.
    `container`: the same on a machine that is thrown away after the work. Reviews too, with any sandbox or none, then
    count all files of the machine as scratch but secrets, chaperon's own, the kernel's and the workspaces of other
    agents; what leaves the machine is judged as ever."""
    read: Paths = ()
    """Further paths that agents may read in `project` and `closed`. Example: `~/.npmrc`."""
    write: Paths = ()
    """Further paths that they may write. Examples: `~/.cache`, the socket of docker, that of an ssh agent."""
    hosts: Annotated[tuple[Host, ...], Field(strict=False)] = ()
    """Hosts that agents reach in `closed` beside the model, as `NAME` or `NAME:PORT` (443 if none is said), with `*.`
    before it for all below. Their tools find a proxy in HTTP_PROXY and HTTPS_PROXY, which leads to the gateway. It
    looks names up, opens no private address that is not named itself, and notes each host. A change counts for agents
    that run. Examples: `packages.example`, `*.files.example`, `registry.example`."""
    git_remotes: Annotated[tuple[GitRemote, ...], Field(strict=False)] = ()
    """Remotes that the git of agents in a sandbox fetches from and pushes to, as addresses of https: a repository, or
    the beginning of several. The gateway logs in, by your own credential helpers of git; the agent has no login.
    Example: `https://git.example/team/`."""
    commands_apart: bool = True
    """Whether each command of an agent's shell is closed off from the agent's CLI and from its other commands, if the
    kernel can (Linux 6.12): it can neither signal nor trace them, and so not answer the gate in the CLI's place. A
    command that was left in the background is then ended by the CLI's own tool, and not by `kill` of a later one."""
    memory_mb: Count = 2_048
    """Size of `/tmp`, of the home directory and of `/run` inside bubblewrap, each, in MiB at most: they are in memory
    and go with the agent."""
