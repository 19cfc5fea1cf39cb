"""Approval mode: the actions that wait for a person, and the effect of the reply.

An action that waits is denied at its deadline. A block stays a block: a person is never asked to let through what a
rule forbids. The agent cannot approve its own actions: every way of replying calls `refuse_agent` first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from monitors.contract.actions import Action, Review
from monitors.contract.bounds import Key, Seconds, Texts
from monitors.contract.effects import ASK_FOR, EFFECTS, check_names, is_one_of
from monitors.contract.errors import UsageError
from monitors.contract.words import Decision

_SAYS: Mapping[str, str] = {name: effect.says for name, effect in EFFECTS.items()}
"""The meaning of each type of side effect; plugins have others."""

DENIED_BY_PERSON = "chaperon.denied-by-person"
DEADLINE_PASSED = "chaperon.approval-deadline"


def _known_types(value: tuple[str, ...]) -> tuple[str, ...]:
    check_names(value)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalSettings:
    """Actions that wait for a person, who answers with `chaperon approve` or `chaperon deny`."""

    mode: Annotated[Literal["off", "risky", "ask"], Key()] = "off"
    """`off`: no action waits. `risky`: actions that the review warns of. `ask`: each action with a side effect of
    the listed types."""
    require_approval_for: Annotated[tuple[str, ...], Key(check=_known_types)] = ASK_FOR
    """Types of side effects that wait in mode `ask`, and groups of them, as [listed below](#types-of-side-effects). A
    type that begins with one of these and an underscore counts as well: `network` means `network_send` too."""
    auto_approve: Texts = ("Read", "Glob", "Grep", "LS", "TodoWrite")
    """Tools that never wait."""
    tools: Texts = ()
    """Tools whose every call waits, whatever it would do."""
    # In ten minutes somebody who was notified can be at a keyboard; the CLI itself waits a day.
    deadline_seconds: Seconds = 600.0
    """How long an action waits before it is denied, in seconds."""


def needs_person(action: Action, review: Review, settings: ApprovalSettings) -> str:
    """Why a person is to be asked about the action, or the empty string."""
    if settings.mode == "off" or review.decision is Decision.BLOCK or action.tool in settings.auto_approve:
        return ""
    if action.tool in settings.tools:
        return f"each {action.tool} call waits for approval"
    if settings.mode == "risky":
        return f"the review warns: {review.reasoning}" if review.decision is Decision.WARN else ""
    if not review.side_effects and action.tool.startswith("mcp__"):
        return "what a tool of an MCP server does is not known"
    for effect in review.side_effects:
        if is_one_of(effect.type, settings.require_approval_for):
            says = _SAYS.get(effect.type)
            return f"it {says} ({effect.details})" if says else f"{effect.type}: {effect.details}"
    return ""


def granted(review: Review, by: str, note: str) -> Review:
    """The review once a person let the action run; a note reaches the model with the answer."""
    if not note:
        return review
    told = f"{by} let this run and says: {note}"
    decision = Decision.WARN if review.decision is Decision.ALLOW else review.decision
    reasoning = told if review.decision is Decision.ALLOW else f"{review.reasoning} {told}"
    return replace(review, decision=decision, reasoning=reasoning)


def denied(review: Review, by: str, note: str) -> Review:
    """The review once a person turned the action down."""
    why = f" and says: {note}" if note else ". Ask what is wanted instead, or go on without it."
    return _blocked(review, DENIED_BY_PERSON, f"{by} turned this down{why}")


def overdue(review: Review, deadline_seconds: float) -> Review:
    """Return the review of an action without a reply in time."""
    return _blocked(
        review,
        DEADLINE_PASSED,
        f"This waits for a person, and nobody answered within {deadline_seconds:g} s, so it was not run. Go on with what does "
        "not need it, and say at the end that this is still to be done.",
    )


def refuse_agent(by: str, from_agent: str) -> None:
    """Refuse an answer that was given from inside an agent's process tree.

    Raises:
        UsageError: It was.
    """
    if from_agent:
        raise UsageError(
            f"The answer of {by} comes from a process of agent {from_agent!r}; agents do not answer approvals. "
            "The action still waits.",
            way_out="Answer from a terminal outside of it.",
        )


def _blocked(review: Review, rule: str, reasoning: str) -> Review:
    return replace(review, decision=Decision.BLOCK, rule=rule, reasoning=reasoning, updated_input=None)
