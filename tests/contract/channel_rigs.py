"""Every channel with people at its other end: one small interface, so that one contract holds for all of them.

A rig for another channel is a subclass of `Rig` and a line in `RIGS`.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path

from channels.base import Channel
from channels.console.adapter import ConsoleChannel
from channels.console.config import ConsolePlace
from channels.messages import Address, OutboundPart, Rendered
from channels.registry import load_channel
from channels.screens import Patience
from channels.telegram.adapter import TelegramChannel
from channels.telegram.config import TelegramAccount
from channels.telegram.simulator.faults import Fault
from channels.telegram.simulator.server import TelegramSimulator
from channels.web.adapter import WebChannel
from channels.web.config import WebAccount
from gateway.store.engine import Store
from gateway.unix_socket import listening
from tests.fakes.http import Loaded, served
from tests.fakes.inbox_sink import InboxSink
from tests.fakes.views import FakePage, FakeTerminal, FakeView

PATIENCE = Patience(arrive_s=0.05, confirm_s=0.3, gone_after_s=60.0)


class Trouble(StrEnum):
    """How a send can fail."""

    RETRYABLE = "retryable"
    PERMANENT = "permanent"
    UNKNOWN = "unknown"


class Rig(ABC):
    """A channel that runs, a person who talks to it, and a platform between them that can be made to fail."""

    name: str
    account = "main"

    def __init__(self, store: Store, directory: Path) -> None:
        """`directory` is the rig's own."""
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
        await channel.run(self.sink)

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

    def part(self, text: str, key: str = "0123456789abcdef") -> OutboundPart:
        """Something to send to the person."""
        return OutboundPart(address=self.address, rendered=Rendered(text), idem_key=key)


class TelegramRig(Rig):
    """Through the simulator, with the real SDK's wire."""

    name = "telegram"
    TOKEN = "123456:AAF-made_up_token_for_tests"

    async def open(self) -> None:
        self.simulator = await self._stack.enter_async_context(TelegramSimulator(throttled=False))
        self.simulator.add_bot(self.TOKEN)
        self.simulator.add_chat(1, "private")

    async def make(self) -> Channel:
        account = TelegramAccount.model_validate(
            {"token": self.TOKEN, "api_base": self.simulator.base_url, "poll_timeout_s": 1, "poll_grace_s": 0.5}
        )
        return TelegramChannel(account, pause=lambda _seconds: asyncio.sleep(0.01))

    @property
    def address(self) -> Address:
        return Address("telegram", "main", "1")

    async def people_say(self, texts: Sequence[str]) -> None:
        for text in texts:
            message_id = self.simulator.say(1, text)
            self._last = {
                "message": {
                    "message_id": message_id, "date": 1_790_000_000, "text": text,
                    "chat": {"id": 1, "type": "private"}, "from": {"id": 1, "is_bot": False, "first_name": "Ada"},
                }
            }  # fmt: skip

    async def redeliver(self) -> None:
        self.simulator.inject(self._last)

    def unacknowledged(self) -> int:
        return len(self.simulator.world.bot().updates)

    def sent_texts(self) -> list[str]:
        return [message.text for message in self.simulator.answers(1)]

    async def fail_next(self, trouble: Trouble) -> None:
        faults = {
            Trouble.RETRYABLE: Fault(kind="status", status=429, method="sendMessage"),
            Trouble.PERMANENT: Fault(kind="status", status=403, method="sendMessage"),
            Trouble.UNKNOWN: Fault(kind="cut", applied=True, method="sendMessage"),
        }
        self.simulator.faults.script(faults[trouble])


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
        channel = WebChannel(WebAccount(), patience=PATIENCE, now_s=lambda: self.now_s)
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
        self.view = FakeTerminal(str(self.directory / "c.sock"))
        self._people.append(self._tasks.create_task(self.view.run()))

    async def make(self) -> Channel:
        place = ConsolePlace(partial(listening, self.directory / "c.sock"))
        return ConsoleChannel(place, patience=PATIENCE, now_s=lambda: self.now_s)

    @property
    def address(self) -> Address:
        return Address("console", "main", "local")

    def sent_texts(self) -> list[str]:
        return [frame["text"] for frame in self.view.shown.values()]


class LetterboxRig(Rig):
    """The channel of an installed distribution that this project knows nothing of but its entry point."""

    name = "letterbox"

    async def open(self) -> None:
        self._in, self._out = self.directory / "in", self.directory / "out"
        self._in.mkdir()
        (self._out / "ada").mkdir(parents=True)
        self._number = 0

    async def make(self) -> Channel:
        channel_class = load_channel("letterbox")
        config = channel_class.__init__.__annotations__["config"](self.directory)
        channel: Channel = channel_class(config)
        return channel

    @property
    def address(self) -> Address:
        return Address("letterbox", "main", "ada")

    async def people_say(self, texts: Sequence[str]) -> None:
        for text in texts:
            self._number += 1
            self._last = text
            self._put(text)

    async def redeliver(self) -> None:
        self._put(self._last)
        await asyncio.sleep(0.05)

    def _put(self, text: str) -> None:
        draft = self.directory / "draft"
        draft.write_text(text)
        draft.replace(self._in / f"{self._number:06}-ada.txt")

    def unacknowledged(self) -> int:
        return len(list(self._in.iterdir()))

    def sent_texts(self) -> list[str]:
        answers = sorted((self._out / "ada").glob("*.txt"), key=lambda path: path.stat().st_mtime_ns)
        return [answer.read_text() for answer in answers]

    async def fail_next(self, trouble: Trouble) -> None:
        if trouble is Trouble.RETRYABLE:
            self._out.rename(self.directory / "elsewhere")
        elif trouble is Trouble.PERMANENT:
            (self._out / "ada").rename(self._out / "moved")
        else:
            (self._out / "ada" / "0123456789abcdef.txt").mkdir()

    async def mend(self) -> None:
        for was, is_now in [(self.directory / "elsewhere", self._out), (self._out / "moved", self._out / "ada")]:
            if was.exists():
                was.rename(is_now)
        blocked = self._out / "ada" / "0123456789abcdef.txt"
        if blocked.is_dir():
            blocked.rmdir()


RIGS: Sequence[Callable[[Store, Path], Rig]] = (TelegramRig, WebRig, ConsoleRig, LetterboxRig)
