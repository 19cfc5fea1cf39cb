"""Waits for something that nothing tells of."""

from collections.abc import Callable

import anyio

LOOK_SECONDS = 0.02
"""Between two looks for something that takes some milliseconds as a rule."""


async def becomes(claim: Callable[[], bool], seconds: float) -> bool:
    """Look until a claim is true; return whether it was so within this time."""
    for _ in range(round(seconds / LOOK_SECONDS)):
        if claim():
            return True
        await anyio.sleep(LOOK_SECONDS)
    return claim()
