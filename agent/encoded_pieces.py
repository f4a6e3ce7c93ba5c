"""What the last request of a conversation was encoded as is used again in its next one; nothing older is kept.

What a piece is, is the wire's matter: here they are only held beside what they were made of.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import compress, count
from operator import is_not
from typing import Any, TypeVar

from agent.transcript import AssistantItem, NoteItem, ToolItem, UserItem

Thing = TypeVar("Thing")
Piece = TypeVar("Piece")


class EncodedPieces:
    """The pieces of one conversation's last request, on one wire. They are bounded by that request."""

    def __init__(self) -> None:
        """Nothing was sent yet."""
        self._wire = ""
        self._parts: dict[str, tuple[Sequence[Any], Sequence[Any]]] = {}  # what was encoded, and as what

    def of(self, wire: str, part: str, things: Sequence[Thing], make: Callable[[Thing], Piece]) -> Sequence[Piece]:
        """The pieces of these things, in order; only what the last request had not in this part is made."""
        if wire != self._wire:
            self._wire, self._parts = wire, {}
        old, old_pieces = self._parts.get(part, ((), ()))
        if things is old:
            return old_pieces
        same = _count_same(old, things)
        moved = dict(zip(map(_key, old[same:]), old_pieces[same:], strict=True))
        pieces = list(old_pieces[:same])
        for thing in things[same:]:
            found = moved.get(_key(thing)) if moved else None
            pieces.append(make(thing) if found is None else found)
        self._parts[part] = (tuple(things), pieces)
        return pieces

    def lacks(self, wire: str, part: str, things: Sequence[Thing]) -> list[Thing]:
        """Those of these things of which the last request had no piece in this part."""
        old = self._parts.get(part, ((), ()))[0] if wire == self._wire else ()
        held = set(map(_key, old))
        return [thing for thing in things if _key(thing) not in held]


def _count_same(old: Sequence[object], things: Sequence[object]) -> int:
    """How many of them begin as the old ones did."""
    for index in compress(count(), map(is_not, old, things)):
        if _key(old[index]) != _key(things[index]):
            return index
    return min(len(old), len(things))


def _key(thing: object) -> Hashable:
    """What is equal has the same piece. Of thoughts that is the same object only: in JSON `1` and `1.0` are two."""
    match thing:
        case AssistantItem() if thing.thinking:
            return thing.text, thing.tool_calls, id(thing.thinking)
        case UserItem() | AssistantItem() | ToolItem() | NoteItem():
            return thing
        case _:
            return id(thing)
