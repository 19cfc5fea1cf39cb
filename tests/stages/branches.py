"""Agents that commit what a program of the test does, each on a branch of its own."""

import subprocess
from pathlib import Path
from typing import Any

from supervisor.core.fold.summary import Summary
from supervisor.protocol.events import MergeChanged
from supervisor.protocol.merges import MergePhase
from supervisor.runtime.daemon.daemon import Daemon
from tests.stages.daemon import Base, ended
from tests.stages.live import IDENTITY, git_environment

WORKS = """\
import itertools
import random
import subprocess
begin()
{program}
subprocess.run("git add -A && git -c user.name=Ada -c user.email=ada@localhost commit -qm work", shell=True, check=True)
done()
hear()
"""


def git(repo: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(repo), *IDENTITY, *words],
        check=True,
        capture_output=True,
        text=True,
        env=git_environment(repo),
    )
    return done.stdout.strip()


async def worked(at: Base, daemon: Daemon, agent: str, program: str, **about: Any) -> Summary:
    """One agent that commits what its program does, in a workspace of its own."""
    at.cli(WORKS.format(program=program))
    await daemon.submit(at.submission(name=agent, workspace="new", **about), by="ann")
    return await ended(daemon, agent)


def makes(name: str, text: str = "made") -> str:
    return f'open("{name}", "w").write("{text}")'


def phases(at: Base, agent: str = "a1") -> list[MergePhase]:
    return [event.merge.phase for event in at.events(MergeChanged) if event.merge.id == agent]
