"""A dict that does not grow without bound. Bounds by weight or by age stand where they are needed."""

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(OrderedDict[K, V]):
    """Forgets the entry that was set longest ago once there are more than `most`; setting one again makes it young."""

    def __init__(self, most: int) -> None:
        """Empty."""
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)
