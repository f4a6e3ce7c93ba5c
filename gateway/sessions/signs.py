"""Shows people what became of their messages; what is shown is kept, so that a start after a death puts it right.

The look of a sign is its channel's; a sign is never waited for, and may fail without harm.
"""

import asyncio
from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial

from channels.base import Sign
from channels.messages import InboundMessage
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.store import signs
from gateway.store.engine import Store
from gateway.store.inbox import InboxRow
from gateway.store.signs import SignedRow

SHOWN_AGAIN = timedelta(minutes=10)
"""So long ago a message may have been taken or refused for its sign to be shown again after a death."""


class StatusReactions:
    """The signs on the messages of a gateway."""

    def __init__(self, store: Store, channels: ChannelDirectory, tasks: asyncio.TaskGroup, *, wanted: bool) -> None:
        """Where reactions are not wanted nothing is shown."""
        self._store = store
        self._channels = channels
        self._tasks = tasks
        self._wanted = wanted
        self._waiting: dict[int, InboxRow | SignedRow] = {}

    @property
    def taken(self) -> Sign | None:
        """What a commit is to keep with the messages that a turn takes; None where nothing is shown."""
        return Sign.STEERED if self._wanted else None

    def recover(self, found: Collection[SignedRow]) -> None:
        """Put right what the process before left; the channels may not be loaded yet."""
        for row in found:
            if row.waits:
                self._waiting[row.id] = row
            self._tasks.create_task(self._show_again(row))

    async def take_over(self, now: datetime, shards: Collection[int] | None = None) -> None:
        """As `recover`, from the store; of these shards alone where they are given."""
        if self._wanted:
            take_over = partial(signs.take_over, since=now - SHOWN_AGAIN, shards=shards)
            self.recover(await self._store.write(take_over))

    async def _show_again(self, row: SignedRow) -> None:
        if not self._channels.is_configured(row.address):
            return
        await self._channels.when_loaded(row.address)
        if not row.waits:  # whatever stands there is not known any more
            self._channels.react(row.address, row.message_id, None)
        if row.sign is not None and (not row.waits or row.id in self._waiting):
            self._channels.react(row.address, row.message_id, row.sign)

    def show(self, row: InboxRow, sign: Sign) -> None:
        """This sign in place of the one before. It is kept first: what is shown is known to the next start."""
        if not isinstance(row.event, InboundMessage) or not self._wanted:
            return
        if sign is Sign.QUEUED:
            self._waiting[row.id] = row
        else:
            self._waiting.pop(row.id, None)
        react = partial(self._channels.react, row.event.address, row.event.message_id, sign)
        signs.keep(self._store, partial(signs.put, ids=[row.id], sign=sign), react)

    def show_kept(self, row: InboxRow, sign: Sign) -> None:
        """As `show`, of one that a commit has kept already."""
        self._waiting.pop(row.id, None)
        if isinstance(row.event, InboundMessage) and self._wanted:
            self._channels.react(row.event.address, row.event.message_id, sign)

    def note_taken(self, ids: Collection[int]) -> None:
        """Those of these rows that waited were taken into another one's turn."""
        for id_ in ids:
            if isinstance(row := self._waiting.get(id_), InboxRow):
                self.show(row, Sign.STEERED)

    def end_wait(self, ids: Collection[int]) -> None:
        """The wait of these rows is over: their sign goes, and then what is kept of it."""
        for id_ in ids:
            row = self._waiting.pop(id_, None)
            if row is None:
                continue
            address = row.address if isinstance(row, SignedRow) else row.event.address
            message_id = row.message_id if isinstance(row, SignedRow) else getattr(row.event, "message_id", "")
            forget = partial(signs.keep, self._store, partial(signs.put, ids=[id_], sign=None))
            self._channels.react(address, message_id, None, forget)
