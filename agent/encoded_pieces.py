"""A cache of the encoded items of a conversation's last request, for the next one.

The wire defines a piece; this class keeps pieces beside the items that they encode.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import compress, count
from operator import is_not
from typing import Any, TypeVar

from agent.transcript import AssistantItem, Item

Piece = TypeVar("Piece")


class EncodedPieces:
    """The pieces of one conversation's last request on one wire; that request bounds them."""

    def __init__(self) -> None:
        self._wire = ""
        self._last: tuple[Sequence[Item], Sequence[Any]] = (), ()  # the items and their pieces

    def of(self, wire: str, things: Sequence[Item], make: Callable[[Item], Piece]) -> Sequence[Piece]:
        """Return the pieces of these things in order, and make those that the last request did not have."""
        if wire != self._wire:
            self._wire, self._last = wire, ((), ())
        old, old_pieces = self._last
        same = _count_same(old, things)
        moved = dict(zip(map(_key, old[same:]), old_pieces[same:], strict=True))
        pieces = list(old_pieces[:same])
        for thing in things[same:]:
            found = moved.get(_key(thing)) if moved else None
            pieces.append(make(thing) if found is None else found)
        self._last = tuple(things), pieces
        return pieces

    def lacks(self, wire: str, things: Sequence[Item]) -> list[Item]:
        """Return the things for which the last request had no piece."""
        old = self._last[0] if wire == self._wire else ()
        held = set(map(_key, old))
        return [thing for thing in things if _key(thing) not in held]


def _count_same(old: Sequence[Item], things: Sequence[Item]) -> int:
    """Return the number of leading items that are unchanged."""
    for index in compress(count(), map(is_not, old, things)):
        if _key(old[index]) != _key(things[index]):
            return index
    return min(len(old), len(things))


def _key(thing: Item) -> Hashable:
    """Return a key that is equal for items with the same encoding. Thoughts compare by identity: `1` and `1.0` differ
    in JSON.
    """
    if type(thing) is AssistantItem and thing.thinking:
        return thing.text, thing.tool_calls, id(thing.thinking)
    return thing
