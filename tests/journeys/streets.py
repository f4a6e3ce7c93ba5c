"""People on each platform as one small interface: they write, read and press."""

import asyncio
import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.slack.server import SlackSimulator
from channels.slack.manifest import declared_commands
from tests.fakes.ports import free_port
from tests.fakes.views import FakePage
from tests.journeys.house import House, house

MANIFEST = Path(__file__).parents[2] / "config" / "slack-manifest.json"

Seen = tuple[str, str, dict[str, str]]
"""A message of the bot as a person sees it: its id, its text, and the data of its buttons by their labels."""


class Street(ABC):
    """One platform with a gateway on it. People are numbers."""

    name: str

    def __init__(self) -> None:
        self.here: House

    def environ(self) -> dict[str, str]:
        """Return what the gateway needs to know of the platform."""
        return {}

    async def open(self, stack: AsyncExitStack) -> None:  # noqa: B027  Telegram's comes with the house
        """Make the platform, before the gateway starts."""

    async def ready(self, stack: AsyncExitStack, people: int) -> None:  # noqa: B027  the house waits for Telegram
        """Wait until people can write to the gateway."""

    @abstractmethod
    def sender(self, person: int) -> str:
        """Return how the gateway calls this person."""

    @abstractmethod
    async def say(self, person: int, text: str) -> None:
        """Write to the bot as this person."""

    @abstractmethod
    def seen(self, person: int) -> list[Seen]:
        """Return what the bot has told this person."""

    @abstractmethod
    async def press(self, person: int, message: str, data: str) -> None:
        """Press a button in this person's own chat."""

    # What is the same for all.

    async def reads(self, person: int, words: str, times: int = 1) -> Seen:
        """Wait until this person was told these words so many times; return the last message."""

        def found() -> list[Seen]:
            return [one for one in self.seen(person) if words in one[1]]

        try:
            await self.here.until(lambda: len(found()) >= times, f"{words!r} to {person}, {times} times,")
        except AssertionError as missing:
            raise AssertionError(f"{missing}; on {self.name}: {self.seen(person)}") from None
        return found()[-1]

    async def let_in(self, person: int, role: str | None = None) -> None:
        """Write, then be let in by the operator at the machine, perhaps with a higher role than member."""
        await self.say(person, "/start")
        await self.reads(person, "private")
        waiting = (await self.here.operator("GET /v1/pairing"))["requests"]
        (request,) = [one["request"] for one in waiting if one["sender"] == self.sender(person)]
        await self.here.operator(f"POST /v1/pairing/{request}/approve")
        await self.reads(person, "You are in")
        if role is not None:
            await self.here.operator(f"POST /v1/users/{self.sender(person)}/role", {"role": role})

    async def roles(self) -> dict[str, str]:
        """Return everybody's role."""
        return {
            sender: one["role"]
            for one in (await self.here.operator("GET /v1/users"))["users"]
            for sender in one["senders"]
        }


class PlatformStreet(Street):
    """Direct chats of a simulated platform."""

    side: AnySimulator

    async def open(self, stack: AsyncExitStack) -> None:
        await stack.enter_async_context(self.side)

    def environ(self) -> dict[str, str]:
        return dict(self.side.environment())

    async def ready(self, stack: AsyncExitStack, people: int) -> None:
        await self.here.until(self.side.is_connected, self.side.title)

    def sender(self, person: int) -> str:
        return f"{self.name}:{person}"

    async def say(self, person: int, text: str) -> None:
        self.side.say(self.side.direct(person), text)

    def seen(self, person: int) -> list[Seen]:
        shown = self.side.answers(self.side.direct(person))
        return [(answer.message_id, answer.text, dict(answer.buttons)) for answer in shown]

    async def press(self, person: int, message: str, data: str) -> None:
        self.side.press(self.side.direct(person), message, data)


class TelegramStreet(PlatformStreet):
    """The Telegram of `House`."""

    name = "telegram"

    async def open(self, stack: AsyncExitStack) -> None:
        pass

    def environ(self) -> dict[str, str]:
        return {}

    @property
    def side(self) -> AnySimulator:
        return self.here.telegram


class DiscordStreet(PlatformStreet):
    """A simulated Discord with the bot's menu."""

    name = "discord"

    def __init__(self) -> None:
        self.side = DiscordSimulator.with_bot()

    async def ready(self, stack: AsyncExitStack, people: int) -> None:
        await super().ready(stack, people)
        await self.here.until(lambda: bool(self.side.bot.commands), "the menu")


class SlackStreet(PlatformStreet):
    """A simulated Slack whose app takes only presses of its own buttons."""

    name = "slack"

    def __init__(self) -> None:
        self.side = SlackSimulator.with_bot(commands=declared_commands(json.loads(MANIFEST.read_text())))

    def sender(self, person: int) -> str:
        return f"slack:{self.side.app.team}:U{person}"

    async def press(self, person: int, message: str, data: str) -> None:
        simulator, chat = self.side, f"D{person}"
        buttons = simulator.world.chats[chat].messages[message].elements
        if not buttons:  # a forged press comes with a forged button
            label = {"type": "plain_text", "text": "x"}
            buttons.append({"type": "button", "action_id": "tenk:0", "value": "x", "text": label})
        simulator.press(chat, message, str(buttons[0]["value"]), forged=data)


class WebStreet(Street):
    """The chat page, with a browser a person."""

    name = "web"

    def environ(self) -> dict[str, str]:
        self.port = free_port()
        return {"TENK_HTTP": f"127.0.0.1:{self.port}"}

    async def ready(self, stack: AsyncExitStack, people: int) -> None:
        self.pages = {person: FakePage(f"http://127.0.0.1:{self.port}/") for person in range(1, people + 1)}
        for page in self.pages.values():
            await stack.enter_async_context(page.http)

    def sender(self, person: int) -> str:
        return f"web:{self.pages[person].chat}"

    async def say(self, person: int, text: str) -> None:
        page = self.pages[person]
        await page.until(lambda: bool(page.told("history")))
        await page.say(text)

    def seen(self, person: int) -> list[Seen]:
        return [
            (id_, one["html"], {key["label"]: key["data"] for key in one["buttons"]})
            for id_, one in self.pages[person].shown.items()
        ]

    async def press(self, person: int, message: str, data: str) -> None:
        press = {"type": "press", "id": secrets.token_hex(8), "message": message, "data": data}
        await self.pages[person].send(press)


STREETS: tuple[Callable[[], Street], ...] = (TelegramStreet, DiscordStreet, SlackStreet, WebStreet)


@asynccontextmanager
async def street(
    kind: Callable[[], Street],
    directory: Path,
    people: int = 4,
    *,
    model: str | None = "openai:journey",
    config: str = "",
) -> AsyncIterator[Street]:
    """Run a gateway in pairing mode with people numbered from 1; `model` None is the offline coach."""
    one = kind()
    async with AsyncExitStack() as stack:
        await one.open(stack)
        made = house(directory, access="pairing", model=model, config=config, environ=one.environ())
        one.here = await stack.enter_async_context(made)
        await one.ready(stack, people)
        async with asyncio.TaskGroup() as tasks:
            visits = [tasks.create_task(page.run()) for page in getattr(one, "pages", {}).values()]
            yield one
            for visit in visits:
                visit.cancel()
