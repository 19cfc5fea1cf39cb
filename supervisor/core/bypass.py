"""Calls that ran against the gate's answer, or without one: detected at their return, they end the run.

The gate's answers can be forged, since any process of the same user can write to the CLI, and a hook of the settings
can change a call's input last. Neither can be prevented without a sandbox. Both are visible: the CLI calls
`PostToolUse` and `PostToolUseFailure` for calls that ran and for no others, with the input that ran, and the result of
a refused call is an error whose `permission_decision` is not `accept` (2.1.329).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from monitors.contract.issues import Issue
from monitors.contract.observations import ToolReturned
from monitors.contract.words import Decision, Severity
from supervisor.core.gate import Request
from supervisor.protocol.claude.messages import HookCallback
from supervisor.protocol.events import ReviewMade

TYPE = "gate_bypassed"
"""The issue's type; its key is the call's id."""

RETURNS = frozenset({"PostToolUse", "PostToolUseFailure"})
"""The hooks by which a call that ran comes back."""

TEXT = 300
"""Characters of a call that are reported."""

How = Literal["blocked_call_ran", "ran_otherwise", "unreviewed_call", "settings_swapped", "written_elsewhere"]


@dataclass(frozen=True, slots=True)
class Bypass:
    """A call that ran although the gate had not let it run as it did."""

    how: How
    """The incident's type."""
    tool: str
    tool_use_id: str
    reviewed: str = ""
    """The input that the gate reviewed; empty if it reviewed none."""
    ran: str = ""
    """The input that ran, if it was another."""

    @property
    def sentence(self) -> str:
        """Describe the bypass, for a person."""
        match self.how:
            case "blocked_call_ran":
                return f"The {self.tool} call {self.tool_use_id} was blocked and ran all the same: `{self.reviewed}`. The answer to the CLI was forged, or the CLI did not keep to it."
            case "ran_otherwise":
                return f"The {self.tool} call {self.tool_use_id} was reviewed as `{self.reviewed}` and ran as `{self.ran}`: a hook of settings changed it after its review, or the answer to the CLI was forged."
            case "unreviewed_call":
                return f"The {self.tool} call {self.tool_use_id} ran before its review was over, or without a review."
            case "written_elsewhere":
                return f"The {self.tool} call {self.tool_use_id} was reviewed as writing {self.reviewed}, and that file is as it was: a link was turned between the review and the act, and something else was written."
            case "settings_swapped":
                return "What the settings of the repository bring changed while the CLI started, so nobody knows which of it counts there. A program may have written them, or a person."

    def issue(self, seq: int) -> Issue:
        """Return the issue that ends the run."""
        return Issue(
            type=TYPE,
            severity=Severity.CRITICAL,
            confidence=1.0,
            impact_factor=1.0,
            began=seq,
            sentence=self.sentence,
            evidence=(seq,),
            details={"tool": self.tool, "how": self.how},
            key=self.tool_use_id,
        )


def by_hook(back: HookCallback, made: ReviewMade | None, waiting: Iterable[Request]) -> Bypass | None:
    """How the call that a hook says has run was let by; None if it ran as it was reviewed.

    Args:
        back: The hook: one of `RETURNS`.
        made: What the gate said of the call; None if it said nothing, or too long ago.
        waiting: The requests that the gate has not answered.
    """
    id_ = back.tool_use_id
    if made is None:
        unanswered = id_ and any(request.tool_use_id == id_ for request in waiting)
        return Bypass("unreviewed_call", back.tool_name, id_) if unanswered else None
    reviewed: Mapping[str, Any] = made.action.input
    if made.review.decision is Decision.BLOCK:
        return Bypass("blocked_call_ran", made.action.tool, id_, _said(reviewed))
    wanted = made.review.updated_input or reviewed
    ran = back.tool_input
    if not isinstance(ran, Mapping) or _same(wanted, ran):
        return None
    return Bypass("ran_otherwise", made.action.tool, id_, *_difference(wanted, ran))


def by_result(back: ToolReturned, made: ReviewMade | None) -> Bypass | None:
    """How the call that a result shows to have run was let by; None if it was let run, or did not."""
    if back.refused:
        return None
    if made is not None and made.review.decision is Decision.BLOCK:
        return Bypass("blocked_call_ran", back.tool, back.id, _said(made.action.input))
    if back.reviewed or back.failed:
        return None
    return Bypass("unreviewed_call", back.tool, back.id)


def _same(wanted: Mapping[str, Any], ran: Mapping[str, Any]) -> bool:
    """Whether a call ran with the input that it was let run with; defaults that a later CLI may add change nothing.

    A switch that is on and was not asked for does.
    """
    kept = all(name in ran and _equal(value, ran[name]) for name, value in wanted.items())
    return kept and not any(ran[name] is True for name in ran.keys() - wanted.keys())


def _equal(wanted: Any, ran: Any) -> bool:
    """Whether two values mean the same; a relative path may have become absolute meanwhile."""
    if isinstance(wanted, str) and isinstance(ran, str):
        return wanted.strip() == ran.strip() or (ran[:1] == "/" and ran.endswith("/" + wanted.removeprefix("./")))
    return bool(wanted == ran)


def _difference(wanted: Mapping[str, Any], ran: Mapping[str, Any]) -> tuple[str, str]:
    """The first field that differs, as it was reviewed and as it ran; what a command was is said without its field."""
    name = next(name for name in (*wanted, *ran) if wanted.get(name) != ran.get(name))
    before, after = (str(given.get(name, "nothing"))[:TEXT] for given in (wanted, ran))
    return (before, after) if name == "command" else (f"{name}: {before}", f"{name}: {after}")


def _said(given: Mapping[str, Any]) -> str:
    """A call in a line."""
    return str(next((value for value in given.values() if isinstance(value, str)), ""))[:TEXT]
