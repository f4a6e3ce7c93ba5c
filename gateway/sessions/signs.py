"""Reactions that show people what became of their messages.

A reaction is shown and forgotten: it is never waited for, may fail without harm, and one that a death left stays.
"""

from collections.abc import Collection

from channels.base import Reaction
from channels.messages import InboundMessage
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.store.inbox import InboxRow


class StatusReactions:
    """The reactions on the messages of a gateway."""

    def __init__(self, channels: ChannelDirectory, *, wanted: bool) -> None:
        self._channels = channels
        self._wanted = wanted  # False: nothing is shown
        self._waiting: dict[int, InboxRow] = {}

    def show(self, row: InboxRow, reaction: Reaction) -> None:
        """Replace the reaction on a message."""
        if not isinstance(row.event, InboundMessage) or not self._wanted:
            return
        if reaction is Reaction.QUEUED:
            self._waiting[row.id] = row
        else:
            self._waiting.pop(row.id, None)
        self._channels.react(row.event.address, row.event.message_id, reaction)

    def note_taken(self, ids: Collection[int]) -> None:
        """Show on these rows that another one's turn took them, if they were shown to wait."""
        for id_ in ids:
            if (row := self._waiting.get(id_)) is not None:
                self.show(row, Reaction.STEERED)

    def end_wait(self, ids: Collection[int]) -> None:
        """Take the reaction from those of these rows that were shown to wait."""
        for id_ in ids:
            row = self._waiting.pop(id_, None)
            if row is not None and isinstance(row.event, InboundMessage):
                self._channels.react(row.event.address, row.event.message_id, None)
