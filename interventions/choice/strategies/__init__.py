"""How the next kind of intervention is proposed.

A strategy of a plugin is any object of the `Strategy` protocol; the one whose name is `custom` in the table is the one
that the configuration asks for by `type: custom`.

pattern_specific  by the pattern's table alone
progressive       step by step
tiers             the dynamic tiers of no progress
"""

from collections.abc import Mapping

from interventions.choice.strategies.pattern_specific import PatternSpecific
from interventions.choice.strategies.progressive import Progressive
from interventions.contract import Strategy
from interventions.settings import StrategySettings
from monitors.contract.errors import UsageError


def strategy_of(settings: StrategySettings, custom: Strategy | None = None) -> Strategy:
    """The strategy that the settings ask for.

    Raises:
        UsageError: They ask for one that is not there.
    """
    table: Mapping[str, Strategy | None] = {
        "progressive": Progressive(settings),
        "pattern_specific": PatternSpecific(settings),
        "custom": custom,
    }
    found = table.get(settings.type)
    if found is None:
        there = ", ".join(name for name, strategy in table.items() if strategy is not None)
        raise UsageError(
            f"There is no intervention strategy {settings.type!r}; nothing was started.",
            way_out=f"Set interventions.strategy.type to one of: {there}. For custom, a plugin must bring one.",
        )
    return found
