"""A channel in memory: the messages of each chat, every call, and failures by script."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from channels.base import ChannelConnection, Limits, Menus, Reaction, Renderer, Sink, TextUnit
from channels.errors import Permanent, PermanentKind
from channels.messages import Address, OutboundPart, Receipt
from gateway.delivery.pacing import Pacer
from tests.fakes.starred_renderer import StarredRenderer

LIMITS = Limits(max_text=200, unit=TextUnit.CHARS, edit_interval_s=0.0)


@dataclass(frozen=True)
class Lost:
    """A failure after the effect: the call happens, then raises this error."""

    error: Exception


class Hang:
    """A call that hangs until `release`; then it happens, or raises `error`."""

    def __init__(self, error: Exception | None = None) -> None:
        self.release = asyncio.Event()
        self.error = error


class NoReceipt:
    """It arrives, and the adapter forgets to return the receipt."""


Fate = Exception | Lost | Hang | NoReceipt | None
"""The fate of one call; None: it succeeds."""


@dataclass(frozen=True)
class Call:
    """One call that reached the platform."""

    kind: str  # send | edit
    chat: str
    text: str
    message_id: str | None  # None where nothing came of it


@dataclass
class FakeChannel:
    """One account that edits, reacts and shows typing."""

    name: str = "sim"
    account: str = "main"
    limits: Limits = LIMITS
    renderer: Renderer = field(default_factory=StarredRenderer)
    calls: list[Call] = field(default_factory=list)
    parts: list[OutboundPart] = field(default_factory=list)  # of the calls, as they came
    messages: dict[str, tuple[str, str]] = field(default_factory=dict)  # by id: chat and text, as shown now
    fates: deque[Fate] = field(default_factory=deque)  # of the next sends and edits
    gone: dict[str, str] = field(default_factory=dict)  # chats that go on under another id
    signs: list[tuple[str, Reaction | None]] = field(default_factory=list)
    unbuttoned: list[str] = field(default_factory=list)
    typed: int = 0
    sent: int = 0
    sign_error: Exception | None = None
    menus: Menus | None = None
    closed: bool = False
    now: Callable[[], float] = time.monotonic

    async def connections(self) -> Sequence[ChannelConnection]:
        """Return this channel: it has one connection."""
        return (self,)

    async def run(self, sink: Sink) -> None:
        """Hear nothing."""
        await asyncio.Event().wait()

    async def send(self, part: OutboundPart) -> Receipt:
        return await self._do("send", part, "")

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        return await self._do("edit", part, platform_id)

    async def _do(self, kind: str, part: OutboundPart, message_id: str) -> Receipt:
        if part.address.chat in self.gone:
            raise Permanent("the chat has moved", PermanentKind.MOVED, moved_to=self.gone[part.address.chat])
        self.parts.append(part)
        fate = self.fates.popleft() if self.fates else None
        text = part.rendered.text
        if isinstance(fate, Exception):
            self.calls.append(Call(kind, part.address.chat, text, None))
            if isinstance(fate, Permanent) and fate.kind is PermanentKind.TARGET_GONE:
                self.messages.pop(message_id, None)  # deleted
            raise fate
        if isinstance(fate, Hang):
            await fate.release.wait()
            if fate.error is not None:
                raise fate.error
        if kind == "send":
            self.sent += 1
            message_id = str(self.sent)
        self.messages[message_id] = (part.address.chat, text)
        self.calls.append(Call(kind, part.address.chat, text, message_id))
        if isinstance(fate, Lost):
            raise fate.error
        return cast("Receipt", None) if isinstance(fate, NoReceipt) else Receipt(message_id)

    async def react(self, address: Address, message_id: str, reaction: Reaction | None) -> None:
        if self.sign_error is not None:
            raise self.sign_error
        self.signs.append((message_id, reaction))

    async def close_buttons(self, address: Address, message_id: str) -> None:
        if self.sign_error is not None:
            raise self.sign_error
        self.unbuttoned.append(message_id)

    async def show_typing(self, address: Address) -> None:
        self.typed += 1
        if self.sign_error is not None:
            raise self.sign_error

    async def set_commands(self, menus: Menus) -> None:
        if self.sign_error is not None:
            raise self.sign_error
        self.menus = menus

    async def aclose(self) -> None:
        self.closed = True

    def shown(self, chat: str = "c1") -> list[str]:
        """Return what the person in a chat sees now, from top to bottom."""
        return [text for where, text in self.messages.values() if where == chat]

    def limited(self, **changes: object) -> "FakeChannel":
        """Return this channel with other limits."""
        self.limits = replace(self.limits, **changes)  # type: ignore[arg-type]  by name
        return self


class FakeChannels:
    """The channels that sessions and lanes ask for: some configured, some of them loaded."""

    def __init__(self, *channels: FakeChannel) -> None:
        self._channels = {(one.name, one.account): one for one in channels}
        self._missing: dict[tuple[str, str], asyncio.Future[FakeChannel]] = {}
        self._pacers: dict[str, Pacer] = {}
        self.reactions: list[tuple[str, Reaction | None]] = []

    def never_loads(self, name: str, account: str = "main") -> None:
        """Configure an account whose adapter does not come."""
        self._missing[name, account] = asyncio.get_running_loop().create_future()

    def is_configured(self, address: Address) -> bool:
        where = (address.channel, address.account)
        return where in self._channels or where in self._missing

    async def when_loaded(self, address: Address) -> FakeChannel:
        where = (address.channel, address.account)
        return self._channels[where] if where in self._channels else await asyncio.shield(self._missing[where])

    def now_loaded(self, address: Address) -> FakeChannel | None:
        return self._channels.get((address.channel, address.account))

    def pacer(self, channel: Any) -> Pacer:
        return self._pacers.setdefault(channel.name, Pacer(channel.limits, channel.now))

    def hints(self, address: Address) -> str:
        return ""

    def react(self, address: Address, message_id: str, reaction: Reaction | None) -> None:
        self.reactions.append((message_id, reaction))
