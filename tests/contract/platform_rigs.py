"""Telegram, Discord and Slack through their simulators, with the real SDKs' wires."""

import asyncio
from collections.abc import Sequence

import orjson

from channels.base import Channel
from channels.messages import Address, OutboundPart, Rendered
from channels.simulators.discord import faults as discord_faults
from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.slack import faults as slack_faults
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.telegram.faults import Fault
from channels.simulators.telegram.server import TelegramSimulator
from channels.slack.adapter import SlackChannel
from channels.slack.render import MARKDOWN
from channels.telegram.adapter import TelegramChannel
from channels.telegram.config import TelegramAccount
from tests.contract.channel_rig import Rig, Trouble
from tests.fakes import discord, slack


async def briefly(_seconds: float) -> None:
    """A wait that is over soon."""
    await asyncio.sleep(0.01)


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
        return TelegramChannel(account, sleep=briefly)

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


class DiscordRig(Rig):
    """A direct conversation. What is acknowledged is told by the committed sequence number: a resume begins there."""

    name = "discord"

    async def open(self) -> None:
        self.simulator = await self._stack.enter_async_context(DiscordSimulator())
        self.simulator.add_bot(discord.TOKEN, bot_id=discord.BOT_ID)
        self.simulator.world.dm(self.simulator.world.bot(), 1, 1)
        self._said: list[int] = []  # sequence numbers

    async def make(self) -> Channel:
        return discord.channel_of(discord.account(self.simulator), sleep=briefly)

    @property
    def address(self) -> Address:
        return Address("discord", "main", "1")

    @property
    def _session(self):
        return next(iter(self.simulator.world.bot().sessions.live()))

    async def people_say(self, texts: Sequence[str]) -> None:
        await self.simulator.until(lambda: self.simulator.world.bot().sessions.connected)
        await self.sink.until(lambda: self.sink.committed is not None)
        for text in texts:
            self.simulator.say(1, text)
            number, self._last = self._session.events[-1]
            self._said.append(number)

    async def redeliver(self) -> None:
        self.simulator.inject("MESSAGE_CREATE", orjson.dumps(orjson.loads(self._last)["d"]))

    def unacknowledged(self) -> int:
        committed = orjson.loads(self.sink.committed or "{}").get("session") or {"seq": 0}
        return sum(number > committed["seq"] for number in self._said)

    def sent_texts(self) -> list[str]:
        return [message.text for message in self.simulator.answers(1)]

    async def fail_next(self, trouble: Trouble) -> None:
        faults = {
            Trouble.RETRYABLE: discord_faults.Fault(
                kind="status", status=429, retry_after_s=600, method="createMessage"
            ),
            Trouble.PERMANENT: discord_faults.Fault(kind="status", status=403, code=50007, method="createMessage"),
            Trouble.UNKNOWN: discord_faults.Fault(kind="cut", applied=True, method="createMessage"),
        }
        self.simulator.faults.script(faults[trouble])


class SlackRig(Rig):
    """A direct message over Socket Mode."""

    name = "slack"

    async def open(self) -> None:
        simulator = SlackSimulator(redeliver_after_s=0.2, retry_after_s=(0.0, 0.05, 0.1))
        self.simulator = await self._stack.enter_async_context(simulator)
        self.simulator.add_app()

    async def make(self) -> Channel:
        return SlackChannel(slack.account(self.simulator), sleep=briefly)

    @property
    def address(self) -> Address:
        return Address("slack", "main", "D1")

    def part(self, text: str, key: str = "0123456789abcdef") -> OutboundPart:
        return OutboundPart(address=self.address, rendered=Rendered(text, MARKDOWN), idem_key=key)

    async def people_say(self, texts: Sequence[str]) -> None:
        await self.simulator.until(lambda: self.simulator.sockets.connected > 0)
        for text in texts:
            self.simulator.say("D1", text)
            self._last = self.simulator.sockets.open[-1].payload

    async def redeliver(self) -> None:
        self.simulator.inject(self._last)

    def unacknowledged(self) -> int:
        return len(self.simulator.sockets.open)

    def sent_texts(self) -> list[str]:
        return [message.text for message in self.simulator.answers("D1")]

    async def fail_next(self, trouble: Trouble) -> None:
        method = "chat.postMessage"
        faults = {
            Trouble.RETRYABLE: slack_faults.Fault(kind="error", error="ratelimited", method=method),
            Trouble.PERMANENT: slack_faults.Fault(kind="error", error="is_archived", method=method),
            Trouble.UNKNOWN: slack_faults.Fault(kind="cut", applied=True, method=method),
        }
        self.simulator.faults.script(faults[trouble])
