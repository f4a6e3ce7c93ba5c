"""The person's side of each simulated platform, alike for all: people with numbers who write and are answered."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.slack.state import APP_TOKEN, BOT_TOKEN
from channels.simulators.telegram.server import TelegramSimulator

TOKEN = "123456:AAHbenchbenchbenchbenchbenchbenchbe"
DISCORD_TOKEN = "bench.token.of.the.simulator"


class Platform(Protocol):
    """One simulated platform with one bot on it. People are numbers; each has a direct chat with the bot."""

    name: str
    bare_bot: str
    """The module of the yardstick."""

    @property
    def server(self) -> AbstractAsyncContextManager[object]:
        """Listens inside `async with`; to be entered before anything below."""
        ...

    def environment(self) -> Mapping[str, str]:
        """What a bot needs to be told to come here."""
        ...

    def connected(self) -> bool:
        """Whether the bot has come."""
        ...

    def say(self, person: int, text: str) -> None:
        """Somebody writes to the bot."""
        ...

    def heard(self) -> Sequence[tuple[int, str]]:
        """The bot's messages that came or changed since the last call: (person, text as they see it)."""
        ...

    async def news(self, timeout_s: float) -> None:
        """Wait until `heard` may have something.

        Raises:
            TimeoutError: the bot did nothing.
        """
        ...


class OnTelegram:
    """Telegram, by polling."""

    name = "Telegram"
    bare_bot = "tests.bench.bare_telegram"

    def __init__(self) -> None:
        self.server = TelegramSimulator(throttled=False)
        self.bot = self.server.add_bot(TOKEN)
        self._seen = 0

    def environment(self) -> Mapping[str, str]:
        """See `Platform`."""
        return {"TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_API_BASE": self.server.base_url}

    def connected(self) -> bool:
        """See `Platform`."""
        return self.bot.updates.polls > 0

    def say(self, person: int, text: str) -> None:
        """See `Platform`."""
        self.server.say(person, text)

    def heard(self) -> list[tuple[int, str]]:
        """See `Platform`."""
        found: list[tuple[int, str]] = []
        for call in self.server.history(after=self._seen):
            self._seen = call.seq
            if call.applied and call.chat_id in self.bot.chats:
                message = self.bot.chats[call.chat_id].messages.get(call.message_id or 0)
                if message is not None and message.by_bot:
                    found.append((call.chat_id, message.text))
        return found

    async def news(self, timeout_s: float) -> None:
        """See `Platform`."""
        await self.server.until(lambda: self.server.world.newest_seq > self._seen, timeout_s=timeout_s)


class OnDiscord:
    """Discord, by its gateway."""

    name = "Discord"
    bare_bot = "tests.bench.bare_discord"

    def __init__(self) -> None:
        self.server = DiscordSimulator()
        self.bot = self.server.add_bot(DISCORD_TOKEN)
        self._seen = 0

    def environment(self) -> Mapping[str, str]:
        """See `Platform`."""
        return {"DISCORD_BOT_TOKEN": DISCORD_TOKEN, "DISCORD_API_BASE": self.server.base_url}

    def connected(self) -> bool:
        """See `Platform`."""
        return any(session.outbox is not None for session in self.bot.sessions.live())

    def say(self, person: int, text: str) -> None:
        """See `Platform`."""
        self.server.say(person, text)

    def heard(self) -> list[tuple[int, str]]:
        """See `Platform`."""
        found: list[tuple[int, str]] = []
        for call in self.server.history(after=self._seen):
            self._seen = call.seq
            channel = self.server.world.channels.get(call.chat_id or 0)
            message = channel.messages.get(call.message_id or 0) if channel is not None and call.applied else None
            if message is not None and message.by_bot:
                found.append((message.chat_id, message.text))
        return found

    async def news(self, timeout_s: float) -> None:
        """See `Platform`."""
        await self.server.until(lambda: self.server.world.newest_seq > self._seen, timeout_s=timeout_s)


class OnSlack:
    """Slack, by Socket Mode; the person 7 is U7, and writes in D7."""

    name = "Slack"
    bare_bot = "tests.bench.bare_slack"

    def __init__(self) -> None:
        self.server = SlackSimulator()
        self.server.add_app()
        self._seen = 0

    def environment(self) -> Mapping[str, str]:
        """See `Platform`."""
        return {
            "SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN, "SLACK_API_BASE": self.server.base_url,
        }  # fmt: skip

    def connected(self) -> bool:
        """See `Platform`."""
        return self.server.sockets.connected > 0

    def say(self, person: int, text: str) -> None:
        """See `Platform`."""
        self.server.say(f"D{person}", text)

    def heard(self) -> list[tuple[int, str]]:
        """See `Platform`."""
        found: list[tuple[int, str]] = []
        for call in self.server.history(after=self._seen):
            self._seen = call.seq
            chat = self.server.world.chats.get(call.chat_id or "")
            message = chat.messages.get(call.message_id or "") if chat is not None and call.applied else None
            if message is not None and message.by_bot:
                found.append((int(message.chat[1:]), message.text))
        return found

    async def news(self, timeout_s: float) -> None:
        """See `Platform`."""
        await self.server.until(lambda: self.server.world.newest_seq > self._seen, timeout_s=timeout_s)


PLATFORMS: Mapping[str, type[OnTelegram] | type[OnDiscord] | type[OnSlack]] = {
    "telegram": OnTelegram, "discord": OnDiscord, "slack": OnSlack,
}  # fmt: skip
