"""People on each platform as one small interface: they write, read, and press whatever they like."""

import asyncio
import secrets
import socket
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.slack.state import APP_TOKEN, BOT_TOKEN
from tests.fakes.views import FakePage
from tests.journeys.house import House, house

DISCORD_TOKEN = "STREET.made-up.token"

Seen = tuple[str, str, dict[str, str]]
"""A message of the bot's as somebody sees it: its id, its text, and the data of its buttons by their labels."""


class Street(ABC):
    """One platform with a gateway on it. People are numbers."""

    name: str

    def __init__(self) -> None:
        self.here: House

    def environ(self) -> dict[str, str]:
        """What the gateway needs to know of the platform."""
        return {}

    async def open(self, stack: AsyncExitStack) -> None:  # noqa: B027  Telegram's comes with the house
        """Make the platform, before the gateway starts."""

    async def ready(self, stack: AsyncExitStack, people: int) -> None:  # noqa: B027  the house waits for Telegram
        """Wait until people can write to the gateway."""

    @abstractmethod
    def sender(self, person: int) -> str:
        """Who the gateway knows them as."""

    @abstractmethod
    async def say(self, person: int, text: str) -> None:
        """They write to the bot."""

    @abstractmethod
    def seen(self, person: int) -> list[Seen]:
        """What the bot has told them."""

    @abstractmethod
    async def press(self, person: int, message: str, data: str) -> None:
        """They press something under a message in their own chat."""

    # What is the same for all.

    async def reads(self, person: int, words: str, times: int = 1) -> Seen:
        """Wait until somebody was told these words so many times; the last of them."""

        def found() -> list[Seen]:
            return [one for one in self.seen(person) if words in one[1]]

        await self.here.until(lambda: len(found()) >= times, f"{words!r} to {person} on {self.name}, {times} times,")
        return found()[-1]

    async def let_in(self, person: int, role: str | None = None) -> None:
        """They write, the operator at the machine lets them in, perhaps as more than a member."""
        await self.say(person, "/start")
        await self.reads(person, "private")
        waiting = await self.here.operator("pairing.list")
        (request,) = [one["request"] for one in waiting if one["sender"] == self.sender(person)]
        await self.here.operator("pairing.approve", {"request": request})
        await self.reads(person, "You are in")
        if role is not None:
            await self.here.operator("users.role", {"who": self.sender(person), "role": role})

    async def roles(self) -> dict[str, str]:
        """What everybody is now."""
        return {sender: one["role"] for one in await self.here.operator("users.list") for sender in one["senders"]}


class TelegramStreet(Street):
    """Private chats whose ids are their people's."""

    name = "telegram"

    def sender(self, person: int) -> str:
        return f"telegram:{person}"

    async def say(self, person: int, text: str) -> None:
        self.here.sim.say(person, text)

    def seen(self, person: int) -> list[Seen]:
        return [(str(one.message_id), one.text, dict(one.buttons)) for one in self.here.sim.answers(person)]

    async def press(self, person: int, message: str, data: str) -> None:
        self.here.sim.press(person, int(message), data)


class DiscordStreet(Street):
    """Direct conversations whose ids are their people's."""

    name = "discord"

    async def open(self, stack: AsyncExitStack) -> None:
        self.sim = await stack.enter_async_context(DiscordSimulator())
        self.bot = self.sim.add_bot(DISCORD_TOKEN)

    def environ(self) -> dict[str, str]:
        return {"DISCORD_BOT_TOKEN": DISCORD_TOKEN, "DISCORD_API_BASE": self.sim.base_url}

    async def ready(self, stack: AsyncExitStack, people: int) -> None:
        await self.here.until(lambda: self.bot.sessions.connected and bool(self.bot.commands), "Discord")

    def sender(self, person: int) -> str:
        return f"discord:{person}"

    async def say(self, person: int, text: str) -> None:
        self.sim.say(person, text)

    def seen(self, person: int) -> list[Seen]:
        if person not in self.sim.world.channels:
            return []
        return [(str(one.message_id), one.text, _keys(one.components)) for one in self.sim.answers(person)]

    async def press(self, person: int, message: str, data: str) -> None:
        self.sim.press(person, int(message), data)


def _keys(rows: list) -> dict[str, str]:
    return {key["label"]: key["custom_id"] for row in rows for key in row["components"]}


class SlackStreet(Street):
    """Direct messages with an app."""

    name = "slack"

    async def open(self, stack: AsyncExitStack) -> None:
        self.sim = await stack.enter_async_context(SlackSimulator())
        self.sim.add_app()

    def environ(self) -> dict[str, str]:
        return {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN, "SLACK_API_BASE": self.sim.base_url}

    async def ready(self, stack: AsyncExitStack, people: int) -> None:
        await self.here.until(lambda: self.sim.sockets.connected > 0, "Slack")

    def sender(self, person: int) -> str:
        return f"slack:{self.sim.world.the_app().team}:U{person}"

    async def say(self, person: int, text: str) -> None:
        self.sim.say(f"D{person}", text, person=f"U{person}")

    def seen(self, person: int) -> list[Seen]:
        shown = self.sim.answers(f"D{person}")
        return [
            (one.ts, one.text, {str(key["text"]["text"]): str(key["value"]) for key in one.buttons}) for one in shown
        ]

    async def press(self, person: int, message: str, data: str) -> None:
        chat = self.sim.world.chats[f"D{person}"]
        if not chat.messages[message].buttons:  # whoever forges a press forges the button, too
            label = {"type": "plain_text", "text": "x"}
            forged = {"type": "button", "action_id": "tenk:0", "value": "x", "text": label}
            chat.messages[message].buttons = [forged]
        first = str(chat.messages[message].buttons[0]["value"])
        self.sim.press(f"D{person}", message, first, person=f"U{person}", forged=data)


class WebStreet(Street):
    """A browser a person."""

    name = "web"

    def environ(self) -> dict[str, str]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
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
    kind: Callable[[], Street], directory: Path, people: int = 4, *, model: str | None = "openai:journey"
) -> AsyncIterator[Street]:
    """A gateway in pairing mode with people before it, numbered from 1; `model` None is the offline coach."""
    one = kind()
    async with AsyncExitStack() as stack:
        await one.open(stack)
        made = house(directory, access="pairing", model=model, environ=one.environ())
        one.here = await stack.enter_async_context(made)
        await one.ready(stack, people)
        async with asyncio.TaskGroup() as tasks:
            visits = [tasks.create_task(page.run()) for page in getattr(one, "pages", {}).values()]
            yield one
            for visit in visits:
                visit.cancel()
