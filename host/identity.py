"""The users that this process has: one, or two of a daemon whose agents run as another user than it does.

A daemon apart has the real and saved user of chaperon, and the effective one of the person, whose agents it watches; so
are its groups, but that for files is chaperon's. It reads and makes files as the person. Signals and tracers of the
person do not reach it, and a directory that chaperon's group alone may enter is closed to what it starts: execve(2)
takes saved users and the group for files away.

What it starts is the person in full, unless it is chaperon's own program, which calls `keep` first of all. Chaperon's
own user for files, and the person's group for files, are taken for single steps, by the thread that does them. In a
process of one user nothing here does anything.

Standard library only: the shim runs this with no packages on its path.
"""

import ctypes
import os
import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple


class IdentityError(Exception):
    """A process cannot have the users that it should; it is as it was, or must end."""


def is_apart() -> bool:
    """Whether this process is of a daemon with a user apart from its agents'."""
    return os.getuid() != os.geteuid()


class Account(NamedTuple):
    """A user by numbers."""

    user: int
    group: int
    groups: tuple[int, ...] = ()
    """Those of all groups of the user."""


def take(own: Account, person: Account) -> None:
    """Become the daemon apart of a person; called as root, which is given up, and before there is another thread.

    Args:
        own: Chaperon's own user.
        person: The person.

    Raises:
        IdentityError: One of the numbers would tear the wall down.
        OSError: The kernel refused it.
    """
    if 0 in (own.user, person.user) or own.user == person.user:
        raise IdentityError(f"User {own.user} cannot keep apart from agents of user {person.user}.")
    if own.group in (0, person.group, *person.groups):
        raise IdentityError(
            f"User {person.user} is in group {own.group}, which is that of user {own.user}, and so not apart."
        )
    # The person ends programs of `with_state` by any signal, and could be given the core with what they hold (core(5)).
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    os.setgroups(sorted({person.group, *person.groups}))
    os.setresgid(own.group, person.group, own.group)
    os.setresuid(own.user, person.user, own.user)
    keep()


def keep() -> None:
    """Take back what execve(2) took: the saved user and group, and the group for files.

    Called before there is another thread.

    Raises:
        OSError: The kernel refused it.
    """
    if is_apart():
        own, own_group = os.getuid(), os.getgid()
        os.setresgid(-1, -1, own_group)
        os.setresuid(-1, -1, own)
        _files("gid", own_group)


def become_person() -> None:
    """Become the person in full, for good: in a child, before it runs a program of the person's.

    Raises:
        OSError: The kernel refused it.
    """
    if is_apart():
        person, group = os.geteuid(), os.getegid()
        os.setresgid(group, group, group)
        os.setresuid(person, person, person)


def as_person() -> Mapping[str, int]:
    """Return the arguments of `subprocess.Popen` that make a program the person's."""
    return {"user": os.geteuid(), "group": os.getegid()} if is_apart() else {}


def as_own() -> Mapping[str, int]:
    """Return those for a program of chaperon's own, which calls `keep`."""
    return {}


def with_state() -> Mapping[str, int]:
    """Return those for a program that enters chaperon's state and the person's folders alike, asking by access(2).

    That goes by the real user, so it is the person's: signals of the person's programs end it, and its work fails
    then. Tracers have another group, and do not reach it.
    """
    return {"user": os.geteuid(), "group": os.getgid()} if is_apart() else {}


@contextmanager
def own_files() -> Iterator[None]:
    """Make and change files as chaperon's own user: control groups, copies of programs."""
    if not is_apart():
        yield
        return
    _files("uid", os.getuid())
    try:
        yield
    finally:
        _files("uid", os.geteuid())


@contextmanager
def looking() -> Iterator[None]:
    """Look at processes of the person, which takes the person's group for files too (ptrace(2))."""
    if not is_apart():
        yield
        return
    _files("gid", os.getegid())
    try:
        yield
    finally:
        _files("gid", os.getgid())


def may(path: str | os.PathLike[str], mode: int) -> bool:
    """Whether files of the person may be used so; `os.access` asks for chaperon's own user."""
    return os.access(path, mode, effective_ids=True)


def which(program: str, path: str) -> str | None:
    """Return where a program is on a PATH, as the person finds it."""
    if not is_apart():
        import shutil  # which the shim need not pay for

        return shutil.which(program, path=path)
    for folder in path.split(":"):
        found = f"{folder}/{program}"
        if folder.startswith("/") and os.path.isfile(found) and may(found, os.X_OK):  # noqa: PTH113 - texts are wanted
            return found
    return None


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _files(which_one: str, number: int) -> None:
    """Set this thread's user or group for files.

    Raises:
        OSError: The kernel refused it, which it does not say (setfsuid(2)).
    """
    change = _libc()[f"setfs{which_one}"]
    change(number)
    if change(-1) != number:
        raise OSError(f"setfs{which_one}({number}) was refused")
