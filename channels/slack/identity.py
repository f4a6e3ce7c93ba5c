"""Identity of a bot account, asked from Slack by auth.test, and a check of its scopes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from channels.base import Sink
from channels.chat.refusals import ApiRefusal
from channels.chat.retrying import Backoff, CallFailure, PersistentCaller
from channels.clocks import Sleep
from channels.errors import ChannelError, Unknown
from channels.foreign import JsonObject, words_of
from channels.slack.config import SlackAccount
from channels.slack.error_mapping import MISSING_SCOPE, config_refused, is_operators_matter, refusal_of, where_to_mend

if TYPE_CHECKING:  # translating needs the identity, and no SDK
    from channels.slack.wire import SlackWire

BACKOFF = Backoff((0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0))
ID_CHARS = 64
NEEDED = "chat:write"
WANTED = {
    "im:history": "direct messages",
    "app_mentions:read": "mentions in channels",
    "channels:history": "threads in public channels, and missed messages",
    "commands": "slash commands",
    "reactions:write": "reactions",
    "files:read": "files that people send",
    "files:write": "files to people",
    "im:write": "private answers after a slash command's response URL has expired",
    "users:read": "names: people are shown by their ids",
}
"""Scopes, and the features that need them."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """The bot's ids from auth.test, and the account's name in the configuration."""

    account: str
    team: str
    user: str  # the bot's user id
    bot_id: str  # its bot id, which its messages carry
    answer_in_threads: bool = True
    name: str = ""  # the bot user's, as people mention it


async def identify(config: SlackAccount, wire: "SlackWire", sink: Sink, sleep: Sleep) -> BotIdentity:
    """Call auth.test until it is answered, and return the bot's identity.

    Raises:
        ConfigRefused: the bot token is refused, or lacks `chat:write`; health is already FAILED.
    """

    async def ask() -> BotIdentity:
        return _to_identity(config, await wire.post("auth.test", {}))

    def explain(error: Exception) -> CallFailure:
        if not isinstance(error, ApiRefusal):
            return CallFailure(f"Slack cannot be reached: {error}")
        fatal = config_refused(config.name, error) if is_operators_matter(error) else None
        return CallFailure(f"Slack refuses auth.test ({error})", error.retry_after_s, fatal)

    caller = PersistentCaller(config.name, sink, sleep, BACKOFF, "identify_failed")
    return await caller.call_until_ok(ask, explain, (ApiRefusal, ChannelError))


def _to_identity(config: SlackAccount, answer: JsonObject) -> BotIdentity:
    _check_scopes(config, answer.get("x_oauth_scopes"))
    team, user, bot_id = (words_of(answer.get(key) or "", ID_CHARS) for key in ("team_id", "user_id", "bot_id"))
    if not team or not user:
        raise Unknown("auth.test names no bot")
    return BotIdentity(config.name, team, user, bot_id, config.answer_in_threads, words_of(answer.get("user") or ""))


def _check_scopes(config: SlackAccount, header: object) -> None:
    """Refuse a token that may not write; log the other missing scopes."""
    if not isinstance(header, str) or not header.strip():
        return  # unknown: each call reports a missing scope
    scopes = {scope.strip() for scope in header.split(",")}
    if NEEDED not in scopes:
        raise config_refused(config.name, refusal_of("auth.test", MISSING_SCOPE, needed=NEEDED))
    for scope, what in WANTED.items():
        if scope not in scopes:
            mend = where_to_mend(refusal_of("auth.test", MISSING_SCOPE, needed=scope))
            _log.warning("scope_missing", account=config.name, scope=scope, without_it_no=what, mend=mend)
