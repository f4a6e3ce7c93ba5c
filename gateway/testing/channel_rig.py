"""A channel with people at its other end, as one small interface, so that one contract covers every channel.

`gateway.testing.channel_contract` is that contract.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

import sqlalchemy as sa

from channels.base import Channel, ChannelState, KnownChat, NotPersisted
from channels.messages import INBOUND_EVENT, Address, InboundEvent, InboundMessage, OutboundPart, Rejected, Rendered
from gateway.store import chats, inbox
from gateway.store.engine import Connection, Store
from gateway.store.inbox import NewRow
from gateway.store.tables.traffic import inbox as inbox_table


class InboxSink:
    """The inbox alone: rows, their uniqueness and the cursor. It can refuse a batch, or hold it back."""

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
        for each in rejected:
            inbox.quarantine(connection, "default", self._channel, self._account, each, now)
        if cursor is not None:
            chats.move_cursor(connection, "default", self._channel, self._account, cursor, now)

    async def cursor(self) -> str | None:
        return await self._store.read(partial(chats.cursor_of, channel=self._channel, account=self._account))

    async def chats(self) -> Sequence[KnownChat]:
        return ()

    def report_missing(self, detail: str) -> None:
        if detail:
            self.report(ChannelState.DEGRADED, detail)

    def report(self, state: ChannelState, detail: str = "") -> None:
        self.states.append(state)
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def messages(self) -> list[InboundMessage]:
        """Return people's messages, a row each, in order of admission."""
        query = sa.select(inbox_table.c.payload).where(inbox_table.c.kind == "message").order_by(inbox_table.c.id)
        payloads = await self._store.read(lambda connection: list(connection.execute(query).scalars()))
        events = [INBOUND_EVENT.validate_json(payload) for payload in payloads]
        return [event for event in events if isinstance(event, InboundMessage)]

    async def texts(self) -> list[str]:
        """Return what people said, in order of admission."""
        return [said.text for said in await self.messages()]

    async def last_message_id(self) -> str:
        """Return the platform's id of the last message."""
        query = sa.select(inbox_table.c.message_id).where(inbox_table.c.kind == "message")
        newest = query.order_by(inbox_table.c.id.desc())
        return str(await self._store.read(lambda connection: connection.execute(newest).scalars().first()))

    async def until_texts(self, count: int) -> list[str]:
        """Wait at most 30 s for so many rows; return them."""
        async with asyncio.timeout(30):
            while len(texts := await self.texts()) < count:
                await self._wait()
        return texts

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until `condition()` holds, 30 s at most."""
        async with asyncio.timeout(30):
            while not condition():
                await self._wait()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(0.05):
                await self._changed.wait()
        except TimeoutError:
            pass


class Trouble(StrEnum):
    """Failures of a send."""

    RETRYABLE = "retryable"
    PERMANENT = "permanent"
    UNKNOWN = "unknown"


class Rig(ABC):
    """A channel that runs, a person who talks to it, and a platform between them that can be made to fail."""

    name: str
    account = "main"
    delivers_by_commit = False  # what is said is delivered when it is stored: no send fails

    def __init__(self, store: Store, directory: Path) -> None:
        self.store = store
        self.sink = InboxSink(store, self.name, self.account)
        self.directory = directory
        self._stack = AsyncExitStack()
        self._running: asyncio.Task[None] | None = None
        self._people: list[asyncio.Task[None]] = []

    # What each rig says.

    @abstractmethod
    async def make(self) -> Channel:
        """Return a channel as a fresh process would make it."""

    @abstractmethod
    async def people_say(self, texts: Sequence[str]) -> None:
        """Let one person say these texts one right after the other."""

    @abstractmethod
    async def redeliver(self) -> None:
        """Deliver the last message again, as if the platform had not heard the acknowledgement."""

    @abstractmethod
    def count_unacknowledged(self) -> int:
        """Return how many messages the platform still waits to have acknowledged."""

    @abstractmethod
    def sent_texts(self) -> list[str]:
        """Return what the person sees of the bot, in order."""

    @abstractmethod
    async def fail_next(self, trouble: Trouble) -> None:
        """Make the next send fail so."""

    async def until_sent(self) -> list[str]:
        """Return what the person sees of ours, in order, once all that was sent has arrived."""
        return self.sent_texts()

    async def mend(self) -> None:
        """Let sends succeed again."""
        await asyncio.sleep(0)

    @property
    @abstractmethod
    def address(self) -> Address:
        pass

    @abstractmethod
    async def open(self) -> None:
        """Start the platform."""

    # What is the same for all.

    async def start(self) -> None:
        """Run a fresh channel."""
        self.channel = await self.make()
        self._running = self._tasks.create_task(self._run(self.channel))

    async def _run(self, channel: Channel) -> None:
        await self.sink.run(channel)

    async def restart(self) -> None:
        """End the process wherever it is, and begin the next one."""
        await self.stop()
        await self.start()

    async def stop(self) -> None:
        """End the process wherever it is."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])
        await self.channel.aclose()

    @asynccontextmanager
    async def alive(self) -> AsyncIterator[Self]:
        """Run the platform and the channel within this context."""
        async with asyncio.TaskGroup() as tasks, self._stack:
            self._tasks = tasks
            await self.open()
            await self.start()
            yield self
            await self.stop()
            for person in self._people:
                person.cancel()

    async def meet(self, messages: int = 1) -> None:
        """Let the person say something, so that there is a chat to send to, and wait for so many rows."""
        await self.people_say(["hello"])
        await self.sink.until_texts(messages)

    def part(self, text: str, key: str = "0123456789abcdef") -> OutboundPart:
        return OutboundPart(address=self.address, rendered=Rendered(text), idem_key=key)


AnyRig = TypeVar("AnyRig", bound=Rig)


@asynccontextmanager
async def run_rig(make: Callable[[Store, Path], AnyRig], directory: Path) -> AsyncIterator[AnyRig]:
    """Run a rig over a fresh database in this directory."""
    store = await Store.open(f"sqlite:///{directory / 'tenk.db'}")
    try:
        async with make(store, directory).alive() as made:
            yield made
    finally:
        await store.aclose()
