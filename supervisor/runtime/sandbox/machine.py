"""Trials of the sandboxes that this machine can give. Blocks."""

import functools
import hashlib
import os
import platform
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from host.children import ChildCommand, run_child
from supervisor.runtime.sandbox import bubblewrap, entry, seccomp
from supervisor.runtime.sandbox.landlock import LEAST_ABI

TRIAL_SECONDS = 10.0
"""How long a trial may take; it takes 16 ms on a busy machine."""

APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
"""Reads 1 on Ubuntu from 23.10 on, where programs without a profile of AppArmor get no user namespace."""

UBUNTU = (
    "This system gives user namespaces to programs with an AppArmor profile alone. As root, write /etc/apparmor.d/bwrap: "
    "`abi <abi/4.0>, include <tunables/global> profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }`, "
    "then: systemctl reload apparmor."
)

INSTALL = "Install bubblewrap, as by `apt install bubblewrap` or `dnf install bubblewrap`."


@dataclass(frozen=True, slots=True)
class Facility:
    """One kind of sandbox on this machine."""

    works: bool
    says: str
    """The finding: a version, or why it cannot be had."""
    mend: str = ""
    """How to have it; empty if it works, or cannot be had here."""
    path: str = ""
    """The program of bubblewrap."""
    abi: int = 0
    """The version of Landlock."""


COUNTS_BY_NAMESPACE = (5, 14)
"""The version of Linux from which processes are counted for each namespace of users (RLIMIT_NPROC): before, all of a
user were counted together, those of the person and of other agents with them."""


def counts_by_namespace(release: str) -> bool:
    """Whether a bound on processes within a namespace counts those inside alone; by what `uname -r` says."""
    numbers = re.match(r"(\d+)\.(\d+)", release)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= COUNTS_BY_NAMESPACE


def try_bubblewrap(environ: Mapping[str, str]) -> Facility:
    """Start a program in bubblewrap, and say how that went."""
    path = shutil.which("bwrap", path=environ.get("PATH", os.defpath))
    if path is None:
        return Facility(works=False, says="there is no program `bwrap` on PATH", mend=INSTALL)
    if not seccomp.knows(platform.machine()):
        return Facility(works=False, says=f"no filter of system calls is known for {platform.machine()}")
    mounts = (
        bubblewrap.Mount("read", "/"),
        bubblewrap.Mount("processes", "/proc"),
        bubblewrap.Mount("devices", "/dev"),
    )
    walls = bubblewrap.Walls(mounts, "/", own_network=True, memory_bytes=2**20)
    command = [*bubblewrap.words(path, walls), "/bin/sh", "-c", "echo inside"]
    try:
        done = run_child(
            ChildCommand(
                argv=command,
                environment={"PATH": os.defpath},
                errors="with output",
                seconds=TRIAL_SECONDS,
                output_bytes=2000,
            )
        )
    except OSError as error:
        return Facility(works=False, says=f"{path} cannot be run: {error.strerror}", mend=INSTALL)
    printed = done.output.decode(errors="replace").strip()
    if done.code == 0 and printed == "inside":
        return Facility(works=True, says=f"{path} works", path=path)
    return Facility(works=False, says=f"{path} does not work here: {printed[:300] or done.code}", mend=_namespaces())


@functools.cache
def landlock() -> Facility:
    """Ask the kernel for its version of Landlock."""
    abi = entry.abi()
    if not seccomp.knows(platform.machine()):
        return Facility(works=False, says=f"no filter of system calls is known for {platform.machine()}")
    if abi >= LEAST_ABI:
        return Facility(works=True, says=f"Landlock {abi}", abi=abi)
    mend = "It needs Linux 6.2 or newer with `landlock` among the kernel's security modules (lsm=)."
    return Facility(works=False, says=f"Landlock {abi or 'is not there'}", mend=mend, abi=abi)


@functools.cache
def compiled_entry(program: Path) -> Path | None:
    """Return the compiled form of `entry`; None if there is none that runs here and is of the source beside it.

    Args:
        program: The program of Python, beside which the others are.
    """
    source, compiled = program.with_suffix(".c"), program.with_name(f"{program.stem}-{platform.machine()}")
    try:
        digest = hashlib.sha256(source.read_bytes()).hexdigest()
        done = run_child(
            ChildCommand(argv=[str(compiled)], environment={}, seconds=TRIAL_SECONDS, output_bytes=2 * len(digest))
        )
    except OSError:
        return None
    return compiled if done.output.decode(errors="replace").strip() == digest else None


def _namespaces() -> str:
    try:
        restricted = APPARMOR.read_text().strip() == "1"
    except OSError:
        restricted = False
    if restricted:
        return UBUNTU
    return "It needs user namespaces: inside a container, the container must be started with them (or use `landlock`)."
