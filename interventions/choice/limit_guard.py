"""Throttled limits at the gate: limits that the kernel does not count are enforced at each call.

Over the rate a call waits; over a limit that is used up it is denied, with what is still possible. Only limits that a
throttling lowered are enforced here: those of the task only lead to notifications.
"""

from collections import deque

from interventions.contract import ResourceUsage
from interventions.decisions import LimitsInForce
from monitors.contract.actions import CHANGING_TOOLS
from monitors.contract.observations import Observation, ToolCalled

MINUTE = 60.0

MOST_CALLS = 512
"""Calls remembered; no limit of a minute comes near it."""


class LimitGuard:
    """Counts calls, and says which must wait or be denied."""

    def __init__(self) -> None:
        self._calls: deque[float] = deque(maxlen=MOST_CALLS)

    def saw(self, observation: Observation) -> None:
        """Count a call that the gate answered."""
        if isinstance(observation, ToolCalled):
            self._calls.append(observation.mono)

    def wait(self, limits: LimitsInForce, mono: float) -> float:
        """Seconds that the next call must wait; 0 if it may be answered now."""
        most = limits.calls_per_minute
        if most is None or len(self._calls) < most:
            return 0.0
        return max(0.0, self._calls[-most] + MINUTE - mono)

    def refuses(self, tool: str, limits: LimitsInForce, usage: ResourceUsage) -> str:
        """Return the reason why a call of the tool is denied, for the model; empty if it is not."""
        most = limits.limits
        if tool in CHANGING_TOOLS and _used_up(usage.file_operations, most.max_file_operations):
            return f"All {most.max_file_operations} file operations are used up. {_WRAP_UP}"
        for used, limit, unit in (
            (usage.tokens, most.max_token_usage, "tokens"),
            (usage.cost_usd, most.max_cost_usd, "US dollars"),
            (usage.seconds, most.max_execution_time_seconds, "seconds"),
            (usage.steps, most.max_steps, "steps"),
        ):
            if _used_up(used, limit):
                return f"All {limit:g} {unit} of this run are used up. {_WRAP_UP}"
        return ""


_WRAP_UP = "So this was not run. End your turn with what is done, what is not, and what is needed for the rest."


def _used_up(used: float | None, limit: float | None) -> bool:
    return used is not None and limit is not None and used >= limit
