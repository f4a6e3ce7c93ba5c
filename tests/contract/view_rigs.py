"""The chat page and the terminal, each with a view at the other end."""

from collections.abc import Sequence
from pathlib import Path

from channels.base import Channel
from channels.console.adapter import ConsoleChannel
from channels.messages import Address
from channels.viewers.viewer_hub import ViewerChannel
from channels.web.adapter import WebChannel
from channels.web.config import WebAccount
from gateway.store.engine import Store
from gateway.testing.channel_rig import Rig, Trouble
from gateway.texts import HARNESS
from tests.fakes.http import Loaded, served, served_privately
from tests.fakes.views import FakePage, FakeTerminal, FakeView, nothing_unread
from tests.fakes.web import FakeRecords


class _ViewRig(Rig):
    """The shared part of the page and the terminal."""

    view: FakeView
    channel: ViewerChannel
    delivers_by_commit = True

    def __init__(self, store: Store, directory: Path) -> None:
        super().__init__(store, directory)
        self._last = ("", "")

    async def people_say(self, texts: Sequence[str]) -> None:
        await self.view.until(lambda: not self.view.away.is_set())
        for text in texts:
            self._last = (await self.view.say(text), text)

    async def redeliver(self) -> None:
        await self.view.until(lambda: not self.view.away.is_set())
        await self.view.say(self._last[1], self._last[0])

    def count_unacknowledged(self) -> int:
        return len(self.view.unsent)

    async def fail_next(self, trouble: Trouble) -> None:
        raise AssertionError("no send of a page or a terminal fails")

    async def until_sent(self) -> list[str]:
        typed = len(self.view.told("typing"))
        await self.channel.show_typing(self.address)
        await self.view.until(lambda: len(self.view.told("typing")) > typed)
        return self.sent_texts()


class WebRig(_ViewRig):
    """The chat page over the gateway's own HTTP server."""

    name = "web"
    view: FakePage

    async def open(self) -> None:
        self.loaded = Loaded()
        url = await self._stack.enter_async_context(served(self.loaded))
        self.view = FakePage(url)
        self._stack.push_async_callback(self.view.http.close)
        self._people.append(self._tasks.create_task(self.view.run()))

    async def make(self) -> Channel:
        channel = WebChannel(WebAccount(), texts=HARNESS, records=FakeRecords())
        self.loaded.channels[:] = [channel]
        return channel

    @property
    def address(self) -> Address:
        return Address("web", "main", self.view.chat)

    def sent_texts(self) -> list[str]:
        return [frame["html"].removeprefix("<p>").removesuffix("</p>") for frame in self.view.shown.values()]


class ConsoleRig(_ViewRig):
    """The terminal over a real Unix socket."""

    name = "console"

    async def open(self) -> None:
        self.loaded = Loaded()
        await self._stack.enter_async_context(served_privately(self.loaded, self.directory / "c.sock"))
        self.view = FakeTerminal(str(self.directory / "c.sock"))
        self._people.append(self._tasks.create_task(self.view.run()))

    async def make(self) -> Channel:
        channel = ConsoleChannel(nothing_unread)
        self.loaded.channels[:] = [channel]
        return channel

    @property
    def address(self) -> Address:
        return Address("console", "main", "local")

    def sent_texts(self) -> list[str]:
        return [frame["text"] for frame in self.view.shown.values()]
