"""The filter of system calls for a sandboxed agent, as the program of the kernel's BPF machine. Pure.

It refuses what no build or test needs and what has led out of sandboxes: namespaces of one's own, mounts, keyrings of
the kernel, loading of code into it, and input into a terminal. A refused call answers EPERM; nothing is killed.
"""

import struct
from collections.abc import Mapping

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""Instructions of BPF, from `linux/bpf_common.h`: load a word, three comparisons with a constant, and the end."""

ALLOW, REFUSE, NOT_THERE, NO_FAMILY = 0x7FFF0000, 0x00050001, 0x00050026, 0x00050061
"""Ends of the filter, from `linux/seccomp.h`: SECCOMP_RET_ALLOW, and SECCOMP_RET_ERRNO with EPERM, ENOSYS, and
EAFNOSUPPORT."""

NUMBER, ARCHITECTURE, FIRST_ARGUMENT, SECOND_ARGUMENT = 0, 4, 16, 24
"""Offsets in `struct seccomp_data`; of the arguments the lower half, on machines whose lower half comes first."""

AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Of `linux/audit.h`, by what `uname -m` says."""

FIRST_X32_CALL = 0x40000000
"""From here on a number is a call of the x32 interface, by which a filter of numbers could be passed by."""

NEW_USER_NAMESPACE = 0x10000000
"""CLONE_NEWUSER: as root of a namespace of its own a process reaches much more of the kernel."""

TERMINAL_INPUT = 0x5412, 0x541C
"""TIOCSTI and TIOCLINUX: they type into the terminal of another user."""

REFUSED: Mapping[str, tuple[int, int]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "userfaultfd": (323, 282),
}
"""Refused calls, with their numbers on x86_64 and aarch64 (`asm/unistd.h`)."""

BY_FLAGS: Mapping[str, tuple[int, int]] = {"clone": (56, 220), "unshare": (272, 97)}
"""Calls that are refused if their flags ask for a user namespace."""

OF_SOCKETS: Mapping[str, tuple[int, int]] = {"socket": (41, 198), "socketpair": (53, 199)}
"""Calls whose first argument is a family of sockets."""

FAMILIES = (0, 1, 2, 10, 16)
"""Families that programs use: unspecified, Unix, IPv4, IPv6, netlink. Others reach past a network of one's own, as to
the machine that a virtual one runs on (AF_VSOCK), or parts of the kernel that are seldom looked at."""

OF_OTHERS: Mapping[str, tuple[int, int]] = {"prlimit64": (302, 261)}
"""Calls that are refused if their first argument names a process: with a limit on its processor's time any process of
the user is ended, past all that Landlock says of signals (seen with Linux 6.18)."""

CLONE3, IOCTL = (435, 435), (16, 29)
"""`clone3` has its flags in memory, which a filter cannot read. It is answered as by a kernel that lacks it, and every
C library then uses `clone`."""

Instruction = tuple[int, int, int, int]
"""Code, jump if true, jump if false, constant."""


def knows(machine: str) -> bool:
    """Whether there is a filter for this architecture, named as by `uname -m`."""
    return machine in AUDIT_ARCHITECTURES


def program(machine: str) -> bytes:
    """Return the filter for an architecture, as `struct sock_filter` one after the other.

    Raises:
        KeyError: There is none, see `knows`.
    """
    audited = AUDIT_ARCHITECTURES[machine]
    column = list(AUDIT_ARCHITECTURES).index(machine)
    code: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_EQUAL, 1, 0, audited),
        (RETURN, 0, 0, NOT_THERE),
        (LOAD, 0, 0, NUMBER),
        (JUMP_AT_LEAST, 0, 1, FIRST_X32_CALL),
        (RETURN, 0, 0, NOT_THERE),
        *_if_equal(CLONE3[column], NOT_THERE),
    ]
    for numbers in REFUSED.values():
        code += _if_equal(numbers[column], REFUSE)
    for numbers in BY_FLAGS.values():
        code += [
            (JUMP_EQUAL, 0, 4, numbers[column]),
            (LOAD, 0, 0, FIRST_ARGUMENT),
            (JUMP_ANY_BIT, 0, 1, NEW_USER_NAMESPACE),
            (RETURN, 0, 0, REFUSE),
            (RETURN, 0, 0, ALLOW),
        ]
    for numbers in OF_OTHERS.values():
        code += [
            (JUMP_EQUAL, 0, 4, numbers[column]),
            (LOAD, 0, 0, FIRST_ARGUMENT),
            (JUMP_EQUAL, 0, 1, 0),
            (RETURN, 0, 0, ALLOW),
            (RETURN, 0, 0, REFUSE),
        ]
    for numbers in OF_SOCKETS.values():
        code += [(JUMP_EQUAL, 0, 2 * len(FAMILIES) + 2, numbers[column]), (LOAD, 0, 0, FIRST_ARGUMENT)]
        for family in FAMILIES:
            code += _if_equal(family, ALLOW)
        code += [(RETURN, 0, 0, NO_FAMILY)]
    code += [(JUMP_EQUAL, 0, 5, IOCTL[column]), (LOAD, 0, 0, SECOND_ARGUMENT)]
    code += [(JUMP_EQUAL, 1, 0, TERMINAL_INPUT[0]), (JUMP_EQUAL, 0, 1, TERMINAL_INPUT[1]), (RETURN, 0, 0, REFUSE)]
    code += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ALLOW)]
    return b"".join(struct.pack("<HBBI", *each) for each in code)


def _if_equal(number: int, answer: int) -> list[Instruction]:
    return [(JUMP_EQUAL, 0, 1, number), (RETURN, 0, 0, answer)]
