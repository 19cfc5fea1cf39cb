"""A program that is run for an agent to its own end: marked, in its control group, and then in place of this process.

    python -I -S -E enter.py CGROUP MARK FOLDER PROGRAM ARGUMENT…

CGROUP is a path, or empty for none. MARK is a number of `supervisor.runtime.shim.marks`, or 0 for none. The program
gets this process's environment, input and output. If it cannot be started, this process ends with code 127, as a shell
does, and says why on standard error.

Standard library only, with no packages on its path.
"""

import os
import signal
import sys

if __name__ == "__main__":  # the folder that holds our packages, behind the standard library
    sys.path.append(os.path.abspath(f"{os.path.dirname(__file__)}/../../.."))  # noqa: PTH100, PTH120 - as in `program`

from host.identity import become_person
from supervisor.runtime.shim import marks, spawn

NOT_STARTED = 127
"""The exit code that POSIX gives a command that could not be found."""


def main(cgroup: str, mark: int, folder: str, argv: list[str]) -> None:
    """Become the program."""
    step = f"enter the cgroup {cgroup}"
    try:
        if cgroup:
            spawn.enter_cgroup(cgroup)
        step = "become its user"
        become_person()  # which takes back the next one
        step = "be ended with the daemon"
        # Without the daemon nobody waits for its result. The processes that it started are ended by the next daemon.
        spawn.prctl(spawn.PR_SET_PDEATHSIG, signal.SIGKILL)
        step = "be marked"
        if mark:
            marks.put(mark)
        step = f"enter the working directory {folder!r}"
        os.chdir(folder)
        step = f"run {argv[0]!r} (PATH is {os.environ.get('PATH', 'not set')!r})"
        spawn.restore_signals()
        os.execvp(argv[0], argv)  # noqa: S606 - no shell is meant
    except OSError as error:
        os.write(2, f"Could not {step}: {error.strerror}.\n".encode(errors="replace"))
        os._exit(NOT_STARTED)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:])
