"""Usage of an agent, as a fold over observations."""

from interventions.contract import ResourceUsage
from monitors.contract.actions import CHANGING_TOOLS
from monitors.contract.observations import Observation, ResourcesSampled, ToolCalled, ToolReturned, UsageSeen


class UsageMeter:
    """Adds up."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._file_operations = self._tokens = self._steps = 0
        self._memory_mb: float | None = None
        self._cost_usd: float | None = None
        self._told: tuple[float, ResourceUsage] | None = None
        """The answer to the latest question, and for when: several are asked about one moment."""

    def saw(self, observation: Observation) -> None:
        """Take in one observation."""
        self._told = None
        if self._began is None:
            self._began = observation.mono
        match observation:
            case ToolCalled():
                self._steps += 1
            case ToolReturned() if observation.tool in CHANGING_TOOLS and not (
                observation.failed or observation.refused
            ):
                self._file_operations += 1
            case UsageSeen():
                self._tokens, self._cost_usd = observation.tokens, observation.cost_usd
            case ResourcesSampled():
                self._memory_mb = observation.memory_mb
            case _:
                pass

    def usage(self, mono: float) -> ResourceUsage:
        """Return the usage so far.

        Args:
            mono: Now, in seconds on the clock that never goes back.
        """
        if self._told is not None and self._told[0] == mono:
            return self._told[1]
        seconds = None if self._began is None else round(max(0.0, mono - self._began), 3)
        usage = ResourceUsage(
            self._file_operations, self._memory_mb, seconds, self._tokens, self._cost_usd, self._steps
        )
        self._told = mono, usage
        return usage
