"""A bounded memory of what was seen."""

from collections.abc import Hashable
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)


class Recent(Generic[Item]):
    """The items seen latest, at most so many; adding one more forgets the one longest unseen."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: dict[Item, None] = {}

    def __contains__(self, item: Item) -> bool:
        return item in self._items

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: Item) -> bool:
        """Remember the item and return whether it is new."""
        new = item not in self._items
        self._items.pop(item, None)
        self._items[item] = None
        if len(self._items) > self._most:
            del self._items[next(iter(self._items))]
        return new

    def clear(self) -> None:
        """Forget all."""
        self._items.clear()
