"""The dynamic tiers of no progress: a word, then a strong one, then a fresh attempt from a good checkpoint.

The detector counts: tiers 2 and 3 come ten steps after the answer before them, never at a fixed step, and progress
resets the count. So its tier is taken as it is, and nothing here counts time.
"""

from collections.abc import Sequence

from interventions.contract import LadderPosition, Past
from interventions.words import InterventionKind
from monitors.contract.wording import counted

TYPE = "no_progress"


def position(ladder: Sequence[InterventionKind], past: Past) -> LadderPosition:
    """The rung of the tier that the issue names; where it names none, one after the last that was tried."""
    tier = past.issue.details.get("tier")
    if not isinstance(tier, int):
        tier = sum(tried.same_streak for tried in past.tried) + 1
    if tier < 1:
        tier = 1
    why = (
        f"there is still no progress after {counted(tier - 1, 'answer')}"
        if tier > 1
        else "the mildest answer comes first"
    )
    return LadderPosition(min(tier - 1, len(ladder)), why)
