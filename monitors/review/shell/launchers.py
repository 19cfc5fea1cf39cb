"""How the command line of a program is laid out that starts another program."""

from dataclasses import dataclass
from typing import Literal

Inside = Literal["", "container", "host"]
"""The surroundings of a command that does not run on this machine."""


@dataclass(frozen=True, slots=True)
class LauncherLayout:
    """How a launcher's command line is laid out."""

    command: str
    """Program, and subcommand words where only those launch. Example: `docker exec`."""
    skip: int = 0
    """Words of its own before the command: a duration, a host, a container."""
    values: str = ""
    """Its options that take a value as the next word."""
    code: str = ""
    """Its options whose value is a script for a shell."""
    joined: bool = False
    """Whether the words are joined and given to a shell, as `ssh` and `watch` do."""
    elevates: bool = False
    """Whether the command gets another user's rights."""
    inside: Inside = ""
    """The surroundings of the command if not this machine; the last skipped word names them."""
    where: str = ""
    """Its options whose values say more of where that is, such as a cluster."""
    assigns: bool = False
    """Whether `NAME=value` words may stand before the command."""
    dashes: bool = False
    """Whether the command begins only behind `--`."""
    behind: str = ""
    """Its options behind which the command begins, as it does for others behind `--`."""
    directory: str = ""
    """Its options that name the directory in which the command runs."""
    unless: str = ""
    """Options with which it starts nothing."""
    alone: str = ""
    """The command it starts if none is given: `shell`; `input` for one that reads its input; the options with which
    it is a shell; empty for none."""
    yes: tuple[str, ...] = ()
    """Command lines that start `true`."""
