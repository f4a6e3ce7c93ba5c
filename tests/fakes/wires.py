"""Each platform's channel with its real library on its simulator, and what people see of a send."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from channels.base import Channel
from channels.discord.payloads import SUPPRESS_EMBEDS
from channels.messages import Address, Rendered
from channels.simulators.discord.state import ShownMessage as ShownDiscord
from channels.simulators.slack.state import ShownMessage as ShownSlack
from channels.simulators.telegram.state import ShownMessage as ShownTelegram
from channels.slack.render import MARKDOWN, MRKDWN
from tests.fakes import discord, slack, telegram
from tests.fakes.takers import TAKERS, rich_words
from tests.fakes.telegram_entities import mentioned


@dataclass
class Wire:
    """A running channel with its real SDK, and people's view of its sends."""

    channel: Channel
    address: Address
    seen: Callable[[], Sequence[ShownTelegram | ShownDiscord | ShownSlack]]
    refused: Callable[[], int]  # calls that the platform did not carry out


@asynccontextmanager
async def _telegram() -> AsyncIterator[Wire]:
    async with telegram.telegram() as rig:
        rig.simulator.add_chat(1, "private")
        yield Wire(rig.channel, Address("telegram", "main", "1"), lambda: rig.simulator.answers(1), _refusals(rig))


@asynccontextmanager
async def _rich_telegram() -> AsyncIterator[Wire]:
    async with telegram.telegram(rich=True) as rig:
        rig.simulator.add_chat(1, "private")
        yield Wire(rig.channel, Address("telegram", "main", "1"), lambda: rig.simulator.answers(1), _refusals(rig))


@asynccontextmanager
async def _discord() -> AsyncIterator[Wire]:
    async with discord.discord() as rig, rig.running():
        yield Wire(rig.channel, discord.HOME, lambda: rig.simulator.answers(1), _refusals(rig))


@asynccontextmanager
async def _slack(text_format: str) -> AsyncIterator[Wire]:
    async with slack.slack(text_format=text_format) as rig, rig.running():
        rig.simulator.say("D1", "hello")
        yield Wire(rig.channel, Address("slack", "main", "D1"), lambda: rig.simulator.answers("D1"), _refusals(rig))


def _refusals(rig: telegram.Rig | discord.Rig | slack.Rig) -> Callable[[], int]:
    return lambda: sum(call.status >= 400 or not call.applied for call in rig.simulator.history())


WIRES = dict(
    zip(
        [taker.name for taker in TAKERS],
        [_telegram, _rich_telegram, _discord, partial(_slack, MARKDOWN), partial(_slack, MRKDWN)],
        strict=True,
    )
)


def is_loud(one: ShownTelegram | ShownDiscord | ShownSlack) -> bool:
    """Return True if the text would notify people, or let the platform fetch a link."""
    if isinstance(one, ShownTelegram) and one.blocks:
        return bool(mentioned(Rendered(rich_words(list(one.blocks)))))
    if isinstance(one, ShownTelegram):
        return one.preview or bool(mentioned(Rendered(one.text, json.dumps(one.entities) if one.entities else None)))
    if isinstance(one, ShownDiscord):
        return bool(one.pings) or not one.flags & SUPPRESS_EMBEDS
    return bool(one.pings) or one.unfurls
