"""A process with the users of a daemon apart: two numbers, which need no entry among the machine's users."""

import os
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from host import identity

OWN = identity.Account(77_002, 77_002)
PERSON = identity.Account(77_001, 77_001, (77_001, 77_003))

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


def as_a_daemon_apart(work: Callable[[], object]) -> None:
    """Do something in a process of these users; whatever fails there is printed, and fails here."""
    child = os.fork()
    if not child:
        try:
            identity.take(OWN, PERSON)
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - nothing of the test goes on in this process
            traceback.print_exc()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def enterable(folder: Path) -> None:
    """Let others reach a folder of pytest's."""
    for above in folder.parents:
        if "pytest" in str(above):
            above.chmod(0o755)
