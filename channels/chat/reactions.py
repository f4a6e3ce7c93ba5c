"""One reaction of ours on a message, for platforms on which a new reaction does not replace the old one."""

from collections.abc import Awaitable, Callable, Mapping

from channels.base import Reaction
from channels.bounded_dict import BoundedDict

MOST_REMEMBERED = 2_000

Change = Callable[[str, str, str], Awaitable[None]]
"""Adds or removes a reaction: (chat, message, the platform's name of the reaction)."""


class OneReaction:
    """Our reactions by message; the newest are remembered."""

    def __init__(self, names: Mapping[Reaction, str], add: Change, remove: Change) -> None:
        self._names = names
        self._add = add
        self._remove = remove
        self._set: BoundedDict[tuple[str, str], str] = BoundedDict(MOST_REMEMBERED)

    async def replace(self, chat: str, message_id: str, reaction: Reaction | None) -> None:
        """Set our reaction, then remove the previous one; None only removes it."""
        place = chat, message_id
        known = self._set.pop(place, None)
        wanted = None if reaction is None else self._names[reaction]
        if wanted is not None:
            await self._add(chat, message_id, wanted)
            self._set[place] = wanted
        # After a restart the previous one is unknown: to clear a message, each possible one is removed.
        for before in [known] if known is not None else self._names.values() if wanted is None else ():
            if before != wanted:
                await self._remove(chat, message_id, before)
