"""Asks Discord who the bot is, until it says so. What is kept of the answer is `translate.BotIdentity`."""

from channels.base import ChannelState, Sink
from channels.discord.config import DiscordAccount
from channels.discord.error_mapping import CLOSE_WORDS, ApiRefusal, Pause, backoff_s
from channels.discord.translate import BotIdentity
from channels.discord.wire import DiscordWire
from channels.errors import ChannelError, ConfigRefused

BACKOFF_S = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)


async def identify(config: DiscordAccount, wire: DiscordWire, sink: Sink, pause: Pause) -> BotIdentity:
    """Who we are; asked until Discord says it.

    Raises:
        ConfigRefused: it refuses the token; health was told.
    """
    failures = 0
    while True:
        try:
            return await wire.identify()
        except ApiRefusal as refusal:
            if refusal.status == 401:
                words = CLOSE_WORDS[4004].format(account=config.name)
                sink.report(ChannelState.FAILED, words)
                raise ConfigRefused(words) from None
            detail = f"Discord refuses to say who we are: {refusal}"
        except ChannelError as error:
            detail = f"Discord cannot be reached: {error}"
        failures += 1
        sink.report(ChannelState.DEGRADED, detail)
        await pause(backoff_s(BACKOFF_S, failures))
