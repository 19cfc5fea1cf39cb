"""Values of variables."""

from collections.abc import Iterable

from monitors.review.shell.invocation import Arg

Value = list[Arg]
"""A variable's value: one word, or an array's."""


class Scattered(Value):
    """The elements of an array that do not all stand at the numbers of their places.

    Args:
        words: The elements.
        keys: The key of each, where they are known.
    """

    def __init__(self, words: Iterable[Arg], keys: Iterable[str] = ()) -> None:
        super().__init__(words)
        self.of = dict(zip(keys, self, strict=False))
