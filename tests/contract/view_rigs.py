"""The chat page and the terminal, each with a view at the other end that does what the real one does."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from channels.base import Channel
from channels.console.adapter import ConsoleChannel
from channels.messages import Address
from channels.viewers.viewer_hub import Patience
from channels.web.adapter import WebChannel
from channels.web.config import WebAccount
from gateway.store.engine import Store
from gateway.texts import HARNESS
from tests.contract.channel_rig import Rig, Trouble
from tests.fakes.http import Loaded, served, served_privately
from tests.fakes.views import FakePage, FakeTerminal, FakeView
from tests.fakes.web import FakeRecords

PATIENCE = Patience(arrive_s=0.05, confirm_s=0.6, gone_after_s=60.0)


class _ViewRig(Rig):
    """What the page and the terminal have in common."""

    view: FakeView

    def __init__(self, store: Store, directory: Path) -> None:
        super().__init__(store, directory)
        self.now_s = 1000.0
        self._last = ("", "")

    async def people_say(self, texts: Sequence[str]) -> None:
        await self.view.until(lambda: not self.view.away.is_set())
        for text in texts:
            self._last = (await self.view.say(text), text)

    async def redeliver(self) -> None:
        await self.view.until(lambda: not self.view.away.is_set())
        await self.view.say(self._last[1], self._last[0])

    def unacknowledged(self) -> int:
        return len(self.view.unsent)

    async def fail_next(self, trouble: Trouble) -> None:
        await self.view.until(lambda: not self.view.away.is_set())
        if trouble is Trouble.UNKNOWN:
            self.view.confirms = False
            return
        await self.view.leave()
        await asyncio.sleep(0.05)  # the channel sees it
        if trouble is Trouble.PERMANENT:
            self.now_s += PATIENCE.gone_after_s

    async def mend(self) -> None:
        self.view.confirms = True
        self.view.wanted.set()
        await self.view.until(lambda: not self.view.away.is_set())


class WebRig(_ViewRig):
    """Through the gateway's own HTTP server, with a page that does what the real one does."""

    name = "web"
    view: FakePage

    async def open(self) -> None:
        self.loaded = Loaded()
        url = await self._stack.enter_async_context(served(self.loaded))
        self.view = FakePage(url)
        self._stack.push_async_callback(self.view.http.close)
        self._people.append(self._tasks.create_task(self.view.run()))

    async def make(self) -> Channel:
        channel = WebChannel(
            WebAccount(), texts=HARNESS, records=FakeRecords(), patience=PATIENCE, now_s=lambda: self.now_s
        )
        self.loaded.channels[:] = [channel]
        return channel

    @property
    def address(self) -> Address:
        return Address("web", "main", self.view.chat)

    def sent_texts(self) -> list[str]:
        return [frame["html"].removeprefix("<p>").removesuffix("</p>") for frame in self.view.shown.values()]


class ConsoleRig(_ViewRig):
    """Over a real Unix socket."""

    name = "console"

    async def open(self) -> None:
        self.loaded = Loaded()
        await self._stack.enter_async_context(served_privately(self.loaded, self.directory / "c.sock"))
        self.view = FakeTerminal(str(self.directory / "c.sock"))
        self._people.append(self._tasks.create_task(self.view.run()))

    async def make(self) -> Channel:
        channel = ConsoleChannel(patience=PATIENCE, now_s=lambda: self.now_s)
        self.loaded.channels[:] = [channel]
        return channel

    @property
    def address(self) -> Address:
        return Address("console", "main", "local")

    def sent_texts(self) -> list[str]:
        return [frame["text"] for frame in self.view.shown.values()]
