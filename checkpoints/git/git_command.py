"""The only place that runs git as a program.

It runs with no user's configuration, so that no file of an agent runs or steers it.

It runs on repositories that chaperon made itself, and reads single files of others as data. A worktree of an agent is
read by libgit2, which runs no hook, no filter and no monitor: `checkpoints.workspace.repository`. A test finds each
other place that starts the program.
"""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Collection, Sequence
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

NOWHERE = Path("/nonexistent")
"""Stands for HOME, and for the repository of a command that needs none."""

READ_SECONDS = 10.0
"""How long reading one configuration file may take: it takes 3 ms, unless its disk hangs."""


def clean_environment(git_folder: Path | None) -> dict[str, str]:
    """Return an environment in which git reads this repository's configuration and no other.

    Args:
        git_folder: The repository; None for the one around the working directory.
    """
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(NOWHERE),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
    }
    return environment if git_folder is None else {**environment, "GIT_DIR": str(git_folder)}


def run_git(
    git_folder: Path | None,
    words: Sequence[str],
    *,
    lines: str = "",
    timeout_seconds: float,
    niceness: int = 0,
    where: Path | None = None,
) -> str:
    """Run git on a repository of chaperon's own and return its output.

    Args:
        git_folder: The repository; None for the one around `where`, which chaperon made.
        words: Command and arguments.
        lines: Standard input.
        timeout_seconds: After this the process group is killed.
        niceness: Added to the priority, so that agents run first.
        where: The working directory; the repository if it is left out.

    Raises:
        CheckpointError: Git is not there, failed, or took too long.
    """
    options = [word for option in _OPTIONS for word in ("-c", option)]
    place = where or git_folder or Path("/")
    try:
        process = subprocess.Popen(
            ["git", *options, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_environment(git_folder),
            cwd=place,
            text=True,
            errors="surrogateescape",
            process_group=0,
        )
    except FileNotFoundError as error:
        raise CheckpointError(
            f"git is not on PATH, so `git {words[0]}` could not run on {place}.",
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
                f"`git {words[0]}` on {place} took more than {timeout_seconds:.0f} s and was ended."
            ) from error
    if process.returncode != 0:
        raise CheckpointError(f"`git {words[0]}` on {place} failed with {process.returncode}: {problem.strip()[-500:]}")
    return out


def config_values(file: Path, keys: Collection[str]) -> dict[str, list[str]]:
    """Return the values of these keys in one configuration file, in their order; what it includes is not followed.

    Args:
        file: Where one that is not there holds nothing.
        keys: In lower case, as `core.worktree`.

    Raises:
        CheckpointError: Git is not there, cannot read the file, or took too long.
    """
    found: dict[str, list[str]] = {key: [] for key in keys}
    if not file.is_file():
        return found
    listed = run_git(
        NOWHERE,
        ["config", "--no-includes", "--file", str(file), "--null", "--list"],
        timeout_seconds=READ_SECONDS,
        where=Path("/"),
    )
    for entry in listed.split("\0"):
        key, separator, value = entry.partition("\n")
        if key in found:
            found[key].append(value if separator else "true")  # a key alone means true
    return found


def version(path: str | None = None) -> tuple[str | None, str]:
    """Return where the git of a PATH is, None if there is none, and what it says of its version.

    Args:
        path: The PATH; None for that of this process.
    """
    found = shutil.which("git", path=path)
    if found is None:
        return None, ""
    try:
        said = subprocess.run(
            [found, "--version"],
            env=clean_environment(NOWHERE) | ({} if path is None else {"PATH": path}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=READ_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return found, ""
    return found, said.stdout.decode(errors="replace")
