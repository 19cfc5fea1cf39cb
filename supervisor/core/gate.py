"""The gate: a request of the CLI, the reviewer's answer, and the line that makes it take effect.

Nothing passes unreviewed: a reviewer that raises, an input that is no object and a call that an adapter could not read
are blocks, with the reason. An error answer would make the CLI run the tool, so there is none.
"""

from collections.abc import Mapping

from monitors.contract.actions import Action, Review, ReviewContext, Reviewer
from monitors.contract.errors import ReviewDeferredError
from monitors.contract.issues import Issue
from monitors.contract.words import Decision, Severity
from supervisor.protocol.claude import control
from supervisor.protocol.claude.messages import CanUseTool, HookCallback

Request = HookCallback | CanUseTool

REVIEWER_FAILED = "chaperon.reviewer-failed"
MALFORMED_INPUT = "chaperon.malformed-input"
UNREAD_CALL = "chaperon.unread-call"
LIMIT_USED_UP = "chaperon.limit-used-up"

LONGEST_NAME, LONGEST_REASON = 200, 500
"""Characters of another program's names and reasons that are repeated: a line, and some sentences."""


def action_of(request: Request, cwd: str, workspace: str) -> Action | None:
    """The action that the request asks about; None if its input is no object."""
    if isinstance(request, HookCallback):
        given, cwd, subagent = request.tool_input, request.cwd or cwd, request.agent_id or ""
    else:
        given, subagent = request.input, ""
    if not isinstance(given, Mapping):
        return None
    return Action(request.tool_name, given, cwd, workspace, request.tool_use_id, subagent)


def review(reviewer: Reviewer, action: Action, context: ReviewContext) -> Review:
    """Ask the reviewer; whatever it raises is a block that names it.

    Raises:
        ReviewDeferredError: It takes longer than it may here, and is to be made elsewhere.
    """
    try:
        return reviewer.review(action, context)
    except ReviewDeferredError:
        raise
    except Exception as error:  # noqa: BLE001 - the reviewer may be anybody's code, and no failure of it lets a call run
        return failed(action, error)


def failed(action: Action, error: Exception) -> Review:
    """The review of a call that could not be reviewed."""
    return _block(
        REVIEWER_FAILED,
        f"The review of this {_visible(action.tool)} call failed ({type(error).__name__}: {_visible(str(error))}), so it was not "
        "run. Do the step another way, or leave it and say so at the end.",
    )


def malformed(tool: str) -> Review:
    """The review of a call whose input is no object."""
    return _block(
        MALFORMED_INPUT, f"The input of this {_visible(tool)} call is not an object, so it was not run. Call it again."
    )


def unread(why: str) -> Review:
    """The review of a call of which the adapter of its CLI says, for this reason, that it cannot be read."""
    return _block(UNREAD_CALL, _visible(why, LONGEST_REASON))


def used_up(why: str) -> Review:
    """The review of a call for which a throttled limit leaves nothing."""
    return Review(Decision.BLOCK, 0.0, 0.5, Severity.LOW, why, LIMIT_USED_UP)


def answer(request_id: str, review: Review, *, permission: bool, action: Action, beside: str = "") -> bytes:
    """The line that makes the review take effect.

    Args:
        request_id: The CLI's request.
        review: What was decided.
        permission: Whether the request is a `can_use_tool`, which must be given the input back.
        action: What was asked for.
        beside: Text for the model that goes with the answer to a call that runs.
    """
    if review.decision is Decision.BLOCK:
        return refusal(request_id, review.reasoning, permission=permission)
    if permission:
        return control.grant_permission(request_id, review.updated_input or action.input)
    told = review.reasoning if review.decision is not Decision.ALLOW else ""
    context = "\n\n".join(filter(None, (told, beside)))
    return control.allow_tool(request_id, context=context, updated_input=review.updated_input)


def refusal(request_id: str, why: str, *, permission: bool) -> bytes:
    """The line by which a request is refused; `permission` as for `answer`."""
    refuse = control.refuse_permission if permission else control.deny_tool
    return refuse(request_id, why)


def critical(action: Action, review: Review, seq: int) -> Issue:
    """The issue that a rule raises which asks for a stop."""
    return Issue(
        type="critical_action",
        severity=Severity.CRITICAL,
        confidence=1.0,
        impact_factor=1.0,
        began=seq,
        sentence=f"Rule {review.rule}: {review.reasoning}",
        evidence=(seq,),
        details={"tool": action.tool, "rule": review.rule},
        key=action.tool_use_id,
    )


def _visible(text: str, most: int = LONGEST_NAME) -> str:
    """Return the beginning of another program's text, with what a terminal could obey made visible."""
    shown = text[:most] + ("…" if len(text) > most else "")
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in shown)


def _block(rule: str, reasoning: str) -> Review:
    return Review(Decision.BLOCK, 1.0, 0.0, Severity.HIGH, reasoning, rule)
