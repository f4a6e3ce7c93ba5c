"""Identity of a bot account, asked from Discord by oauth2/applications/@me."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from channels.base import Sink
from channels.chat.refusals import ApiRefusal
from channels.chat.retrying import Backoff, CallFailure, PersistentCaller
from channels.clocks import Sleep
from channels.discord.error_mapping import CLOSE_WORDS
from channels.errors import ChannelError, ConfigRefused

BACKOFF = Backoff((1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0))


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """The ids of a bot, and its account."""

    account: str  # its name in the configuration
    user_id: str
    application_id: str


async def identify(account: str, ask: Callable[[], Awaitable[BotIdentity]], sink: Sink, sleep: Sleep) -> BotIdentity:
    """Ask until it is answered, and return the bot's identity.

    Raises:
        ConfigRefused: Discord refuses the token; health is already FAILED.
    """

    def explain(error: Exception) -> CallFailure:
        if not isinstance(error, ApiRefusal):
            return CallFailure(f"Discord cannot be reached: {error}")
        fatal = ConfigRefused(CLOSE_WORDS[4004].format(account=account)) if error.status == 401 else None
        return CallFailure(f"Discord refuses to say who we are: {error}", fatal=fatal)

    caller = PersistentCaller(account, sink, sleep, BACKOFF, "identify_failed")
    return await caller.call_until_ok(ask, explain, (ApiRefusal, ChannelError))
