"""The memory of a process that has many threads, as the C library gives it out."""

import ctypes

ARENA_MAX = -8
"""Number of the option in `mallopt` of the GNU C library (malloc.h: M_ARENA_MAX)."""

ARENAS = 2
"""Areas that all threads share. By itself the library makes eight for each processor, and a thread that ended leaves
its own half empty: with ten agents at work 2 MB. Threads seldom wait for one another there, since Python's lock is
theirs one at a time; one area gained no more than two."""


def share_arenas() -> None:
    """Have threads that begin from here on share areas. Another C library has no such option, and none of them."""
    limit = getattr(ctypes.CDLL(None), "mallopt", None)
    if limit is not None:
        limit(ARENA_MAX, ARENAS)
