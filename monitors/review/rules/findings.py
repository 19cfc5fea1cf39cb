"""Findings: each is one fact about an action, passed between the parts of the reviewer."""

from dataclasses import dataclass

from monitors.contract.actions import SideEffect
from monitors.contract.effects import EffectType
from monitors.contract.words import Severity
from monitors.review.rules import levels

SPLIT = "Split it, or write it to a file with Write first."
"""The alternative to a script or to code that is more than a review goes through."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an action would do, and what to think of it."""

    rule: str
    """The rule that saw it. Example: `git.push-force`."""
    risk: float
    """Base risk before modifiers, 0 to 1; see `levels`."""
    why: str
    """The problem, as a clause that can follow the command. Empty for none."""
    instead: str = ""
    """The alternative, in words."""
    alternative: str = ""
    """A command that does what was probably meant, and that is itself reviewed as allow."""
    effect: SideEffect | None = None
    """The change; None for a reading."""
    rewrite: str = ""
    """Name of the rewrite that makes it harmless; see `rewrites`."""
    undo: str = ""
    """`files` where a checkpoint of the workspace brings it back, `git` where git itself keeps it, else empty."""
    stop: bool = False
    """Whether the agent is to be stopped, beyond the block."""
    elevated: bool = False
    """Whether it would run with another user's rights."""


def effect(
    kind: EffectType,
    details: str,
    *,
    severity: Severity = Severity.LOW,
    reversible: bool = False,
    target: str = "",
    mitigation: str = "",
) -> SideEffect:
    """Make a side effect; short, because the program models make many."""
    return SideEffect(kind, severity, reversible, details, target, mitigation)


def sent_secret(why: str, instead: str, *, risk: float = levels.HARM, details: str = "", rewrite: str = "") -> Finding:
    """Return the finding for a secret that would go to another machine; its effect says the same unless told else."""
    return Finding("secrets.send", risk, why, instead, effect=effect("network_send", details or why), rewrite=rewrite)


def not_read_to_its_end(why: str, instead: str, what: str) -> Finding:
    """Return the finding for what runs although a bound ended its reading: what lies behind the bound is not known."""
    details = f"runs {what} that was not read to its end"
    return Finding("shell.too-much", levels.HARM, why, instead, effect=effect("process", details))


def severity_of(risk: float) -> Severity:
    """The severity that goes with a base risk."""
    if risk >= 0.9:
        return Severity.CRITICAL
    if risk >= 0.7:
        return Severity.HIGH
    return Severity.MEDIUM if risk >= 0.45 else Severity.LOW
