"""`WebChannel`: the gateway's own chat page as a channel. `routes` has its HTTP side, `open_pages` its frames.

A message is delivered when it is stored: open pages show it, and later ones read it from the store.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NoReturn

from channels.base import HttpRoute, Limits, Menus, NotPersisted, Reaction, Renderer, Sink, TextUnit
from channels.clocks import steady_now
from channels.errors import Permanent, PermanentKind, Retryable
from channels.messages import Address, Attachment, OutboundPart, Receipt
from channels.viewers.viewer_hub import ViewerChannel, ViewerHub
from channels.web.attached import MAX_FILE_BYTES
from channels.web.bounds import Bounds
from channels.web.config import Guests, WebAccount
from channels.web.device_routes import DeviceLinks, DeviceRoutes
from channels.web.file_routes import FileRoutes
from channels.web.open_pages import ACCOUNT, CHANNEL, OpenPages, PageSlots, message_frame
from channels.web.page_files import PageTexts
from channels.web.past_messages import PastMessages, Records
from channels.web.render import WebRenderer
from channels.web.routes import PageRoutes
from channels.web.visitor import Identities

WEB_LIMITS = Limits(
    max_text=16_000,
    unit=TextUnit.CHARS,
    edit_interval_s=0.4,
    typing_every_s=4.5,  # the page shows it for 6 s
    hints="Markdown is shown in full here: headings, lists, tables, code.",
    idempotent_sends=True,  # the key is the message's id: the page shows a repetition once
)


SIGNED_OUT_EVERY_S = 5.0
"""Seconds until a browser that was signed out at one process is refused by the others."""

KEY_OF_PROCESS = secrets.token_bytes(32)
"""Key for cookies that need not outlive the process."""


class WebChannel(ViewerChannel):
    """The chat page: WebSocket, or server-sent events with POST; shows messages, edits and reactions."""

    name = CHANNEL
    account = ACCOUNT
    limits = WEB_LIMITS
    people_give_names = True
    max_media_bytes = MAX_FILE_BYTES

    def __init__(
        self,
        config: WebAccount,
        *,
        texts: PageTexts,
        records: Records,
        guests: Guests | None = None,
        key: bytes = KEY_OF_PROCESS,
        now_s: Callable[[], float] = time.monotonic,
        clock: Callable[[], datetime] = steady_now,
    ) -> None:
        """Receiving starts with `run`; cookies are valid for every process with the same `key`.

        `texts` are the page's own texts. With `guests` None, no name is let in. `now_s` and `clock` are for tests.
        """
        guests = guests or Guests()
        self.renderer: Renderer = WebRenderer()
        self._clock = clock
        hub = ViewerHub(most=config.views)
        slots = PageSlots(hub, most=config.views, most_of_address=config.address_views, is_let_in=guests.is_let_in)
        self._pages = OpenPages(hub, slots, Bounds(config, now_s), clock, texts)
        super().__init__(self._pages.inbox)
        self._out: set[tuple[str, str]] = set()  # browsers that were signed out, by chat and device id
        identities = Identities(key, guests.is_known, lambda chat, device: (chat, device) in self._out)
        self._records = records
        past_messages = PastMessages(self, self._records)
        devices = DeviceRoutes(DeviceLinks(now_s), self._pages, identities, self._records, texts, self._out)
        file_routes = FileRoutes(self._records, self._pages, guests.may_send_files, texts)
        self._routes = PageRoutes(
            self._pages, identities, texts, config.title or "Chat", past_messages, file_routes, devices
        )

    async def run(self, sink: Sink) -> None:
        """Load the signed-out browsers, then receive from pages until cancelled.

        Raises:
            NotPersisted: the store does not answer.
        """
        self._out.update(await self._records.signed_out())
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_signed_out())
            await super().run(sink)

    async def _keep_signed_out(self) -> NoReturn:
        """Reload the browsers that other processes signed out."""
        while True:
            await asyncio.sleep(SIGNED_OUT_EVERY_S)
            with suppress(NotPersisted):
                new = {*await self._records.signed_out()} - self._out
                self._out |= new
                for viewer in [viewer for chat, _ in new for viewer in self._pages.hub.of(chat)]:
                    viewer.close()  # the chat's other browsers reconnect

    def http_routes(self) -> Sequence[HttpRoute]:
        """Return the routes of the page at `/` and of its requests under `/web/`."""
        return self._routes.table()

    async def edit(self, part: OutboundPart, platform_id: str) -> Receipt:
        self._pages.show(part.address.chat, message_frame(part, platform_id, self._clock()))
        return Receipt(platform_id)

    async def fetch(self, attachment: Attachment, max_bytes: int) -> bytes:
        """Return the content of a person's file.

        Raises:
            Permanent: it is larger than `max_bytes`, or gone.
            Retryable: the store does not answer now.
        """
        try:
            content = await self._records.find_file(attachment.handle)
        except NotPersisted:
            raise Retryable("the store cannot be asked just now") from None
        if content is None:
            raise Permanent("the file is not kept any more")
        if len(content) > max_bytes:
            raise Permanent(f"it is over {max_bytes} bytes", PermanentKind.TOO_LARGE)
        return content

    async def react(self, address: Address, message_id: str, reaction: Reaction | None) -> None:
        self._pages.show_reaction(address.chat, message_id, reaction)

    async def show_wait(self, address: Address, for_s: float) -> None:
        self._pages.show_wait(address.chat, for_s)

    async def delete(self, address: Address, message_id: str) -> None:
        """Remove a message from the pages, the person's or ours."""
        self._pages.delete(address.chat, message_id)

    async def invite_link(self, code: str) -> str:
        """Return the page's address with the code, which the page sends once it is open."""
        return f"/?invite={code}"

    async def set_commands(self, menus: Menus) -> None:
        self._pages.menus = menus
