"""`ApiChannel`: programs that talk over HTTP as a channel. What they say comes in here; answers are theirs to fetch.

An answer is said as soon as it stands in the store: sending it wakes whoever waits for it, no more. Keys, paths and
JSON are the HTTP server's matter.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from channels.base import ChannelConnection, ChannelState, Limits, NotPersisted, Renderer, Sink, TextUnit
from channels.clocks import steady_now
from channels.markdown.tree import clean
from channels.messages import DEFAULT_TENANT, Address, ChatKind, InboundMessage, OutboundPart, Receipt, Sender
from channels.viewers.plain_renderer import PlainRenderer

API_LIMITS = Limits(
    max_text=2_000_000,  # more than the longest answer: it is never cut
    unit=TextUnit.CHARS,
    hints="A program reads this over an API and shows it to a person, mostly as Markdown.",
    idempotent_sends=True,  # nothing is sent anywhere: an answer is fetched under its own id
)


CHANNEL = "api"
ACCOUNT = "main"


def address_of_session(key_id: str, user: str, session: str) -> Address:
    """Where one conversation of one key's person is; none of the parts has a colon."""
    return Address(CHANNEL, ACCOUNT, f"{key_id}:{user}", session)


def key_id_at(address: Address) -> str | None:
    """Return the id of the key that speaks at an address, or None for another channel's address."""
    return address.chat.partition(":")[0] if address.channel == CHANNEL else None


class AnswerWatch:
    """What one waiting program has not looked at yet: that something moved, and the answer as far as it is written."""

    def __init__(self) -> None:
        """Nothing has moved."""
        self.turn_id: str | None = None  # the turn that is being written; None: none yet
        self.text = ""  # of that turn, clean; shorter than before where what was written is void
        self.said = False  # whether something was said in that conversation since this was last set
        self._news = asyncio.Event()

    def note(self) -> None:
        """Something moved."""
        self._news.set()

    async def wait(self, seconds: float) -> None:
        """Wait until something moves, at most so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass
        self._news.clear()


class ApiChannel:
    """Hears programs over HTTP."""

    name = CHANNEL
    account = ACCOUNT
    limits = API_LIMITS

    def __init__(self, *, clock: Callable[[], datetime] = steady_now) -> None:
        """Nobody is heard before `run`. `clock` is for tests."""
        self.renderer: Renderer = PlainRenderer()
        self._clock = clock
        self._sink: Sink | None = None  # set while the channel runs
        self._watches: dict[Address, list[AnswerWatch]] = {}

    async def connections(self) -> Sequence[ChannelConnection]:
        """Return this channel: it has one connection."""
        return (self,)

    async def run(self, sink: Sink) -> None:
        """Hear programs until cancelled."""
        self._sink = sink
        sink.report(ChannelState.READY)
        try:
            await asyncio.Event().wait()  # until cancelled
        finally:
            self._sink = None

    async def aclose(self) -> None:
        """Let go of whoever waits; `run` has ended before."""
        for watches in self._watches.values():
            for watch in watches:
                watch.note()

    async def send(self, part: OutboundPart) -> Receipt:
        """Wake whoever waits in that conversation: what is said stands in the store."""
        self._wake(part.address)
        return Receipt(f"b-{part.idem_key}")

    def is_looked_at(self, address: Address) -> bool:
        """Return True if a program waits in this conversation."""
        return address in self._watches

    # ------------------------------------------------------------ the answer while it is written

    def is_followed(self, address: Address) -> bool:
        """Whether somebody waits in this conversation."""
        return address in self._watches

    def follow(self, address: Address, turn_id: str, text: str) -> None:
        """Show whoever waits the answer so far."""
        for watch in self._watches.get(address, ()):
            watch.turn_id, watch.text = turn_id, text
            watch.note()

    # ------------------------------------------------------------ for the HTTP side

    @contextmanager
    def watch(self, address: Address) -> Iterator[AnswerWatch]:
        """While held, it is noted what moves in a conversation."""
        watch = AnswerWatch()
        self._watches.setdefault(address, []).append(watch)
        try:
            yield watch
        finally:
            self._watches[address].remove(watch)
            if not self._watches[address]:
                del self._watches[address]

    async def hear(
        self, address: Address, message_id: str, event_id: str, text: str, locale: str | None,
        tenant: str = DEFAULT_TENANT, *, only_reads: bool = False,
    ) -> None:  # fmt: skip
        """Return once what a program said is committed; the same event again changes nothing.

        Raises:
            NotPersisted: nothing was taken; it may be said again under the same ids.
        """
        if self._sink is None:
            raise NotPersisted("the API does not run now")
        user = address.chat.partition(":")[2]
        said = InboundMessage(
            event_id=event_id,
            address=address,
            sender=Sender(address.chat, user),
            received_at=self._clock(),
            message_id=message_id,
            kind=ChatKind.DIRECT,
            text=clean(text).strip(),
            mentions_bot=True,
            locale=locale,
            tenant=tenant,
            only_reads=only_reads,
        )
        await self._sink.receive([said])

    def _wake(self, address: Address) -> None:
        for watch in self._watches.get(address, ()):
            watch.said = True
            watch.note()
