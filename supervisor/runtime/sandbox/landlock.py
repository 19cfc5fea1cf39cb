"""The plan for `entry`: what a process gives up before it becomes the CLI. Pure."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from supervisor.runtime.sandbox import entry

LEAST_ABI = 3
"""Version of Landlock from which rules about files hold: before it a file could be cut off that may only be read
(Linux 6.2)."""

SCOPES_ABI = 6
"""Version from which signals, tracing and abstract sockets end at the sandbox (Linux 6.12)."""


@dataclass(frozen=True, slots=True)
class EntryPlan:
    """The rights that a process gives up."""

    system_calls: bytes = b""
    """A filter of `seccomp`; empty for none."""
    files: bool = False
    """Whether `read` and `write` are all that it can reach; otherwise all that its user can."""
    read: tuple[str, ...] = field(default=())
    write: tuple[str, ...] = field(default=())
    """Paths that may be read too."""
    proxy: str = ""
    """The socket of the gateway, to which a proxy inside leads; empty for no proxy."""
    scoped: bool = False
    """Whether it can signal and trace no process outside, and reaches no abstract socket there."""
    processes: int = 0
    """Most processes and threads in its namespace of users; 0 for no bound. Outside of a namespace of its own the
    kernel counts those of the whole user."""

    def as_json(self) -> str:
        """Return the plan as `entry` reads it."""
        plan: dict[str, Any] = {"filter": self.system_calls.hex(), "scoped": self.scoped, "files": self.files}
        if self.proxy:
            plan["proxy"] = self.proxy
        if self.processes:
            plan["processes"] = self.processes
        if self.files:
            plan |= {"read": self.read, "write": self.write}
        return json.dumps(plan, separators=(",", ":"))


PERL = Path("/usr/bin/perl")
"""Perl of the system, which git brings on most; it starts in a tenth of the time that Python takes."""

PERL_APART = (
    f"my $scopes = pack('QQQ', 0, 0, {entry.SCOPE_ABSTRACT_SOCKETS | entry.SCOPE_SIGNALS}); "
    f"my $rules = syscall({entry.CREATE_RULESET}, $scopes, 24, 0); "
    f"$rules >= 0 && syscall({entry.RESTRICT_SELF}, $rules, 0) == 0 "
    "or do { print STDERR qq(chaperon: this command could not be kept apart ($!), so it was not started.\\n); "
    f"exit {entry.NOT_STARTED} }}; "
    "exec { '/bin/bash' } 'bash', '-c', $ARGV[0];"
)
"""The same as `entry` with scopes alone, for a process that can gain no rights any more."""


def words_apart(python: str, inside: str, *, perl: bool) -> list[str]:
    """Return the command that runs its one argument in a shell that is closed off from its parent.

    Args:
        python: The interpreter, by its path inside.
        inside: The program `entry`, by its path inside.
        perl: Whether Perl is there.
    """
    if perl:
        return [str(PERL), "-e", PERL_APART]
    return [*words(python, inside, EntryPlan(scoped=True)), "/bin/bash", "-c"]


def words(python: str, entry: str, plan: EntryPlan) -> list[str]:
    """Return the command that stands before the CLI's own.

    Args:
        python: The interpreter, by its path inside.
        entry: The program `entry`, by its path inside.
        plan: What is given up.
    """
    return [python, "-I", "-S", "-E", entry, plan.as_json()]


def has_scopes(abi: int) -> bool:
    """Whether a kernel with this version of Landlock keeps signals and tracing inside."""
    return abi >= SCOPES_ABI
