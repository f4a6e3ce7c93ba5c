"""Telegram, Discord and Slack through their simulators, with the real SDKs' wires."""

import asyncio
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import orjson

from channels.base import Channel
from channels.messages import Address, OutboundPart, Rendered
from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.faults import Fault
from channels.simulators.shared.faults import Fault as DiscordFault
from channels.simulators.shared.faults import Fault as SlackFault
from channels.simulators.shared.faults import Fault as TelegramFault
from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.telegram.server import TelegramSimulator
from channels.slack.adapter import SlackChannel
from channels.slack.render import MARKDOWN
from channels.telegram.adapter import TelegramChannel
from gateway.testing.channel_rig import Rig, Trouble
from tests.fakes import discord, slack, telegram


async def briefly(_seconds: float) -> None:
    """Wait a moment."""
    await asyncio.sleep(0.01)


class PlatformRig(Rig):
    """Person 1 in a direct chat, and the platform between them and the channel."""

    faults: ClassVar[Mapping[Trouble, Fault]]

    @abstractmethod
    def simulated(self) -> AnySimulator:
        """Return the simulator before it listens."""

    async def open(self) -> None:
        self.side = await self._stack.enter_async_context(self.simulated())
        self.simulator: Any = self.side
        self.chat = self.side.direct(1)

    @property
    def address(self) -> Address:
        return Address(self.name, "main", str(self.chat))

    def count_unacknowledged(self) -> int:
        return self.side.count_unacknowledged()

    def sent_texts(self) -> list[str]:
        return [shown.text for shown in self.side.answers(self.chat)]

    async def fail_next(self, trouble: Trouble) -> None:
        self.simulator.faults.script(self.faults[trouble])


class TelegramRig(PlatformRig):
    """Telegram through its simulator, with the real SDK's wire."""

    name = "telegram"
    faults: ClassVar = {
        Trouble.RETRYABLE: TelegramFault(kind="status", status=429, method="sendMessage"),
        Trouble.PERMANENT: TelegramFault(kind="status", status=403, method="sendMessage"),
        Trouble.UNKNOWN: TelegramFault(kind="cut", applied=True, method="sendMessage"),
    }

    def simulated(self) -> AnySimulator:
        side = TelegramSimulator.with_bot(throttled=False)
        side.add_chat(1, "private")
        return side

    async def make(self) -> Channel:
        return TelegramChannel(telegram.account(self.simulator), sleep=briefly)

    async def people_say(self, texts: Sequence[str]) -> None:
        for text in texts:
            message_id = int(self.side.say(self.chat, text))
            self._last = {
                "message": {
                    "message_id": message_id,
                    "date": 1_790_000_000,
                    "text": text,
                    "chat": {"id": 1, "type": "private"},
                    "from": {"id": 1, "is_bot": False, "first_name": "Ada"},
                }
            }

    async def redeliver(self) -> None:
        self.simulator.inject(self._last)


class DiscordRig(PlatformRig):
    """A direct chat on Discord. The committed sequence number is its acknowledgement: a resume begins there."""

    name = "discord"
    faults: ClassVar = {
        Trouble.RETRYABLE: DiscordFault(kind="status", status=429, retry_after_s=600, method="createMessage"),
        Trouble.PERMANENT: DiscordFault(kind="status", status=403, code=50007, method="createMessage"),
        Trouble.UNKNOWN: DiscordFault(kind="cut", applied=True, method="createMessage"),
    }

    def simulated(self) -> AnySimulator:
        side = DiscordSimulator.with_bot()
        side.world.dm(side.bot, 1, 1)
        self._said: list[int] = []  # sequence numbers
        return side

    async def make(self) -> Channel:
        return discord.channel_of(discord.account(self.simulator), sleep=briefly)

    @property
    def _session(self):
        return next(iter(self.simulator.world.bot().sessions.live()))

    async def people_say(self, texts: Sequence[str]) -> None:
        await self.side.until(self.side.is_connected, 10)
        await self.sink.until(lambda: self.sink.committed is not None)
        for text in texts:
            self.side.say(self.chat, text)
            number, self._last = self._session.events[-1]
            self._said.append(number)

    async def redeliver(self) -> None:
        self.simulator.inject("MESSAGE_CREATE", orjson.dumps(orjson.loads(self._last)["d"]))

    def count_unacknowledged(self) -> int:
        committed = orjson.loads(self.sink.committed or "{}").get("session") or {"seq": 0}
        return sum(number > committed["seq"] for number in self._said)


class SlackRig(PlatformRig):
    """A direct message on Slack over Socket Mode."""

    name = "slack"
    faults: ClassVar = {
        Trouble.RETRYABLE: SlackFault(kind="error", error="ratelimited", method="chat.postMessage"),
        Trouble.PERMANENT: SlackFault(kind="error", error="is_archived", method="chat.postMessage"),
        Trouble.UNKNOWN: SlackFault(kind="cut", applied=True, method="chat.postMessage"),
    }

    def simulated(self) -> AnySimulator:
        side = SlackSimulator(redeliver_after_s=0.2, retry_after_s=(0.0, 0.05, 0.1))
        side.add_app()
        return side

    async def make(self) -> Channel:
        return SlackChannel(slack.account(self.simulator), sleep=briefly)

    def part(self, text: str, key: str = "0123456789abcdef") -> OutboundPart:
        return OutboundPart(address=self.address, rendered=Rendered(text, MARKDOWN), idem_key=key)

    async def people_say(self, texts: Sequence[str]) -> None:
        await self.side.until(self.side.is_connected, 10)
        for text in texts:
            self.side.say(self.chat, text)
            self._last = self.simulator.sockets.open[-1].payload

    async def redeliver(self) -> None:
        self.simulator.inject(self._last)
