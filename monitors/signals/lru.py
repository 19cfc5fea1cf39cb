"""A bounded memory of what was seen."""

from collections import OrderedDict
from collections.abc import Hashable, Set
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)


class Recent(Generic[Item]):
    """The items seen latest, at most so many; adding one more forgets the one longest unseen."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: OrderedDict[Item, None] = OrderedDict()

    def __contains__(self, item: Item) -> bool:
        return item in self._items

    def __len__(self) -> int:
        return len(self._items)

    def has_any(self, items: Set[Item]) -> bool:
        """Whether one of these is among them."""
        return not self._items.keys().isdisjoint(items)

    def add(self, item: Item) -> bool:
        """Remember the item and return whether it is new."""
        if item in self._items:
            self._items.move_to_end(item)
            return False
        self._items[item] = None
        if len(self._items) > self._most:
            self._items.popitem(last=False)
        return True

    def clear(self) -> None:
        """Forget all."""
        self._items.clear()
