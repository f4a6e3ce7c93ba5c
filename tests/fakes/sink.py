"""A sink that records what an adapter hands in and tells health."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from channels.base import Channel, ChannelState, KnownChat, LaysOutCursors, NotPersisted
from channels.messages import ButtonPressed, ChatKind, CommandInvoked, InboundEvent, InboundMessage, Rejected
from gateway.inbound.connections import BY_SEVERITY


def chat_of(event: InboundEvent) -> KnownChat | None:
    """Return the chat of an event that is meant for the bot; every sender counts as let in."""
    if not isinstance(event, InboundMessage | CommandInvoked | ButtonPressed):
        return None
    direct = event.kind is ChatKind.DIRECT
    if isinstance(event, InboundMessage) and not (direct or event.mentions_bot):
        return None
    return KnownChat(event.address.chat, event.address.thread, direct=direct)


class RecordingSink:
    """A sink that keeps everything in order. It can be down, or hold a batch back before its commit."""

    def __init__(self, cursor: str | None = None, known: Iterable[KnownChat] = ()) -> None:
        self.known = dict.fromkeys(known)
        self.missing = ""  # what could not be read, as told last
        self.events: list[InboundEvent] = []
        self.rejected: list[Rejected] = []
        self.batches: list[list[str]] = []  # the event ids of each offer, also of those refused
        self.states: list[tuple[ChannelState, str]] = []
        self.cursors = {} if cursor is None else {0: cursor}  # by connection
        self._latest: dict[int, tuple[ChannelState, str]] = {}  # by connection
        self.refusals = 0  # so many offers end in NotPersisted
        self.open = asyncio.Event()  # cleared: `receive` waits
        self.open.set()
        self.arriving = asyncio.Event()  # set when `receive` was entered
        self._changed = asyncio.Event()

    @property
    def committed(self) -> str | None:
        return self.cursors.get(0)

    @committed.setter
    def committed(self, cursor: str | None) -> None:
        self.cursors = {} if cursor is None else {0: cursor}

    async def run(self, channel: Channel) -> None:
        """Run the connections of a channel, as the gateway does."""
        connections = await channel.connections()
        if isinstance(channel, LaysOutCursors):
            changed = self.cursors | channel.lay_out(self.cursors, len(connections))
            self.cursors = {number: cursor for number, cursor in changed.items() if cursor is not None}
        self._latest = dict.fromkeys(range(len(connections)), (ChannelState.STARTING, ""))
        try:
            async with asyncio.TaskGroup() as tasks:
                for number, connection in enumerate(connections):
                    tasks.create_task(connection.run(_ConnectionSink(self, number) if number else self))
        except BaseExceptionGroup as ended:
            raise ended.exceptions[0] from None

    async def receive(
        self,
        events: Sequence[InboundEvent],
        *,
        rejected: Sequence[Rejected] = (),
        cursor: str | None = None,
        number: int = 0,
    ) -> None:
        self.batches.append([event.event_id for event in events])
        self.arriving.set()
        await self.open.wait()
        if self.refusals > 0:
            self.refusals -= 1
            self._tell()
            raise NotPersisted
        self.events.extend(events)
        self.known |= dict.fromkeys(chat for event in events if (chat := chat_of(event)) is not None)
        self.rejected.extend(rejected)
        if cursor is not None:
            self.cursors[number] = cursor
        self._tell()

    async def cursor(self) -> str | None:
        return self.committed

    async def chats(self) -> Sequence[KnownChat]:
        return tuple(reversed(self.known))

    def report_missing(self, detail: str) -> None:
        self.missing = detail
        if detail:
            self.states.append((ChannelState.DEGRADED, detail))
        self._tell()

    def report(self, state: ChannelState, detail: str = "", *, number: int = 0) -> None:
        self._latest[number] = (state, detail)
        self.states.append(max(self._latest.values(), key=lambda told: BY_SEVERITY.index(told[0])))
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def details(self, state: ChannelState) -> list[str]:
        """Return what the channel said each time it was in `state`."""
        return [detail for told, detail in self.states if told is state]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until `condition()` holds, ten seconds at most."""
        async with asyncio.timeout(30):
            while not condition():
                await self._changed.wait()


class _ConnectionSink:
    """The sink of one connection: only its resume point is its own."""

    def __init__(self, whole: RecordingSink, number: int) -> None:
        self._number = number
        self.chats, self.report_missing = whole.chats, whole.report_missing
        self.report = partial(whole.report, number=number)
        self.receive = partial(whole.receive, number=number)
        self._whole = whole

    async def cursor(self) -> str | None:
        return self._whole.cursors.get(self._number)
