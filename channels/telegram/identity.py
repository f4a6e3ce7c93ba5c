"""Identity of a bot account, asked from Telegram by getMe."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from channels.chat.retrying import CallFailure
from channels.foreign import whole_of

if TYPE_CHECKING:  # translating needs the identity, and no SDK
    from channels.telegram.wire import BotApiCaller


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """The bot's id and name from getMe, and the account's name in the configuration."""

    account: str
    bot_id: int
    username: str  # without @, any case


async def identify(account: str, caller: "BotApiCaller", timeout_s: float) -> BotIdentity:
    """Call getMe until it is answered, and return the bot's identity.

    Raises:
        ConfigRefused: Telegram refuses the token; health is already FAILED.
    """
    while True:
        me = await caller.call_until_ok("getMe", {}, timeout_s=timeout_s, patience=1)
        if isinstance(me, dict):
            bot_id, username = whole_of(me.get("id")), me.get("username")
            if bot_id is not None and isinstance(username, str):
                return BotIdentity(account, bot_id, username)
        await caller.report_and_wait(CallFailure("Telegram's answer to getMe names no bot"))
