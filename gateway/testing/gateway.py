"""The real gateway in a test's own process, between simulated platforms and a scripted model.

    from gateway.testing.gateway import TestGateway
    from gateway.testing.model import Call, Reply

    async with TestGateway() as gateway:
        gateway.model.answers(Reply(calls=(Call("log_practice", '{"minutes": 45}'),)), "45 minutes, well done.")
        ada = gateway.person("telegram")
        await ada.say("I practised for 45 minutes.")
        answer = await ada.answer()
        assert "45 minutes, well done." == answer.text

An agent or a channel of your own is found by its entry point: write the
table `[agent]` with `product = "pantry"` into the `config` of `TestGateway`.
"""

import asyncio
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from copy import copy
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from agent.tools.base import Tool
from channels.clocks import Clocks
from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.shared.world import AnyMessage
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.telegram.server import TelegramSimulator
from gateway.app import Gateway
from gateway.config.editing import ConfigFiles
from gateway.config.settings import Settings, load
from gateway.operators.client import call
from gateway.store import inbox, outbox
from gateway.store.engine import Store
from gateway.testing.model import FakeModel

WAIT_S = 30.0

PLATFORMS: Mapping[str, type[AnySimulator]] = {
    "telegram": TelegramSimulator,
    "discord": DiscordSimulator,
    "slack": SlackSimulator,
}


class TestGateway:
    """A gateway with an embedded database that runs while its context is open; everyone may talk to it."""

    __test__: ClassVar[bool] = False  # pytest collects classes by this name

    def __init__(
        self,
        config: str = "",
        platforms: Sequence[str | AnySimulator] = ("telegram",),
        *,
        directory: Path | None = None,
        environ: Mapping[str, str] | None = None,
        tools: Sequence[Tool] = (),
        model: FakeModel | None = None,
        show: Callable[[str], None] | None = None,
        dates: Callable[[], datetime] | None = None,
    ) -> None:
        """Create it.

        Args:
            config: TOML as in `config/gateway.toml`; a reload reads the copy in the directory again.
            platforms: names of platforms, or simulators that do not listen yet.
            directory: configuration and data are there, and stay; None is a temporary one.
            environ: environment variables, which win over the configuration; a reload reads them again.
            tools: tools beside the agent's own.
            model: a model that is open already; None is a new one.
            show: prints on the operator's terminal.
            dates: returns the time of day, which a test may move; None is the machine's.
        """
        sides = [each if not isinstance(each, str) else PLATFORMS[each].with_bot() for each in platforms]
        self.platforms = {side.name: side for side in sides}
        self.model = model or FakeModel()
        self._owns_model = model is None
        self._config, self._environ = config, {} if environ is None else environ
        self._directory, self._tools, self._show = directory, tools, show
        self._clocks = None if dates is None else Clocks(dates=dates)
        self._closing = AsyncExitStack()
        self._people = 0

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            directory = self._directory or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tenk-test-")))
            ours = {"TENK_HOME": str(directory / "home"), "TENK_HTTP": "127.0.0.1:0", "TENK_ACCESS": "open"}
            for side in self.platforms.values():
                await stack.enter_async_context(side)
                ours |= side.environment()
            if self._owns_model:
                await stack.enter_async_context(self.model)
            ours |= {"OPENAI_BASE_URL": self.model.base_url, "OPENAI_API_KEY": "sk-test"}
            if "name" not in tomllib.loads(self._config).get("model", {}):
                ours["TENK_MODEL"] = "openai:test"
            file = directory / "gateway.toml"
            file.write_text(self._config)

            def read() -> Settings:
                return load(file, {**ours, **self._environ})

            self.home = read().home
            self.home.mkdir(mode=0o700, exist_ok=True)
            self.store = await Store.open(read().database_url)
            stack.push_async_callback(self.store.aclose)
            files = ConfigFiles(file, {**ours, **self._environ}, read)
            self._gateway = Gateway(read(), self.store, self._tools, self._show, files=files, clocks=self._clocks)
            tasks = await stack.enter_async_context(asyncio.TaskGroup())
            running = tasks.create_task(self._gateway.run())
            stack.callback(running.cancel)
            await self.until(lambda: running.done() or self._is_up(), "the gateway")
            self._closing = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._closing.__aexit__(kind, error, trace)

    def _is_up(self) -> bool:
        connected = all(side.is_connected() for side in self.platforms.values())
        http = self._gateway.http
        return connected and http is not None and http.started.is_set() and (self.home / "control.sock").exists()

    @property
    def url(self) -> str:
        """Return where the gateway's HTTP server listens."""
        assert self._gateway.http is not None, "it is up"
        return self._gateway.http.url.rstrip("/")

    def person(self, platform: str = "telegram", number: int | None = None) -> "Person":
        """Return a person in a direct chat with the bot: a new one, or the person with this number."""
        self._people += 1
        return Person(self, self.platforms[platform], self._people if number is None else number)

    async def operator(self, request: str, given: Mapping[str, Any] | None = None, *, tenant: str | None = None) -> Any:
        """Ask over the control socket what an operator asks with `tenk`: "GET /v1/users"; return the JSON answered.

        `given` is the query of a GET or the body of a POST; `tenant` limits it to that tenant's rows.
        """
        return await call(self.home / "control.sock", request, given, tenant=tenant, timeout_s=WAIT_S)

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition.

        Raises:
            AssertionError: it did not come within half a minute.
        """
        try:
            async with asyncio.timeout(WAIT_S):
                while not condition():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"{what} did not come") from None

    async def settle(self) -> None:
        """Wait until every message has its outcome and every answer is sent."""
        async with asyncio.timeout(WAIT_S):
            while await self.has_work():
                await asyncio.sleep(0.01)

    async def has_work(self) -> bool:
        """Return True if a message has no outcome yet or an answer is not sent."""
        unread = any(side.count_unacknowledged() for side in self.platforms.values())
        return unread or bool(await self.store.read(inbox.open_count) or await self.store.read(outbox.open_count))


class Person:
    """A person in a direct chat with the bot."""

    def __init__(self, gateway: TestGateway, side: AnySimulator, number: int) -> None:
        """Create a person of a platform; `side` has the rest of what people do there."""
        self.side, self.chat, self.number = side, side.direct(number), number
        self._gateway = gateway
        self._read: set[Any] = set()

    async def say(self, text: str) -> Any:
        """Write to the bot; return the message's id."""
        return self.side.say(self.chat, text)

    async def press(self, label: str) -> None:
        """Press the newest button with this label."""
        await self._gateway.until(lambda: bool(self._buttons(label)), f"the button {label!r}")
        message_id, value = self._buttons(label)[-1]
        self.side.press(self.chat, message_id, value)

    def _buttons(self, label: str) -> list[tuple[Any, str]]:
        return [(m.message_id, value) for m in self.messages() for name, value in m.buttons if name == label]

    def messages(self) -> list[AnyMessage]:
        """Return what the bot has said to them, as it reads now."""
        return [copy(message) for message in self.side.answers(self.chat)]

    async def answer(self, words: str = "") -> AnyMessage:
        """Return the bot's next message with these words, once it is complete, or asks something with buttons.

        Raises:
            AssertionError: there was none within half a minute; says what there is instead.
        """
        try:
            async with asyncio.timeout(WAIT_S):
                while (complete := await self._find_complete(words)) is None:
                    await asyncio.sleep(0.01)
        except TimeoutError:
            seen = [message.text for message in self.messages()]
            raise AssertionError(f"no answer with {words!r}; seen: {seen}") from None
        self._read.add(complete.message_id)
        return complete

    async def _find_complete(self, words: str) -> AnyMessage | None:
        is_settled = not await self._gateway.has_work()
        for message in self.messages():
            if words in message.text and message.message_id not in self._read and (is_settled or message.buttons):
                return message
        return None
