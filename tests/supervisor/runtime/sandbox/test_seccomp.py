"""The filter, put on a process of this kernel."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from supervisor.runtime.sandbox import entry, seccomp
from supervisor.runtime.sandbox.landlock import EntryPlan, words

PROBE = """
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
for number, *arguments in eval(sys.argv[1]):
    ctypes.set_errno(0)
    answer = libc.syscall(number, *arguments)
    print(errno.errorcode.get(ctypes.get_errno(), "done") if answer < 0 else "done")
"""

FILTERED = words(
    [sys.executable, "-I", "-S", "-E", entry.__file__],
    EntryPlan(seccomp.program(platform.machine()) if seccomp.knows(platform.machine()) else b""),
)

KNOWN = {
    **seccomp.REFUSED, **seccomp.BY_FLAGS, **seccomp.OF_SOCKETS, **seccomp.OF_OTHERS,
    "ioctl": seccomp.IOCTL, "clone3": seccomp.CLONE3,
}  # fmt: skip

NUMBERS = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")


def answers(*calls: tuple[int, ...]) -> list[str]:
    command = [*FILTERED, sys.executable, "-c", PROBE, repr(calls)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def number(name: str) -> int:
    column = list(seccomp.AUDIT_ARCHITECTURES).index(platform.machine())
    return KNOWN[name][column]


@pytest.mark.skipif(not seccomp.knows(platform.machine()), reason=f"no filter for {platform.machine()}")
def test_what_leads_out_of_sandboxes_is_refused_and_threads_and_processes_start() -> None:
    new_user = seccomp.NEW_USER_NAMESPACE
    calls = [
        (number("unshare"), new_user),
        (number("unshare"), 0),
        (number("keyctl"), 0, -3, 0),
        (number("io_uring_setup"), 1, 0),
        (number("ioctl"), 0, seccomp.TERMINAL_INPUT[0], 0),
        (number("ioctl"), 99, 0x5401, 0),
        (number("clone3"), 0, 0),
        (number("clone"), new_user | 17, 0, 0, 0, 0),
    ]
    assert answers(*calls) == ["EPERM", "done", "EPERM", "EPERM", "EPERM", "EBADF", "ENOSYS", "EPERM"]
    threads = "import subprocess, threading\nt = threading.Thread(target=print, args=['ran'])\nt.start()\nt.join()\n"
    command = [*FILTERED, sys.executable, "-c"]
    done = subprocess.run(
        [*command, f"{threads}subprocess.run(['true'], check=True)"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "ran\n"


@pytest.mark.skipif(not seccomp.knows(platform.machine()), reason=f"no filter for {platform.machine()}")
def test_sockets_of_other_families_than_programs_use_are_not_there() -> None:
    used = [(number("socket"), family, 1, 0) for family in (1, 2, 10)] + [(number("socket"), 16, 3, 0)]
    others = [(number("socket"), family, 1, 0) for family in (17, 29, 31, 38, 40, 41, 44)]
    assert answers(*used) == ["done"] * len(used)
    assert answers(*others, (number("socketpair"), 40, 1, 0, 0)) == ["EAFNOSUPPORT"] * (len(others) + 1)


@pytest.mark.skipif(not seccomp.knows(platform.machine()), reason=f"no filter for {platform.machine()}")
def test_no_other_process_gets_a_limit_by_which_it_would_end() -> None:
    call = number("prlimit64")
    assert answers((call, 0, 0, 0, 0), (call, 1, 0, 0, 0)) == ["done", "EPERM"]


@pytest.mark.skipif(not NUMBERS.exists(), reason="the kernel's list of calls is not installed")
def test_the_numbers_are_those_of_the_kernels_list() -> None:
    known = dict(line.split()[1:3] for line in NUMBERS.read_text().splitlines() if line.startswith("#define __NR_"))
    assert len(KNOWN) > 30
    listed = {name: pair[0] for name, pair in KNOWN.items() if f"__NR_{name}" in known}
    assert len(listed) > 30
    assert listed == {name: int(known[f"__NR_{name}"]) for name in listed}


def test_another_architecture_has_no_filter() -> None:
    assert not seccomp.knows("riscv64")
    assert len(seccomp.program("aarch64")) == len(seccomp.program("x86_64"))
