"""A PreToolUse hook for programs that use the Claude agent SDK: the daemon's policy reviews each tool call.

Whatever fails on the way to the answer is a denial: a call that was not reviewed does not run.
"""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaperon.over import AsyncClient
from monitors.contract.errors import ChaperonError

if TYPE_CHECKING:
    from claude_agent_sdk.types import HookEvent, HookMatcher

HOOK_SECONDS = 60.0
"""How long the CLI waits for the hook: twice as long as the client waits for the daemon, so that the client's sentence
is what the model reads."""

HookOutput = dict[str, Any]


def hooks(
    *, workspace: str | Path | None = None, socket: str | Path | None = None
) -> "dict[HookEvent, list[HookMatcher]]":
    """Return the hooks for `ClaudeAgentOptions`: the daemon's policy is asked before every tool call.

    A call that the policy blocks is denied, with the reason and an alternative for the model. A warning reaches the
    model beside the call, and a modified input takes the place of the old one. All else is up to the program's own
    permissions. If no daemon answers, every call is denied.

    Args:
        workspace: The agent's workspace: the `cwd` of the options. None takes the program's directory, as the SDK does.
        socket: The daemon's socket; None takes this user's daemon, or the system service for this user.

    Raises:
        ChaperonError: The SDK is not installed, or too old to deny calls whose hook fails.
    """
    try:
        from claude_agent_sdk.types import HookMatcher  # an extra: programs that use only the client need it not

        reviewed: Any = pre_tool_use(AsyncClient(socket), str(Path(workspace or Path.cwd()).absolute()))
        return {"PreToolUse": [HookMatcher(hooks=[reviewed], timeout=HOOK_SECONDS, on_failure="block")]}
    except (ImportError, TypeError) as error:
        raise ChaperonError(
            f"The Claude agent SDK cannot take the hook ({error}). No hook was made.",
            way_out="Install it, or a newer one: pip install 'chaperon[claude]'.",
        ) from error


def pre_tool_use(
    client: AsyncClient, workspace: str
) -> Callable[[Mapping[str, Any], str | None, object], Awaitable[HookOutput]]:
    """Return the callback of the hook.

    Args:
        client: Asks the daemon.
        workspace: The agent's workspace, absolute.
    """

    async def reviewed(given: Mapping[str, Any], _tool_use_id: str | None, _context: object) -> HookOutput:
        try:
            cwd = given.get("cwd") or workspace
            review = await client.review(given["tool_name"], given["tool_input"], cwd=cwd, workspace=workspace)
            return hook_output(review)
        except ChaperonError as error:
            return _denied(f"This call was not reviewed, so it did not run. {error}")
        except (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
            return _denied(f"This call was not reviewed, so it did not run ({type(error).__name__}: {error}).")

    return reviewed


def hook_output(review: Mapping[str, Any]) -> HookOutput:
    """Return the SDK's form of a review; a decision that is none of those known is a denial.

    Raises:
        LookupError: The review lacks its decision, its reason or its new input.
    """
    match review["decision"]:
        case "allow":
            return {}
        case "warn":
            return _output(additionalContext=review["reasoning"])
        case "modify":
            # Without a decision: whether the changed call runs is up to the program's permissions, as before.
            return _output(additionalContext=review["reasoning"], updatedInput=dict(review["updated_input"]))
        case "block":
            return _denied(review["reasoning"])
        case other:
            return _denied(f"The daemon's answer {other!r} is not known to this version, so the call did not run.")


def _denied(why: str) -> HookOutput:
    return _output(permissionDecision="deny", permissionDecisionReason=why)


def _output(**more: Any) -> HookOutput:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **more}}
