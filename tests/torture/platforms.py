"""The tortured gateway's platforms: the person's side of each, its promises, and secrets that logs must not show.

A chat is a number. On Discord and Slack every fourth is a room among others, where the bot is mentioned, and every
other command is used in a room of commands, its answer shown to the asker alone.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import cycle
from typing import Any

import aiohttp
from aiohttp import web

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.shared.world import AnyMessage
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.slack.state import SIGNING_SECRET
from channels.simulators.telegram.server import TelegramSimulator
from tests.fakes.ports import free_address, free_port

COMMAND_ROOM = 904_000
"""A room that is used for commands only."""

WEBHOOK_SECRET = "TORTURE-canary-webhook"
SHARDS = 4

RETRY_AFTER_S = (0.0, 0.5, 2.0)
"""Slack's waits before each retry of an event, shortened: a minute and five are too long here."""


class Platform:
    """A simulated platform, the gateway's account there, and chats by their numbers."""

    config: str
    """The account, as a piece of the gateway's configuration."""
    marks = False
    """True if a repeated text must carry the mark; elsewhere nothing is repeated."""
    forgets = True
    """True if events of a downtime may be in the history alone."""
    rooms = True
    """True if some of the chats are rooms."""
    threads = False
    """True if talk in a room continues in the thread of the first message."""

    def __init__(self, side: AnySimulator, name: str = "") -> None:
        self.side = side
        self.sim: Any = side
        self.name = name or side.name
        self._threads: dict[int, str] = {}
        self._in_the_room = False  # whether the last command was used there

    @property
    def secrets(self) -> Mapping[str, str]:
        return {key: value for key, value in self.environment().items() if key.endswith(("_TOKEN", "_SECRET"))}

    def environment(self) -> dict[str, str]:
        """Return the variables of a gateway that connects to this platform."""
        return dict(self.side.environment())

    async def start(self) -> Mapping[str, str]:
        """Listen; the environment of a gateway."""
        await self.side.__aenter__()
        if self.rooms:
            self.side.room(COMMAND_ROOM)
        return self.environment()

    async def aclose(self) -> None:
        """Stop listening."""
        await self.side.__aexit__(None, None, None)

    def say(self, chat: int, text: str, picture: bytes | None = None) -> str:
        """Write to the bot, perhaps under a picture; return the message's id."""
        if picture is not None:
            return str(self.side.send_picture(self._chat(chat), picture, text))
        if not self._is_room(chat):
            return str(self.side.say(self._chat(chat), text))
        above = self._threads.get(chat) if self.threads else None
        said = str(self.side.say(self._chat(chat), f"{self.side.mention} {text}", person=chat, under=above))
        self._threads.setdefault(chat, said)
        return said

    def command(self, chat: int, name: str, text: str) -> Callable[[], bool]:
        """Use a native command; return True if the gateway took it."""
        self._in_the_room = self.rooms and not self._in_the_room
        where = self.side.room(COMMAND_ROOM) if self._in_the_room else self._chat(chat)
        used = self.side.command(where, name, text, person=chat)
        return lambda: used.acked

    def answers(self, chat: int) -> list[AnyMessage]:
        """Return what the bot said in the chat, in order, then what it showed this person alone among the commands."""
        alone = self.side.answers(self.side.room(COMMAND_ROOM), chat) if self.rooms else []
        return [*self.side.answers(self._chat(chat)), *(shown for shown in alone if shown.private)]

    def calls(self, chat: int) -> int:
        """Return how many calls of the gateway have come in for this chat."""
        return len(self.side.history(self._chat(chat)))

    def arrivals(self) -> int:
        """Return how often a gateway has begun to listen; on Telegram each poll counts."""
        return self.side.arrivals()

    def on_its_way(self) -> int:
        """Return how many events wait for the gateway's acknowledgement, as far as the platform keeps them."""
        return self.side.count_unacknowledged()

    def environment_of(self, machine: int) -> dict[str, str]:
        """Return the additional variables of one machine of several."""
        return {}

    def disturb(self) -> None:
        """Break one of several connections to the gateway."""

    def forget(self) -> None:
        """Keep nothing for a gateway that is away but the chats' histories."""
        self.side.forget()

    def doubles(self) -> list[str]:
        """Return keys under which the bot has more than one message, if the platform is given keys."""
        said = Counter((chat, shown.key) for chat in self.side.chats() for shown in self.side.answers(chat))
        return [f"{key} in chat {chat}" for (chat, key), times in said.items() if key and times > 1]

    def key(self, chat: int) -> str:
        """Return the store's key of this chat."""
        return str(self._chat(chat))

    def _chat(self, chat: int) -> Any:
        return self.side.room(chat) if self._is_room(chat) else self.side.direct(chat)

    def _is_room(self, chat: int) -> bool:
        return self.rooms and chat % 4 == 3


class TelegramPlatform(Platform):
    config = "[channels.telegram.main]\npoll_timeout_s = 5\n"
    marks = True
    forgets = rooms = False

    def __init__(self) -> None:
        super().__init__(TelegramSimulator.with_bot(token="4242:TORTURE-canary-bot-token"))


class TelegramWebhookPlatform(TelegramPlatform):
    """Telegram by webhook: a balancer posts updates to one machine after another and skips any that is away."""

    def __init__(self, machines: int) -> None:
        super().__init__()
        port, *ports = (free_port() for _ in range(1 + machines))
        self.taken: Counter[str] = Counter()  # updates, by who took them
        self._listens = [f"127.0.0.1:{number}" for number in ports]
        self._turn = cycle(self._listens)
        self._at = f"127.0.0.1:{port}"
        self._runner = web.ServerRunner(web.Server(self._balance, access_log=None), shutdown_timeout=0.1)
        self._http: aiohttp.ClientSession | None = None
        self.config = f'[channels.telegram.main]\nmode = "webhook"\nwebhook_url = "http://{self._at}"\n'

    @property
    def secrets(self) -> Mapping[str, str]:
        return {**super().secrets, "webhook_secret": WEBHOOK_SECRET}

    def environment_of(self, machine: int) -> dict[str, str]:
        return {"TENK_HTTP": self._listens[machine]} if machine < len(self._listens) else {}

    async def start(self) -> Mapping[str, str]:
        self._http = aiohttp.ClientSession()
        await self._runner.setup()
        await web.TCPSite(self._runner, *self._at.split(":")).start()
        return await super().start()

    async def aclose(self) -> None:
        await super().aclose()
        await self._runner.cleanup()
        if self._http is not None:
            await self._http.close()

    async def _balance(self, request: web.BaseRequest) -> web.StreamResponse:
        assert self._http is not None, "it was started"
        body, headers = await request.read(), dict(request.headers)
        for _ in self._listens:
            to = next(self._turn)
            try:
                async with self._http.post(f"http://{to}{request.path}", data=body, headers=headers) as answer:
                    if answer.status != 503:
                        self.taken[to] += answer.status == 200
                        return web.Response(status=answer.status)
            except aiohttp.ClientError:
                continue
        return web.Response(status=503)


class DiscordPlatform(Platform):
    """Direct messages, and channels of a server."""

    config = '[channels.discord.main]\nwake = "mention"\n[access.accounts."discord:main"]\nallow_groups = ["*"]\n'

    def __init__(self) -> None:
        super().__init__(DiscordSimulator.with_bot(token="TORTURE.canary.discord-bot-token"))


class DiscordShardsPlatform(DiscordPlatform):
    """Discord with four shards: direct messages are the first's, rooms are in servers of the others."""

    config = DiscordPlatform.config.replace("main]\n", f"main]\nshards = {SHARDS}\n", 1)

    def __init__(self) -> None:
        super().__init__()
        self.name = "discord-shards"
        self.side.bot.sessions.limit.max_concurrency = SHARDS  # or each start would take a quarter of a minute
        self._cut = 0

    def arrivals(self) -> int:
        """See `Platform`: all of them are waited for."""
        return super().arrivals() // SHARDS

    def _chat(self, chat: int) -> Any:
        if self._is_room(chat) and chat not in self.sim.world.channels:
            self.sim.add_channel(chat, (1 + chat // 4 % (SHARDS - 1)) << 22 | 5)
        return super()._chat(chat)

    def disturb(self) -> None:
        """Disturb one shard, each in turn."""
        self._cut = (self._cut + 1) % SHARDS
        self.sim.close_sockets(None, shard=self._cut)


class SlackPlatform(Platform):
    """Direct messages, and one thread each in channels; by Socket Mode."""

    config = '[channels.slack.main]\n[access.accounts."slack:main"]\nallow_groups = ["*"]\n'
    threads = True

    def __init__(self) -> None:
        super().__init__(SlackSimulator.with_bot(keys_count=False))  # nowhere is it told that a real one does
        self.sim.world.stream_lasts_s = 2.0  # so that some are ended by Slack


class SlackSocketsPlatform(SlackPlatform):
    """Slack by three sockets."""

    config = SlackPlatform.config.replace("main]\n", "main]\nsockets = 3\n", 1)

    def __init__(self) -> None:
        super().__init__()
        self.name = "slack-sockets"

    def disturb(self) -> None:
        """Cut one socket; ask the gateway to replace the others."""
        self.sim.sockets.abort_all(slice(1))
        self.sim.sockets.refresh("warning", slice(1, None))


class SlackHttpPlatform(Platform):
    """Slack by HTTP: events are posted to the gateway's own server, with three retries, then lost for good."""

    config = '[channels.slack.main]\nmode = "http"\n[access.accounts."slack:main"]\nallow_groups = ["*"]\n'
    threads = True

    def __init__(self) -> None:
        slack = SlackSimulator(keys_count=False, retry_after_s=RETRY_AFTER_S)
        slack.add_app()
        super().__init__(slack, "slack-http")
        self._listen = free_address()
        self.sim.world.the_app().webhook_url = f"http://{self._listen}/webhooks/slack/main/events"

    def environment(self) -> dict[str, str]:
        given = super().environment() | {"SLACK_SIGNING_SECRET": SIGNING_SECRET, "TENK_HTTP": self._listen}
        del given["SLACK_APP_TOKEN"]
        return given

    def arrivals(self) -> int:
        """Return how often a gateway has asked who it is: it listens a moment later."""
        return self.sim.world.introductions

    def on_its_way(self) -> int:
        """See `Platform`."""
        return self.sim.poster.on_its_way

    def forget(self) -> None:
        """See `Platform`: what was not taken is not posted again."""
        self.sim.poster.forget()
