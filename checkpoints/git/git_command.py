"""The only place that runs git as a program.

It runs with no user's configuration, so that no file of an agent runs or steers it.

It runs on repositories that chaperon made itself, and reads single files of others as data. A worktree of an agent is
read by libgit2, which runs no hook, no filter and no monitor: `checkpoints.workspace.repository`. A test finds each
other place that starts the program.
"""

import os
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

from checkpoints.errors import CheckpointError
from host import identity
from host.children import ChildCommand, run_child
from host.standing import is_file

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

MOST_OUTPUT = 16_777_216
"""Bytes that git may print: a configuration file is the longest that is read, and one of 1,000 branches has 200 kB."""

MOST_VERSION = 1_000
"""Bytes of its version that are read; it has 20 to 50."""


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
    stop: int | None = None,
) -> str:
    """Run git on a repository of chaperon's own and return its output.

    Args:
        git_folder: The repository; None for the one around `where`, which chaperon made.
        words: Command and arguments.
        lines: Standard input.
        timeout_seconds: After this the process group is killed.
        niceness: Added to the priority, so that agents run first.
        where: The working directory; the repository if it is left out.
        stop: A descriptor that becomes readable if the caller gives it up.

    Raises:
        CheckpointError: Git is not there, failed, took too long, or was given up.
    """
    options = [word for option in _OPTIONS for word in ("-c", option)]
    place = where or git_folder or Path("/")
    try:
        done = run_child(
            ChildCommand(
                argv=["git", *options, *words],
                stdin=lines.encode(errors="surrogateescape"),
                errors="apart",
                environment=clean_environment(git_folder),
                folder=place,
                seconds=timeout_seconds,
                output_bytes=MOST_OUTPUT,
                niceness=niceness,
                users=identity.as_person if git_folder in (None, NOWHERE) else identity.with_state,
            ),
            stop,
        )
    except FileNotFoundError as error:
        raise CheckpointError(
            f"git is not on PATH, so `git {words[0]}` could not run on {place}.",
            way_out="Install git.",
        ) from error
    if done.code is None:
        raise CheckpointError(
            f"`git {words[0]}` on {place} took more than {timeout_seconds:.0f} s, or was given up, and was ended."
        )
    if done.flooded:
        raise CheckpointError(f"`git {words[0]}` on {place} printed more than {MOST_OUTPUT} bytes and was ended.")
    if done.code != 0:
        problem = done.errors.decode(errors="replace").strip()[-500:]
        raise CheckpointError(f"`git {words[0]}` on {place} failed with {done.code}: {problem}")
    return done.output.decode(errors="surrogateescape")


def config_values(file: Path, keys: Collection[str]) -> dict[str, list[str]]:
    """Return the values of these keys in one configuration file, in their order; what it includes is not followed.

    Args:
        file: Where one that is not there holds nothing.
        keys: In lower case, as `core.worktree`.

    Raises:
        CheckpointError: Git is not there, cannot read the file, or took too long.
    """
    found: dict[str, list[str]] = {key: [] for key in keys}
    if not is_file(file):
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
    environment = clean_environment(NOWHERE) | ({} if path is None else {"PATH": path})
    command = ChildCommand(
        argv=[found, "--version"],
        environment=environment,
        seconds=READ_SECONDS,
        output_bytes=MOST_VERSION,
        errors="nowhere",
    )
    try:
        return found, run_child(command).output.decode(errors="replace")
    except OSError:
        return found, ""
