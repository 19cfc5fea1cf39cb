"""Origins over the calls of a run: a bounded fold over its reviews, which each later review is given."""

import posixpath
from collections import Counter
from collections.abc import Mapping

from monitors.contract.actions import Origin, Review
from monitors.contract.words import Decision

MAX_KNOWN = 200
"""Most origins kept of a run; past it, the directory that has most of them stands for these."""


_BY_DANGER = ("own", "made", "remote", "pipe", "secret", "written", "harmful", "cloned", "decoded", "downloaded")


class Origins:
    """The origins known of one run: a fold over its reviews."""

    def __init__(self) -> None:
        self._known: dict[str, Origin] = {}

    @property
    def known(self) -> Mapping[str, Origin]:
        """Origins by path; a path that ends in a slash stands for all below it."""
        return self._known

    def failed(self, review: Review) -> None:
        """Forget what a call that failed was to make as its last: what goes by that name is older."""
        made = {origin.path for origin in review.origins if origin.how == "made" and origin.by}
        if not made.isdisjoint(self._known):
            self._known = {path: one for path, one in self._known.items() if path not in made}

    def remember(self, review: Review) -> None:
        """Fold in a review; a call that is blocked leaves nothing."""
        if review.decision is Decision.BLOCK or not review.origins:
            return
        known = dict(self._known)
        for origin in review.origins:
            for path in [path for path in known if below(path, origin.path)]:
                del known[path]
            covered = any(path.endswith("/") and below(origin.path, path) for path in known)
            if covered == (origin.how == "own"):
                known[origin.path] = origin
        while len(known) > MAX_KNOWN:
            folder, _ = Counter(map(_folder, known)).most_common(1)[0]
            worst = max(
                (one for path, one in known.items() if path.startswith(folder)),
                key=lambda one: _BY_DANGER.index(one.how),
            )
            known = {path: one for path, one in known.items() if not path.startswith(folder)}
            known[folder] = Origin(folder, worst.how, worst.by)
        self._known = known  # contexts of reviews hold the one before


def _folder(path: str) -> str:
    return posixpath.dirname(path.rstrip("/")).rstrip("/") + "/"


def below(path: str, top: str) -> bool:
    """Whether the path is the other one, or lies below it."""
    return path == top or path.startswith(top.rstrip("/") + "/")
