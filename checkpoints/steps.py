"""The steps of work that may be cut off half-way: each is announced before it is done, and a test stops there."""

from collections.abc import Callable

Step = Callable[[str], None]
"""Told of each step before it is done."""


def no_step(_: str) -> None:
    """Do nothing at a step."""
