"""Running git on the store, and on nothing else, so that nothing an agent wrote can run or steer it."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from checkpoints.errors import CheckpointError

_OPTIONS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.alternateRefsCommand=true",
)


def clean_environment(git_folder: Path) -> dict[str, str]:
    """Return an environment in which git reads this repository's configuration and no other."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_DIR": str(git_folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
    }


def run_git(
    git_folder: Path, words: Sequence[str], *, lines: str = "", timeout_seconds: float, niceness: int = 0
) -> str:
    """Run git on a repository of chaperon's own and return what it printed.

    Args:
        git_folder: The repository.
        words: Command and arguments.
        lines: Standard input.
        timeout_seconds: After this the process group is killed.
        niceness: Added to the priority, so that it stands back behind agents.

    Raises:
        CheckpointError: Git is not there, failed, or took too long.
    """
    options = [word for option in _OPTIONS for word in ("-c", option)]
    try:
        process = subprocess.Popen(
            ["git", *options, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_environment(git_folder),
            cwd=git_folder,
            text=True,
            process_group=0,
        )
    except FileNotFoundError as error:
        raise CheckpointError(
            f"git is not on PATH, so `git {words[0]}` could not run on {git_folder}; captures and restores need no git.",
            way_out="Install git.",
        ) from error
    with process:
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, process.pid, niceness)
        try:
            out, problem = process.communicate(lines, timeout=timeout_seconds)
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise CheckpointError(
                f"`git {words[0]}` on {git_folder} took more than {timeout_seconds:.0f} s and was ended."
            ) from error
    if process.returncode != 0:
        raise CheckpointError(
            f"`git {words[0]}` on {git_folder} failed with {process.returncode}: {problem.strip()[-500:]}"
        )
    return out
