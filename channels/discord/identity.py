"""Asks Discord who the bot is, until it says so. What is kept of the answer is `translate.BotIdentity`."""

from channels.base import Sink
from channels.clocks import Sleep
from channels.discord.config import DiscordAccount
from channels.discord.error_mapping import CLOSE_WORDS, ApiRefusal
from channels.discord.translate import BotIdentity
from channels.discord.wire import DiscordWire
from channels.errors import ChannelError, ConfigRefused
from channels.retrying import Backoff, CallFailure, PersistentCaller

BACKOFF = Backoff((1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0))


async def identify(config: DiscordAccount, wire: DiscordWire, sink: Sink, sleep: Sleep) -> BotIdentity:
    """Who we are; asked until Discord says it.

    Raises:
        ConfigRefused: it refuses the token; health was told.
    """

    def explain(error: Exception) -> CallFailure:
        if not isinstance(error, ApiRefusal):
            return CallFailure(f"Discord cannot be reached: {error}")
        fatal = ConfigRefused(CLOSE_WORDS[4004].format(account=config.name)) if error.status == 401 else None
        return CallFailure(f"Discord refuses to say who we are: {error}", fatal=fatal)

    caller = PersistentCaller(config.name, sink, sleep, BACKOFF, "introduction_failed")
    return await caller.call_until_ok(wire.identify, explain, (ApiRefusal, ChannelError))
