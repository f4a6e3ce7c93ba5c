"""The signs that the messages of a session carry, and when the sign of waiting goes. Their look is a channel's."""

from collections.abc import Collection
from typing import Protocol

from channels.base import Sign
from channels.messages import Address, InboundMessage
from gateway.store.inbox import InboxRow


class Reacts(Protocol):
    """How a sign reaches a message."""

    def react(self, address: Address, message_id: str, sign: Sign | None) -> None:
        """Show a sign, or None of them, sooner or later, if the channel can; on one message in the order of calls."""
        ...


class Signs:
    """Shows the people of one session what became of their messages."""

    def __init__(self, channels: Reacts, *, wanted: bool) -> None:
        """Where signs are not wanted nothing is shown."""
        self._channels = channels
        self._wanted = wanted
        self._waiting: dict[int, InboxRow] = {}

    def show(self, row: InboxRow, sign: Sign | None) -> None:
        """This sign in place of the one before; None takes it away."""
        if sign is Sign.QUEUED:
            self._waiting[row.id] = row
        else:
            self._waiting.pop(row.id, None)
        if isinstance(row.event, InboundMessage) and self._wanted:
            self._channels.react(row.event.address, row.event.message_id, sign)

    def waited(self, ids: Collection[int]) -> None:
        """The wait of these rows is over."""
        for id_ in ids:
            if (row := self._waiting.get(id_)) is not None:
                self.show(row, None)
