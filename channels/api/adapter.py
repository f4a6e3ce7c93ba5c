"""`ApiChannel`: programs that talk over HTTP as a channel; they fetch the answers.

An answer is available once it is stored: sending it only wakes waiting requests. The HTTP server handles keys, paths
and JSON.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from channels.base import ChannelConnection, ChannelState, Limits, Menus, NotPersisted, Renderer, Sink, TextUnit
from channels.clocks import steady_now
from channels.markdown.tree import clean
from channels.messages import DEFAULT_TENANT, Address, ChatKind, InboundMessage, OutboundPart, Receipt, Sender
from channels.turn_steps import TurnStep
from channels.viewers.plain_renderer import PlainRenderer

API_LIMITS = Limits(
    max_text=2_000_000,  # more than the longest answer, which is never cut
    unit=TextUnit.CHARS,
    hints="A program reads this over an API and shows it to a person, mostly as Markdown.",
    idempotent_sends=True,  # nothing is sent: an answer is fetched by its id
)


CHANNEL = "api"
ACCOUNT = "main"


def address_of_session(key_id: str, user: str, session: str) -> Address:
    """Return the address of one conversation of one person of a key; no part contains a colon."""
    return Address(CHANNEL, ACCOUNT, f"{key_id}:{user}", session)


def key_id_at(address: Address) -> str | None:
    """Return the id of the key that speaks at an address, or None for another channel's address."""
    return address.chat.partition(":")[0] if address.channel == CHANNEL else None


MOST_STEPS = 256
"""Unread steps of one waiting program; the oldest are dropped."""


class AnswerWatch:
    """One waiting program's view of its conversation: the answer so far, and a wake-up."""

    def __init__(self) -> None:
        self.turn_id: str | None = None  # turn of the current answer; None: none yet
        self.text = ""  # of the answer so far, clean; shorter than before if text was discarded
        self.steps: deque[tuple[str, TurnStep]] = deque(maxlen=MOST_STEPS)  # unread, each with its turn
        self.said = False  # a message was stored in the conversation since this was last reset
        self._news = asyncio.Event()

    def note(self) -> None:
        """Wake the waiting program."""
        self._news.set()

    async def wait(self, seconds: float) -> None:
        """Wait for a change, at most this long."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass
        self._news.clear()


class ApiChannel:
    """The API as a channel."""

    name = CHANNEL
    account = ACCOUNT
    limits = API_LIMITS

    def __init__(self, *, clock: Callable[[], datetime] = steady_now) -> None:
        """Receiving starts with `run`; `clock` is for tests."""
        self.renderer: Renderer = PlainRenderer()
        self._clock = clock
        self._sink: Sink | None = None  # set while the channel runs
        self.menus: Menus = {}
        self._watches: dict[Address, list[AnswerWatch]] = {}

    async def connections(self) -> Sequence[ChannelConnection]:
        """Return this channel: it has one connection."""
        return (self,)

    async def set_commands(self, menus: Menus) -> None:
        self.menus = menus

    async def run(self, sink: Sink) -> None:
        """Receive from programs until cancelled."""
        self._sink = sink
        sink.report(ChannelState.READY)
        try:
            await asyncio.Event().wait()  # until cancelled
        finally:
            self._sink = None

    async def aclose(self) -> None:
        """Wake all waiting programs; `run` has ended before."""
        for watches in self._watches.values():
            for watch in watches:
                watch.note()

    async def send(self, part: OutboundPart) -> Receipt:
        """Wake the programs that wait in this conversation; the message is in the store."""
        self._wake(part.address)
        return Receipt(f"b-{part.idem_key}")

    def is_looked_at(self, address: Address) -> bool:
        """Return True if a program waits in this conversation."""
        return address in self._watches

    # ------------------------------------------------------------ the unfinished answer

    def is_followed(self, address: Address) -> bool:
        """Return True if a program waits in this conversation."""
        return address in self._watches

    def follow(self, address: Address, turn_id: str, text: str) -> None:
        """Pass the answer so far to the waiting programs."""
        for watch in self._watches.get(address, ()):
            watch.turn_id, watch.text = turn_id, text
            watch.note()

    def follow_step(self, address: Address, turn_id: str, step: TurnStep) -> None:
        """Pass a step of the turn to the waiting programs."""
        for watch in self._watches.get(address, ()):
            watch.turn_id = turn_id
            watch.steps.append((turn_id, step))
            watch.note()

    # ------------------------------------------------------------ for the HTTP side

    @contextmanager
    def watch(self, address: Address) -> Iterator[AnswerWatch]:
        """Yield a watch that is woken by changes of a conversation."""
        watch = AnswerWatch()
        self._watches.setdefault(address, []).append(watch)
        try:
            yield watch
        finally:
            self._watches[address].remove(watch)
            if not self._watches[address]:
                del self._watches[address]

    async def hear(
        self,
        address: Address,
        message_id: str,
        event_id: str,
        text: str,
        locale: str | None,
        tenant: str = DEFAULT_TENANT,
        *,
        only_reads: bool = False,
    ) -> None:
        """Commit a program's message; a repeated event changes nothing.

        Raises:
            NotPersisted: nothing was stored; the message may be sent again under the same ids.
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
