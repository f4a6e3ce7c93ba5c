"""A sink over a real store: what the inbox keeps of what a channel hands in."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial

import sqlalchemy as sa

from channels.base import Channel, ChannelState, KnownChat, NotPersisted
from channels.messages import INBOUND_EVENT, InboundEvent, InboundMessage, Rejected
from gateway.store import chats, inbox
from gateway.store.engine import Connection, Store
from gateway.store.inbox import NewRow
from gateway.store.tables.traffic import inbox as inbox_table


class InboxSink:
    """The inbox alone: rows, their uniqueness and the cursor; can be told to refuse, or to hold a batch back."""

    def __init__(self, store: Store, channel: str, account: str) -> None:
        self._store = store
        self._channel = channel
        self._account = account
        self.refusals = 0  # so many offers end in NotPersisted
        self.refused = 0
        self.on_refusal: Callable[[], None] = lambda: None
        self.open = asyncio.Event()  # cleared: `receive` waits before its commit
        self.open.set()
        self.arriving = asyncio.Event()  # set when `receive` was entered
        self.states: list[ChannelState] = []
        self.committed: str | None = None  # the cursor
        self._changed = asyncio.Event()

    async def run(self, channel: Channel) -> None:
        """Run the connections of a channel, of which the first alone has a resume point."""
        async with asyncio.TaskGroup() as tasks:
            for connection in await channel.connections():
                tasks.create_task(connection.run(self))

    async def receive(
        self, events: Sequence[InboundEvent], *, rejected: Sequence[Rejected] = (), cursor: str | None = None
    ) -> None:
        """As the port says."""
        self.arriving.set()
        await self.open.wait()
        if self.refusals > 0 and any(isinstance(event, InboundMessage) for event in events):
            self.refusals -= 1
            self.refused += 1
            self.on_refusal()
            self._tell()
            raise NotPersisted
        await self._store.commit(self._commit, events=events, rejected=rejected, cursor=cursor)
        self.committed = self.committed if cursor is None else cursor
        self._tell()

    def _commit(
        self, connection: Connection, events: Sequence[InboundEvent], rejected: Sequence[Rejected], cursor: str | None
    ) -> None:
        now = datetime.now(UTC)
        for event in events:
            inbox.admit(connection, NewRow(event), now)
        for one in rejected:
            inbox.quarantine(connection, "default", self._channel, self._account, one, now)
        if cursor is not None:
            chats.move_cursor(connection, "default", self._channel, self._account, cursor, now)

    async def cursor(self) -> str | None:
        """As the port says."""
        return await self._store.read(partial(chats.cursor_of, channel=self._channel, account=self._account))

    async def chats(self) -> Sequence[KnownChat]:
        """As the port says: nobody is let in here."""
        return ()

    def report_missing(self, detail: str) -> None:
        """As the port says."""
        if detail:
            self.report(ChannelState.DEGRADED, detail)

    def report(self, state: ChannelState, detail: str = "") -> None:
        """As the port says."""
        self.states.append(state)
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def texts(self) -> list[str]:
        """What people said, a row each, in the order of their admission."""
        query = sa.select(inbox_table.c.payload).where(inbox_table.c.kind == "message").order_by(inbox_table.c.id)
        payloads = await self._store.read(lambda connection: list(connection.execute(query).scalars()))
        return [INBOUND_EVENT.validate_json(payload).text for payload in payloads]

    async def last_message_id(self) -> str:
        """The platform's id of what was said last."""
        query = sa.select(inbox_table.c.message_id).where(inbox_table.c.kind == "message")
        return await self._store.read(
            lambda connection: connection.execute(query.order_by(inbox_table.c.id.desc())).scalars().first()
        )

    async def until_texts(self, count: int) -> list[str]:
        """The rows, once there are so many; ten seconds at most."""
        async with asyncio.timeout(30):
            while len(texts := await self.texts()) < count:
                await self._wait()
        return texts

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until `condition()` holds, ten seconds at most."""
        async with asyncio.timeout(30):
            while not condition():
                await self._wait()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(0.05):
                await self._changed.wait()
        except TimeoutError:
            pass
