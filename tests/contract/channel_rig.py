"""A channel with people at its other end, as one small interface: so that one contract holds for every channel."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from enum import StrEnum
from pathlib import Path

from channels.base import Channel
from channels.messages import Address, OutboundPart, Rendered
from gateway.store.engine import Store
from tests.fakes.inbox_sink import InboxSink


class Trouble(StrEnum):
    """How a send can fail."""

    RETRYABLE = "retryable"
    PERMANENT = "permanent"
    UNKNOWN = "unknown"


class Rig(ABC):
    """A channel that runs, a person who talks to it, and a platform between them that can be made to fail."""

    name: str
    account = "main"
    delivers_by_commit = False  # what is said is delivered when it is stored: no send fails

    def __init__(self, store: Store, directory: Path) -> None:
        """`directory` is the rig's own."""
        self.store = store
        self.sink = InboxSink(store, self.name, self.account)
        self.directory = directory
        self._stack = AsyncExitStack()
        self._running: asyncio.Task[None] | None = None
        self._people: list[asyncio.Task[None]] = []

    # What each rig says.

    @abstractmethod
    async def make(self) -> Channel:
        """A channel as a fresh process would make it."""

    @abstractmethod
    async def people_say(self, texts: Sequence[str]) -> None:
        """One person says these, one right after the other."""

    @abstractmethod
    async def redeliver(self) -> None:
        """The platform hands over the last message once more, as if it had not heard that it was taken."""

    @abstractmethod
    def unacknowledged(self) -> int:
        """How many messages the platform keeps because it was not told that they were taken."""

    @abstractmethod
    def sent_texts(self) -> list[str]:
        """What the person sees of ours, in order."""

    @abstractmethod
    async def fail_next(self, trouble: Trouble) -> None:
        """Make the next send fail so."""

    async def sent(self) -> list[str]:
        """Return what the person sees of ours, in order, once all that was sent has arrived."""
        return self.sent_texts()

    async def mend(self) -> None:
        """Let sends succeed again."""
        await asyncio.sleep(0)

    @property
    @abstractmethod
    def address(self) -> Address:
        """The chat of that person."""

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
        """The process ends wherever it is, and the next one begins."""
        await self.stop()
        await self.start()

    async def stop(self) -> None:
        """The process ends wherever it is."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])
        await self.channel.aclose()

    @asynccontextmanager
    async def alive(self) -> AsyncIterator["Rig"]:
        """The platform and the channel run within this."""
        async with asyncio.TaskGroup() as tasks, self._stack:
            self._tasks = tasks
            await self.open()
            await self.start()
            yield self
            await self.stop()
            for person in self._people:
                person.cancel()

    async def met(self, messages: int = 1) -> None:
        """The person has said something, so that there is a chat to send to; `messages` are rows by then."""
        await self.people_say(["hello"])
        await self.sink.until_texts(messages)

    def part(self, text: str, key: str = "0123456789abcdef") -> OutboundPart:
        """Something to send to the person."""
        return OutboundPart(address=self.address, rendered=Rendered(text), idem_key=key)
