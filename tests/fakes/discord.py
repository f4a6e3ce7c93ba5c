"""A Discord channel running against the simulator."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from channels.discord.adapter import DiscordChannel
from channels.discord.config import DiscordAccount
from channels.messages import Address, CommandInvoked, InboundMessage
from channels.simulators.discord.server import GUILD, TOKEN, DiscordSimulator
from tests.fakes import simulated_channel
from tests.fakes.simulated_channel import Pauses, part_of
from tests.fakes.sink import RecordingSink

part = partial(part_of, "discord", chat=1)
"""Something to send to a chat of account main."""

BOT_ID = 900_000
ROOM, FORUM = 5_001, 5_002
HOME = Address("discord", "main", "1")
MENTION = f"<@{BOT_ID}>"


@dataclass
class Rig(simulated_channel.Rig):
    """A rig with its configuration."""

    config: DiscordAccount

    @property
    def sessions(self):
        return self.simulator.world.bot().sessions

    async def connected(self) -> None:
        """Wait until a session stands and is committed."""
        await self.simulator.until(lambda: self.sessions.connected)
        await self.sink.until(lambda: self.sink.committed is not None)

    async def restarted(self, sink: RecordingSink | None = None) -> None:
        """Return a new channel over what was committed, as another process has it."""
        await self.channel.aclose()
        self.channel = channel_of(self.config, sleep=self.pauses)
        cursors, known = self.sink.cursors, self.sink.known
        self.sink = sink if sink is not None else RecordingSink(known=known)
        self.sink.cursors = dict(cursors)

    async def lose_session(self, *gap: tuple[int, str], known: Sequence[int] = (1,)) -> None:
        """Hear from `known` chats, lose the session, let people say `gap`; return the next process's channel."""
        async with self.running():
            for chat in known:
                self.simulator.say(chat, "known")
            await self.sink.until(lambda: len(self.sink.events) == len(known))
        self.simulator.forget_sessions()
        for chat, text in gap:
            self.simulator.say(chat, text, person=None if chat < GUILD else 7)
        await self.restarted()

    async def until_gap(self, *, is_open: bool) -> None:
        """Wait until the resume point says that there is a gap, or none any more."""
        words = f'"gap":{str(is_open).lower()}'
        await self.sink.until(lambda: words in (self.sink.committed or ""))


def channel_of(config: DiscordAccount, **more: Any) -> DiscordChannel:
    """Return a channel that knows the coach's commands."""
    channel = DiscordChannel(config, **more)
    channel.shared_commands = frozenset({"coach", "stop", "new", "mode"})
    return channel


def account(simulator: DiscordSimulator, token: str = TOKEN, **more: object) -> DiscordAccount:
    """Return a configuration that points at the simulator."""
    return DiscordAccount.model_validate({"token": token, "api_base": simulator.base_url} | more)


@asynccontextmanager
async def discord(token: str = TOKEN, bucket: tuple[int, float] | None = None, **more: object) -> AsyncIterator[Rig]:
    """Return a rig whose channel does not receive yet; `more` goes into its configuration."""
    async with DiscordSimulator(bucket=bucket) as simulator:
        simulator.add_bot(TOKEN, bot_id=BOT_ID)
        simulator.add_channel(ROOM, GUILD)
        simulator.world.dm(simulator.world.bot(), 1, 1)
        pauses = Pauses(takes_s=0.01)
        config = account(simulator, token, **more)
        rig = Rig(simulator, channel_of(config, sleep=pauses), RecordingSink(), pauses, config)
        try:
            yield rig
        finally:
            await rig.channel.aclose()


def texts(rig: Rig) -> list[str]:
    """Return what was said, in the order it was handed in."""
    return [event.text for event in rig.sink.events if isinstance(event, InboundMessage)]


async def invoked(rig: Rig, name: str = "log", **options: str) -> CommandInvoked:
    used = rig.simulator.command(1, name, options)
    await rig.sink.until(lambda: any(event.event_id == f"int:{used.id}" for event in rig.sink.events))
    event = rig.sink.events[-1]
    assert isinstance(event, CommandInvoked)
    return event
