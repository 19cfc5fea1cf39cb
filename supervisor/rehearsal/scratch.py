"""The scratch repository, HOME and environment of a rehearsal. Nothing of the user's own is read or reached."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import anyio.to_thread

from checkpoints.errors import CheckpointError
from checkpoints.git.git_command import run_git
from monitors.contract.errors import ChaperonError
from supervisor.config.paths import LONGEST_SOCKET_PATH, SOCKET_NAME
from supervisor.rehearsal.scenario import File, Scenario, ScenarioPaths, ScratchRepository

IDENTITY = {"user.name": "Rehearsal", "user.email": "rehearsal@localhost", "commit.gpgsign": "false"}
"""The scratch repository's own settings, so that commits work whatever the machine has."""


SECONDS = 60.0
"""Longest time of one step of making the repository. Each takes milliseconds, on a busy machine tenths of a second."""


class ScratchError(ChaperonError):
    """The scratch repository could not be made."""


def environment(home: Path, model_url: str, path: str) -> dict[str, str]:
    """The daemon's whole environment in a rehearsal: the CLI can reach the scripted model and no account.

    Args:
        home: The rehearsal's own HOME.
        model_url: Where the scripted model listens.
        path: PATH of the user, so that git, shells and tools are found.
    """
    return {
        "HOME": str(home),
        "PATH": path,
        "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_API_KEY": "rehearsal",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


@contextmanager
def socket_directory(base: Path) -> Iterator[Path]:
    """Yield the directory of the rehearsal's socket.

    It is below `base`, or, if that is too long for a socket's path, in a short place.
    """
    inside = base / "run"
    if len(os.fsencode(inside / SOCKET_NAME)) <= LONGEST_SOCKET_PATH:
        yield inside
        return
    with TemporaryDirectory(prefix="chaperon-") as short:
        yield Path(short) / "run"


async def make(scenario: Scenario, places: ScenarioPaths) -> None:
    """Make the repository and HOME that the scenario describes.

    Raises:
        ScratchError: git failed; says what it said.
    """
    home = Path(places.home)
    await anyio.Path(home).mkdir(parents=True)
    await _write(home, scenario.home)
    await make_repository(scenario.repository, Path(places.workspace))


async def make_repository(wanted: ScratchRepository, workspace: Path) -> None:
    """Make a repository with its files, the committed ones in one commit on `main`.

    Raises:
        ScratchError: git failed; says what it said.
    """
    await anyio.Path(workspace).mkdir(parents=True)
    await _git(workspace, "init", "--quiet", "--initial-branch=main")
    for name, value in IDENTITY.items():
        await _git(workspace, "config", name, value)
    await _write(workspace, [file for file in wanted.files if file.committed])
    await _git(workspace, "add", "--all")
    await _git(workspace, "commit", "--quiet", "--allow-empty", "--message=The scratch repository")
    await _write(workspace, [file for file in wanted.files if not file.committed])
    if wanted.remote:
        remote = workspace.with_name("origin.git")
        await _git(workspace, "clone", "--quiet", "--bare", str(workspace), str(remote))
        await _git(workspace, "remote", "add", "origin", str(remote))
        await _git(workspace, "fetch", "--quiet", "origin")


async def _write(folder: Path, files: "list[File] | tuple[File, ...]") -> None:
    for file in files:
        path = anyio.Path(folder / file.path)
        await path.parent.mkdir(parents=True, exist_ok=True)
        await path.write_text(file.content)


async def _git(workspace: Path, *arguments: str) -> None:
    try:
        await anyio.to_thread.run_sync(lambda: run_git(None, arguments, where=workspace, timeout_seconds=SECONDS))
    except CheckpointError as error:
        raise ScratchError(f"The scratch repository was not made: {error.what}", way_out=error.way_out) from error
