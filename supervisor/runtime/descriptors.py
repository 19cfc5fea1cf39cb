"""How many files the daemon may hold open: services start with 1,024, and each agent takes some five of them."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

ENOUGH = 65_536
"""The soft limit that is requested. An agent takes five at most (its shim, its poll set, a watch, two files that are
being read or written), so this is room for 1,000 agents and all connections twelve times over. Not more, because
programs that the daemon starts get it too, and some try each number up to it: 65,536 take 10 ms, a billion an hour."""


@contextmanager
def raised() -> Iterator[int]:
    """Raise the soft limit for the block, as far as the hard limit lets us; yields what it was before."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(ENOUGH, hard)
    usual = soft if soft != resource.RLIM_INFINITY else wanted
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    try:
        yield usual
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def allowed() -> int:
    """The soft limit of now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return ENOUGH if soft == resource.RLIM_INFINITY else soft
