"""A web chat behind the gateway's own HTTP server."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

import aiohttp

from channels.base import Channel, NotPersisted
from channels.clocks import steady_now
from channels.messages import Address, InboundMessage, OutboundMedia, OutboundPart, Rendered
from channels.web.adapter import WebChannel
from channels.web.config import Guests, WebAccount
from channels.web.past_messages import KeptMessage, PastConversation, Records, SeenDevice
from channels.web.visitor import COOKIE, Identities, Identity
from gateway.texts import HARNESS
from tests.fakes.http import Loaded, served
from tests.fakes.sink import RecordingSink
from tests.fakes.views import FakePage

KEY = b"of a gateway that lived before  "
"""Key that signed the cookies of `known_before`; the chat in `house` knows it."""


class FakeRecords:
    """A record store with what a test puts there."""

    def __init__(self) -> None:
        self.kept: list[KeptMessage] = []  # of every chat
        self.down = False
        self.asked: list[tuple[str, str]] = []  # for past conversations, by chat and id

    def keep(self, *messages: InboundMessage | OutboundPart) -> None:
        """Put messages there, now."""
        self.kept += [KeptMessage(steady_now(), message) for message in messages]

    async def recent(self, chat: str) -> Sequence[KeptMessage]:
        self._must_be_up()
        return [one for one in self.kept if one.message.address.chat == chat]

    async def conversations(self, _chat: str) -> Sequence[PastConversation]:
        self._must_be_up()
        return ()

    async def messages(self, _channel: Channel, chat: str, conversation_id: str) -> Sequence[KeptMessage]:
        self.asked.append((chat, conversation_id))
        return await self.recent(chat)

    def _must_be_up(self) -> None:
        if self.down:
            raise NotPersisted("down")

    async def keep_file(self, _handle: str, _content: bytes) -> None:
        raise NotPersisted("no files are kept here")

    async def find_file(self, _handle: str) -> bytes | None:
        return None

    async def find_sent_file(self, chat: str, message_id: str, number: int) -> OutboundMedia | None:
        for one in self.kept:
            said = one.message
            if isinstance(said, OutboundPart) and (said.address.chat, f"b-{said.idem_key}") == (chat, message_id):
                return said.media[number] if number < len(said.media) else None
        return None

    async def note_device(self, _chat: str, _browser: str) -> None:
        pass

    async def see_device(self, _chat: str, _device: str, _browser: str) -> None:
        pass

    async def devices(self, _chat: str) -> Sequence[SeenDevice]:
        return ()

    async def sign_out(self, _chat: str, devices: Sequence[str]) -> Sequence[str]:
        return ["", *devices]

    async def signed_out(self) -> Sequence[tuple[str, str]]:
        return ()


@dataclass
class Clock:
    """A clock that stands until it is moved."""

    now_s: float = 1000.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class House:
    """A running web chat."""

    channel: WebChannel
    sink: RecordingSink
    url: str
    clock: Clock
    records: Records

    @asynccontextmanager
    async def page(self, **more: str) -> AsyncIterator[FakePage]:
        """Return a browser with the page open."""
        page = FakePage(self.url, **more)
        async with page.http, asyncio.TaskGroup() as tasks:
            running = tasks.create_task(page.run())
            await page.until(lambda: bool(page.told("history")))
            yield page
            running.cancel()

    def texts(self) -> list[str]:
        return [event.text for event in self.sink.events if isinstance(event, InboundMessage)]


@asynccontextmanager
async def house(
    guests: Guests | None = None,
    trusted_proxies: tuple[str, ...] = (),
    clock: Callable[[], datetime] = steady_now,
    records: Records | None = None,
    **more: object,
) -> AsyncIterator[House]:
    """Run a web chat behind the gateway's own server; `more` goes into its configuration."""
    watch, records = Clock(), records or FakeRecords()
    config = WebAccount.model_validate({"title": "Coach"} | more)
    channel = WebChannel(config, texts=HARNESS, guests=guests, records=records, key=KEY, now_s=watch, clock=clock)
    sink = RecordingSink()
    async with served(Loaded([channel]), trusted_proxies=trusted_proxies) as url, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(channel.run(sink))
        await sink.until(lambda: bool(sink.states))
        yield House(channel, sink, url, watch, records)
        await channel.aclose()
        running.cancel()


def known_before(number: int) -> aiohttp.ClientSession:
    """Return a browser that got its cookie from an earlier gateway, so that this one has not heard of it."""
    value = Identities(KEY, lambda _chat: False).value_of(Identity(f"{number:022}", fresh=False))
    return aiohttp.ClientSession(headers={"Cookie": f"{COOKIE}={value}"})


def part(chat: str, text: str, key: str = "key-1", **more: object) -> OutboundPart:
    return OutboundPart(address=Address("web", "main", chat), rendered=Rendered(text), idem_key=key, **more)
