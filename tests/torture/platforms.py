"""The platforms a gateway is tortured on, alike: what people write there and see, and what has reached the gateway.

A chat is a number. On Discord and Slack every fourth is a channel among others, where the bot is mentioned.
"""

import random
import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.slack.state import APP_TOKEN, BOT_TOKEN, SIGNING_SECRET
from channels.simulators.telegram.server import TelegramSimulator

GUILD = 5_000_000
COMMAND_ROOM = 5_000_001
"""The channel on Discord where nobody writes and commands are used."""
SLACK_COMMAND_ROOM = "C904000"
"""The channel on Slack where nobody writes and commands are used."""

HTTP_PORTS = range(20_000, 32_000)
"""Where a gateway that is posted to listens in all its lives: no connection that goes out is given one of these."""

RETRY_AFTER_S = (0.0, 0.5, 2.0)
"""Slack's waits before each retry of an event, shortened: a minute and five are too long here."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the bot said, as it stands in a chat now."""

    text: str
    at_s: float  # time.monotonic() when it appeared


class Platform(Protocol):
    """A simulated platform and the gateway's account there."""

    name: str
    config: str
    """The account, as a piece of the gateway's configuration."""
    secrets: Mapping[str, str]
    """What may never stand in a log, by what it is."""
    marks: bool
    """Whether what is said twice has to show it; elsewhere nothing is said twice."""
    forgets: bool
    """Whether what happens while nobody listens may be told by the history alone."""

    async def start(self) -> Mapping[str, str]:
        """Listen; the environment of a gateway that is to come here."""
        ...

    async def aclose(self) -> None:
        """Stop listening."""
        ...

    def say(self, chat: int, text: str) -> str:
        """Somebody writes to the bot; the message's id."""
        ...

    def command(self, chat: int, name: str, text: str) -> Callable[[], bool]:
        """Somebody uses a command of the platform's own; what comes back says whether it was taken."""
        ...

    def answers(self, chat: int) -> list[Answer]:
        """What the bot said there, in order, without what was deleted."""
        ...

    def calls(self, chat: int) -> int:
        """How many calls of the gateway have come in for this chat."""
        ...

    def arrivals(self) -> int:
        """How often a gateway has begun to listen; on Telegram each poll counts."""
        ...

    def on_its_way(self) -> int:
        """How much waits for the gateway's acknowledgement, as far as the platform has kept it."""
        ...

    def forget(self) -> None:
        """Keep nothing for a gateway that is away but the chats' histories."""
        ...

    def doubles(self) -> list[str]:
        """Keys under which the bot said more than once what still stands, as far as the platform is given keys."""
        ...

    def key(self, chat: int) -> str:
        """What the store calls this chat."""
        ...


class TelegramPlatform:
    """Private chats."""

    name = "telegram"
    config = "[channels.telegram.main]\npoll_timeout_s = 5\n"
    token = "4242:TORTURE-canary-bot-token"
    secrets: Mapping[str, str] = {"the bot token": token}
    marks = True
    forgets = False

    def __init__(self) -> None:
        self.sim = TelegramSimulator()

    async def start(self) -> Mapping[str, str]:
        """See `Platform`."""
        await self.sim.start()
        self.sim.add_bot(self.token)
        return {"TELEGRAM_BOT_TOKEN": self.token, "TELEGRAM_API_BASE": self.sim.base_url}

    async def aclose(self) -> None:
        """See `Platform`."""
        await self.sim.aclose()

    def say(self, chat: int, text: str) -> str:
        """See `Platform`."""
        return str(self.sim.say(chat, text))

    def command(self, chat: int, name: str, text: str) -> Callable[[], bool]:
        """See `Platform`; on Telegram it is a message like others, and kept like them."""
        self.say(chat, f"/{name} {text}")
        return lambda: True

    def answers(self, chat: int) -> list[Answer]:
        """See `Platform`."""
        return [Answer(one.text, one.at_s) for one in self.sim.answers(chat)]

    def calls(self, chat: int) -> int:
        """See `Platform`."""
        return len(self.sim.history(chat))

    def arrivals(self) -> int:
        """See `Platform`."""
        return self.sim.world.bot(self.token).updates.polls

    def on_its_way(self) -> int:
        """See `Platform`."""
        return len(self.sim.world.bot(self.token).updates)

    def forget(self) -> None:
        """Telegram keeps updates for a day."""

    def doubles(self) -> list[str]:
        """None that Telegram knew of."""
        return []

    def key(self, chat: int) -> str:
        """See `Platform`."""
        return str(chat)


class DiscordPlatform:
    """Direct messages, and channels of a server. Every other command is used in a channel, and is the asker's alone."""

    name = "discord"
    config = '[channels.discord.main]\nwake = "mention"\n[access.accounts."discord:main"]\nallow_groups = ["*"]\n'
    token = "TORTURE.canary.discord-bot-token"
    secrets: Mapping[str, str] = {"the bot token": token}
    marks = False
    forgets = True

    def __init__(self) -> None:
        self.sim = DiscordSimulator()
        self._in_the_room = False  # whether the last command was used there

    async def start(self) -> Mapping[str, str]:
        """See `Platform`."""
        await self.sim.start()
        self.sim.add_bot(self.token)
        self.sim.add_channel(COMMAND_ROOM, GUILD)
        return {"DISCORD_BOT_TOKEN": self.token, "DISCORD_API_BASE": self.sim.base_url}

    async def aclose(self) -> None:
        """See `Platform`."""
        await self.sim.aclose()

    def say(self, chat: int, text: str) -> str:
        """See `Platform`."""
        if not _is_room(chat):
            return str(self.sim.say(chat, text))
        if chat not in self.sim.world.channels:
            self.sim.add_channel(chat, GUILD)
        return str(self.sim.say(chat, f"<@{self.sim.world.bot().id}> {text}", person=chat))

    def command(self, chat: int, name: str, text: str) -> Callable[[], bool]:
        """See `Platform`."""
        self._in_the_room = not self._in_the_room
        used = self.sim.command(COMMAND_ROOM if self._in_the_room else chat, name, {"text": text}, person=chat)
        return lambda: used.acked_at_s is not None

    def answers(self, chat: int) -> list[Answer]:
        """See `Platform`; with what this person alone was shown in the room of commands, or in direct messages."""
        shown = [one for one in self.sim.answers(COMMAND_ROOM, chat) if one.only_for == chat]
        opened = [one.id for one in self.sim.world.channels.values() if one.person_id == chat]  # by them, or by the bot
        for channel in dict.fromkeys((chat, *opened)):
            shown += self.sim.answers(channel)
        return [Answer(one.text, one.at_s) for one in shown]

    def calls(self, chat: int) -> int:
        """See `Platform`."""
        return len(self.sim.history(chat))

    def arrivals(self) -> int:
        """See `Platform`."""
        sessions = self.sim.world.bot().sessions
        return sessions.identifies + sessions.resumes

    def on_its_way(self) -> int:
        """Nothing: Discord is told how far a session is only when it is taken up again."""
        return 0

    def forget(self) -> None:
        """See `Platform`: no session can be resumed."""
        self.sim.forget_sessions()

    def doubles(self) -> list[str]:
        """See `Platform`: nonces within a channel."""
        channels = self.sim.world.channels
        said = [
            (chat, one.nonce) for chat in channels for one in self.sim.messages_in(chat) if one.by_bot and one.nonce
        ]
        return _repeated(said)

    def key(self, chat: int) -> str:
        """See `Platform`."""
        return str(chat)


class SlackPlatform:
    """Direct messages, and one thread each in channels; by Socket Mode. Every other command is used in a channel."""

    name = "slack"
    config = '[channels.slack.main]\n[access.accounts."slack:main"]\nallow_groups = ["*"]\n'
    secrets: Mapping[str, str] = {"the bot token": BOT_TOKEN, "the app token": APP_TOKEN}
    marks = False
    forgets = True

    def __init__(self) -> None:
        self.sim = SlackSimulator(keys_count=False)  # nowhere is it told that a real one counts them
        self.sim.world.stream_lasts_s = 2.0  # so that some are ended by Slack
        self._threads: dict[int, str] = {}
        self._in_the_room = False  # whether the last command was used there

    async def start(self) -> Mapping[str, str]:
        """See `Platform`."""
        await self.sim.start()
        self.sim.add_app()
        return {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN, "SLACK_API_BASE": self.sim.base_url}

    async def aclose(self) -> None:
        """See `Platform`."""
        await self.sim.aclose()

    def say(self, chat: int, text: str) -> str:
        """See `Platform`."""
        if not _is_room(chat):
            return self.sim.say(self.key(chat), text)
        mention = f"<@{self.sim.world.the_app().user}>"
        said = self.sim.say(self.key(chat), f"{mention} {text}", person=f"U{chat}", thread=self._threads.get(chat))
        self._threads.setdefault(chat, said)
        return said

    def command(self, chat: int, name: str, text: str) -> Callable[[], bool]:
        """See `Platform`."""
        self._in_the_room = not self._in_the_room
        where = SLACK_COMMAND_ROOM if self._in_the_room else self.key(chat)
        used = self.sim.command(where, f"/{name}", text, person=f"U{chat}")
        return lambda: used.acked

    def answers(self, chat: int) -> list[Answer]:
        """See `Platform`; with what this person alone was shown in the room of commands."""
        alone = [one for one in self.sim.answers(SLACK_COMMAND_ROOM) if one.ephemeral_for == f"U{chat}"]
        return [Answer(one.text, one.at_s) for one in (*self.sim.answers(self.key(chat)), *alone)]

    def calls(self, chat: int) -> int:
        """See `Platform`."""
        return len(self.sim.history(self.key(chat)))

    def arrivals(self) -> int:
        """See `Platform`."""
        return self.sim.sockets.connections

    def on_its_way(self) -> int:
        """See `Platform`."""
        return len(self.sim.sockets.open)

    def forget(self) -> None:
        """See `Platform`: what waits for a socket has waited too long."""
        self.sim.sockets.lost += self.sim.sockets.open
        self.sim.sockets.open.clear()

    def doubles(self) -> list[str]:
        """See `Platform`: `client_msg_id`s within a chat."""
        chats = self.sim.world.chats
        return _repeated([(chat, one.key) for chat in chats for one in self.sim.answers(chat) if one.key])

    def key(self, chat: int) -> str:
        """See `Platform`."""
        return f"{'C' if _is_room(chat) else 'D'}{chat}"


class SlackHttpPlatform(SlackPlatform):
    """The same, its events posted to the gateway's own HTTP server: three retries, and then they are lost for good."""

    name = "slack-http"
    config = '[channels.slack.main]\nmode = "http"\n[access.accounts."slack:main"]\nallow_groups = ["*"]\n'
    secrets: Mapping[str, str] = {"the bot token": BOT_TOKEN, "the signing secret": SIGNING_SECRET}

    def __init__(self) -> None:
        super().__init__()
        self.sim = SlackSimulator(keys_count=False, retry_after_s=RETRY_AFTER_S)

    async def start(self) -> Mapping[str, str]:
        """See `Platform`."""
        await self.sim.start()
        listen = f"127.0.0.1:{_free_port()}"
        self.sim.add_app().webhook_url = f"http://{listen}/webhooks/slack/main/events"
        return {
            "SLACK_BOT_TOKEN": BOT_TOKEN,
            "SLACK_SIGNING_SECRET": SIGNING_SECRET,
            "SLACK_API_BASE": self.sim.base_url,
            "TENK_HTTP": listen,
        }

    def arrivals(self) -> int:
        """How often a gateway has asked who it is: it listens a moment later."""
        return self.sim.world.introductions

    def on_its_way(self) -> int:
        """See `Platform`."""
        return self.sim.poster.on_its_way

    def forget(self) -> None:
        """See `Platform`: what was not taken is not posted again."""
        self.sim.poster.forget()


def _free_port() -> int:
    """A port nobody listens on."""
    while True:
        port = random.choice(HTTP_PORTS)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def _repeated(said: Sequence[tuple[object, str]]) -> list[str]:
    return [f"{key} in chat {chat}" for (chat, key), times in Counter(said).items() if times > 1]


def _is_room(chat: int) -> bool:
    return chat % 4 == 3
