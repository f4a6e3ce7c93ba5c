"""Asks Discord which bot an account is, by oauth2/applications/@me, and how many shards it wants of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from channels.base import Sink
from channels.clocks import Sleep
from channels.discord.config import DiscordAccount
from channels.discord.error_mapping import CLOSE_WORDS, ApiRefusal
from channels.discord.sharding import GatewayInfo
from channels.errors import ChannelError, ConfigRefused
from channels.retrying import Backoff, CallFailure, PersistentCaller

T = TypeVar("T")

BACKOFF = Backoff((1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0))


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """Which bot this is."""

    account: str  # its name in the configuration
    user_id: str
    application_id: str


async def identify(account: str, ask: Callable[[], Awaitable[BotIdentity]], sink: Sink, sleep: Sleep) -> BotIdentity:
    """Who we are; asked until Discord says it.

    Raises:
        ConfigRefused: it refuses the token; health was told.
    """
    return await _ask_until_told("who we are", account, ask, sink, sleep)


async def count_shards(
    config: DiscordAccount, ask: Callable[[], Awaitable[GatewayInfo]], sink: Sink, sleep: Sleep
) -> int:
    """How many shards there are to be; where Discord is to say it, it is asked until it does. Raises as `identify`."""
    if config.shards != "auto":
        return config.shards
    return (await _ask_until_told("how many shards it wants", config.name, ask, sink, sleep)).shards


async def _ask_until_told(what: str, account: str, ask: Callable[[], Awaitable[T]], sink: Sink, sleep: Sleep) -> T:
    def explain(error: Exception) -> CallFailure:
        if not isinstance(error, ApiRefusal):
            return CallFailure(f"Discord cannot be reached: {error}")
        fatal = ConfigRefused(CLOSE_WORDS[4004].format(account=account)) if error.status == 401 else None
        return CallFailure(f"Discord refuses to say {what}: {error}", fatal=fatal)

    caller = PersistentCaller(account, sink, sleep, BACKOFF, "introduction_failed")
    return await caller.call_until_ok(ask, explain, (ApiRefusal, ChannelError))
