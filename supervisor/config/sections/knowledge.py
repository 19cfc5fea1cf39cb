"""The sections below `reviewer` that describe programs, in the language of the built-in knowledge.

`monitors.review.rules.definitions` makes the reviewer's rules, programs and launchers of them. It is not imported here:
it takes longer to import than the configuration does to load.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from monitors.contract.bounds import Share
from monitors.contract.effects import as_effect_type
from supervisor.config.sections.base import Section


def _several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _effect(value: str) -> str:
    return as_effect_type(value) if value else ""


OneOrMoreTexts = Annotated[tuple[str, ...], Field(strict=False), BeforeValidator(_several)]
"""A list of texts; one alone may be written as a text."""

Effect = Annotated[str, AfterValidator(_effect)]

Risk = Literal["reads", "noted", "minor", "moderate", "care", "harm", "doom"] | Share


class KnownRule(Section):
    """A rule in the language of the built-in knowledge: it means a program however it is wrapped, quoted or called.

    `monitors/review/rules/patterns.py` describes the language of patterns, and `chaperon rules` lists the built-in
    rules; they stand in `monitors/review/knowledge` as they could stand here. A list of one text may be written as that
    text.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    """Its name in reviews and incidents. Example: `own.deploy`."""
    match: Annotated[OneOrMoreTexts, Field(min_length=1)]
    """Patterns, of which one must match. Example: `deploy prod !{--dry-run}`."""
    why: str = ""
    """The problem, as a clause; must be given from the risk `care` on. Example: `changes what customers use`."""
    risk: Risk = "harm"
    """How much, 0 to 1, or by name: `care` is warned about, `harm` and `doom` are blocked by default."""
    instead: str = ""
    """The alternative."""
    alternative: str = ""
    """A command to run instead."""
    effect: Effect = "system_call"
    """[Type of the side effect](#types-of-side-effects); empty if nothing changes."""
    rewrite: Literal["force-with-lease", "dry-run", "rsync-dry-run", "time-limit", "narrow-mode", "trash"] | None = None
    """How the command is made harmless, to be run so instead of being blocked: `dry-run` puts `--dry-run` behind the
    subcommand, `time-limit` ends it after a minute, `trash` moves what it names aside. The rule must not match what
    comes out: `!{--dry-run}`."""
    undo: Literal["files", "git"] | None = None
    """Means to undo its change: `files` if a checkpoint of the workspace does, `git` if git itself keeps it."""
    yes: OneOrMoreTexts = ()
    """Commands that must match; checked at the start."""
    no: OneOrMoreTexts = ()
    """Commands that must not match."""


class KnownProgram(Section):
    """The effect of a program as a whole, if no rule says more of a use of it.

    It replaces the built-in entry for a program of the same name. Rules, and the checks that hold for every program,
    still apply.
    """

    names: Annotated[str, Field(min_length=1)]
    """Its names, separated by blanks. Example: `deploy deployctl`."""
    values: str = ""
    """Options that take a value as the next word, so that the value is not taken for an operand. Example: `-e
    --env`."""
    reads: OneOrMoreTexts = ()
    """Patterns, without the program, of uses that change nothing; `*` for all of them. Example: `status|list`."""
    effect: Effect = ""
    """[Type of the side effect](#types-of-side-effects) of all other uses; empty if only rules say."""
    details: str = ""
    """That side effect, as a clause; belongs to `effect`. Example: `changes what is deployed`."""
    risk: Risk = "noted"
    """How much those uses risk, 0 to 1, or by name."""
    data: bool = False
    """Whether its operands are text to it: a path or a command among them is neither read nor run."""
    fed: bool = False
    """Whether it takes commands from its input as it does from its words, as clients of databases do."""
    edits: str = ""
    """Options by which it changes the files that it is given, separated by blanks; `*` if each use does that is not
    among `reads`. Example: `-w --write`."""
    yes: OneOrMoreTexts = ()
    """Commands that are among `reads`; checked at the start."""
    no: OneOrMoreTexts = ()
    """Commands that are not."""


class KnownLauncher(Section):
    """A program that starts another one, which is reviewed as if it were called by itself.

    It stands in for what is built in for the same command. Options are separated by blanks.
    """

    command: Annotated[str, Field(min_length=1)]
    """The program, with its subcommand if only that starts another. Example: `vault-env run`."""
    skip: Annotated[int, Field(ge=0)] = 0
    """Words of its own before the command that it starts: a duration, a host, a container."""
    values: str = ""
    """Its options that take a value as the next word."""
    code: str = ""
    """Its options whose value is a script for a shell."""
    joined: bool = False
    """Whether the words are joined and given to a shell, as by `ssh` and `watch`."""
    elevates: bool = False
    """Whether the command gets another user's rights."""
    inside: Literal["container", "host"] | None = None
    """The surroundings of the command if not this machine; the last of the words skipped names them."""
    where: str = ""
    """Its options whose values say more of where that is, such as a cluster."""
    assigns: bool = False
    """Whether `NAME=value` words may stand before the command."""
    directory: str = ""
    """Its options that name the directory in which the command runs."""
    dashes: bool = False
    """Whether the command begins only behind `--`."""
    behind: str = ""
    """Its options behind which the command begins, as it does for others behind `--`."""
    unless: str = ""
    """Options with which it starts nothing."""
    alone: str = ""
    """The command it starts if none is given: `shell`, `input` if it reads commands from its input, the options with
    which it is a shell, or empty for nothing."""
    yes: OneOrMoreTexts = ()
    """Command lines that start `true`; checked at the start. Example: `vault-env run prod -- true`."""


def _piece_names(value: Mapping[str, str]) -> Mapping[str, str]:
    for name in value:
        if not name.replace("-", "").isalpha() or name != name.lower():
            raise ValueError(f"{name!r} is no name of a piece: lower case letters and hyphens are")
    return value


Pieces = Annotated[dict[str, str], AfterValidator(_piece_names)]
"""Pieces of patterns by name."""
