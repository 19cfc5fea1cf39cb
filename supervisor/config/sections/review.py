"""The sections `reviewer` and `rules`: the review of every call of a tool."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from monitors.contract.bounds import Share
from monitors.contract.words import Decision
from supervisor.config.sections.base import Expression, Section, Without
from supervisor.config.sections.knowledge import KnownLauncher, KnownProgram, KnownRule, Pieces


class ReviewerSection(Section):
    """The review of every tool call before it runs."""

    enabled: bool = True
    """Whether calls are scored. The rules against destruction, and yours, hold either way."""
    risk_threshold: Share = 0.7
    """From this risk on a call is blocked, 0 to 1. Lower is stricter."""
    review_mode: Literal["blocking", "async"] = "blocking"
    """Every call is reviewed before it runs. `blocking`: it also waits until the journal has the review. `async`: a
    call of low risk that changes nothing does not wait for the journal; its review is still written."""
    rules: Annotated[tuple[KnownRule, ...], Field(strict=False)] = ()
    """Rules that are added to the built-in knowledge, before it: what agents must not run. Those of the section `rules`
    look at the text of a call, whatever its tool."""
    programs: Annotated[tuple[KnownProgram, ...], Field(strict=False)] = ()
    """Programs of yours, and which of their uses change nothing."""
    launchers: Annotated[tuple[KnownLauncher, ...], Field(strict=False)] = ()
    """Programs of yours that start another one."""
    words: Pieces = Field(default_factory=dict)
    """Pieces that patterns share: `<name>` in `match` and `reads` is the piece of that name. Lower case letters and
    hyphens."""


_NOT_MODIFY = Without((Decision.MODIFY,))


class RuleSection(Section):
    """A rule of your own for the reviewer, which looks at the text of a call.

    Yours come before the built-in ones, in order; the first that matches decides, but none of yours allows what a
    critical built-in rule blocks. A regular expression sees the text as the agent wrote it, and not what runs: options
    between the words, quotes, variables, `env X=1 …`, `bash -c`, aliases and scripts pass it by. What must not run is
    said by a rule of `reviewer.rules`, which means a program however it is started.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    """Its name in reviews and incidents: lower case letters, digits, dots and hyphens. Example: `own.no-terraform`."""
    tool: Annotated[str, Field(min_length=1)] = "*"
    """The tool's name as a glob. Examples: `Bash`, `mcp__github__*`."""
    match: Expression = ""
    """Regular expression that is searched in the command, path or address of the call. Empty matches every call of
    the tool."""
    decision: Annotated[Decision, Field(strict=False), _NOT_MODIFY]
    """`allow`, `warn` or `block`. (`modify` needs to know what to run instead, which no pattern says.)"""
    reason: Annotated[str, Field(min_length=1)]
    """The message to the agent: the reason, and the alternative."""

    @model_validator(mode="after")
    def _decidable(self) -> "RuleSection":
        if self.decision is Decision.MODIFY:
            raise ValueError("a rule cannot decide `modify`; use allow, warn or block")
        return self
