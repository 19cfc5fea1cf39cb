"""The plan for `entry`: what a process gives up before it becomes the CLI. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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
    proxy: tuple[str, ...] = ()
    """The interpreter, the program `entry.py` and the gateway's socket for a proxy inside; empty for no proxy."""
    scoped: bool = False
    """Whether it can signal and trace no process outside, and reaches no abstract socket there."""
    processes: int = 0
    """Most processes and threads in its namespace of users; 0 for no bound. Outside of a namespace of its own the
    kernel counts those of the whole user."""

    def words(self) -> Iterator[str]:
        """Yield the options of `entry`."""
        if self.system_calls:
            yield from ("--filter", self.system_calls.hex())
        if self.scoped:
            yield "--scoped"
        if self.processes:
            yield from ("--processes", str(self.processes))
        if self.proxy:
            yield from ("--proxy", *self.proxy)
        if self.files:
            yield "--files"
            for path in self.read:
                yield from ("--read", path)
            for path in self.write:
                yield from ("--write", path)


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


def words_apart(command: Sequence[str], *, perl: bool) -> list[str]:
    """Return the command that runs its one argument in a shell that is closed off from its parent.

    Args:
        command: How `entry` is started inside.
        perl: Whether Perl is there.
    """
    if perl:
        return [str(PERL), "-e", PERL_APART]
    return [*words(command, EntryPlan(scoped=True)), "/bin/bash", "-c"]


def words(command: Sequence[str], plan: EntryPlan) -> list[str]:
    """Return the command that stands before the CLI's own.

    Args:
        command: How `entry` is started inside.
        plan: What is given up.
    """
    return [*command, *plan.words(), "--"]


def has_scopes(abi: int) -> bool:
    """Whether a kernel with this version of Landlock keeps signals and tracing inside."""
    return abi >= SCOPES_ABI
