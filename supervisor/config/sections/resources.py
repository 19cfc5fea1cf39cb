"""The section `resources`: the limits of one task, of a day and of an account, and prices of models."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from monitors.contract.bounds import Count
from monitors.contract.tasks import Limits
from supervisor.config.sections.base import Section
from supervisor.config.sections.embedded import embeds, settings_from
from supervisor.core.settings import LimitSettings

MISSION_LIMITS: Mapping[str, int] = {
    "max_file_operations": 100,
    "max_memory_mb": 512,
    "max_execution_time_seconds": 300,
    "max_token_usage": 100_000,
}
"""The limits of the `mission` profile. One idle CLI holds about 205 MB, so they stop ordinary agents within minutes."""

_REAL = Limits()
"""The limits are words of the journal too, where a task may have others, so that their bounds stand here."""


class ModelPrice(Section):
    """The price of a model, in US dollars for a million tokens.

    It is for models that the CLI takes for another, as behind a proxy.
    """

    model: Annotated[str, Field(min_length=1)]
    """The model's name as the CLI says it, or a glob of names. Example: `claude-*`."""
    input: Annotated[float, Field(ge=0)]
    """Of fresh input."""
    output: Annotated[float, Field(ge=0)]
    """Of output."""
    cache_write: Annotated[float, Field(ge=0)] = 0.0
    """Of input that is written into the cache."""
    cache_read: Annotated[float, Field(ge=0)] = 0.0
    """Of input that is read from the cache."""


@embeds(LimitSettings, own_first=True)
class Resources(Section):
    """Limits of one task, unless it has its own. `null` lifts a limit.

    Tokens and cost are those of all launches of an agent, by the CLI's report; replies not reported yet are estimated.
    """

    profile: Literal["real", "mission"] = "real"
    """Source of limits that are not written here: `real` fits ordinary agents; `mission` is 100 file operations, 512
    MiB, 300 s and 100,000 tokens, for small closed tasks."""
    max_file_operations: Count | None = _REAL.max_file_operations
    """Files written, edited or deleted."""
    max_memory_mb: Count | None = _REAL.max_memory_mb
    """Resident memory of the whole process tree, in MiB. One idle CLI holds about 205."""
    max_execution_time_seconds: Count | None = _REAL.max_execution_time_seconds
    """Wall time of the run, in seconds."""
    max_token_usage: Count | None = _REAL.max_token_usage
    """Tokens in and out, cached ones counted, subagents' too."""
    max_steps: Count | None = None
    """Calls of tools that are answered, whether they run or not. At the limit reads are refused as well."""
    max_cost_usd: Annotated[float, Field(gt=0)] | None = None
    """Cost of the run, in US dollars. Empty, because behind proxies the CLI's prices are wrong; see `prices`."""
    max_cost_per_day_usd: Annotated[float, Field(gt=0)] | None = None
    """Cost of all agents together on one day of UTC, in US dollars. Once it is used up, all agents are held at their
    next call, and so are those that start. They go on by themselves when the day is over, or by `chaperon resume`."""
    max_tokens_per_day: Count | None = None
    """Tokens of all agents together on one day of UTC, cached ones counted; as above. A subscription has no price, and
    tokens are what it uses up."""
    max_account_cost_per_day_usd: Annotated[float, Field(gt=0)] | None = None
    """Cost of the agents of one account on one day of UTC, in US dollars; as above. An account is named by its
    credential (`chaperon budgets`), so that another credential has a budget of its own."""
    max_account_tokens_per_day: Count | None = None
    """Tokens of the agents of one account on one day of UTC; as above."""
    prices: Annotated[tuple[ModelPrice, ...], Field(strict=False)] = ()
    """Prices of models, which count instead of the CLI's; the first that fits."""

    @model_validator(mode="before")
    @classmethod
    def _from_profile(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("profile") == "mission":
            return {**MISSION_LIMITS, **value}
        return value

    def limits(self) -> Limits:
        """The same as the protocol's type."""
        return settings_from(Limits, self.model_dump())
