"""Who we are, by auth.test, and whether the bot token may do what the channel needs."""

import structlog

from channels.base import ChannelState, Sink
from channels.errors import ChannelError, ConfigRefused, Unknown
from channels.foreign import LONGEST_WAIT_S, words_of
from channels.slack.config import SlackAccount
from channels.slack.error_mapping import BAD_TOKEN, MISSING_SCOPE, ApiRefusal, config_refused, where_to_mend
from channels.slack.receiving import Pause
from channels.slack.translate import BotIdentity
from channels.slack.wire import JsonObject, SlackWire

BACKOFF_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
ID_CHARS = 64
NEEDED = "chat:write"
WANTED = {
    "im:history": "direct messages",
    "app_mentions:read": "mentions in channels",
    "channels:history": "threads in public channels, and what was missed",
    "commands": "slash commands",
    "reactions:write": "signs",
    "files:read": "files that people send",
    "files:write": "files to people",
    "im:write": "private answers to slash commands, once their own way is over",
    "users:read": "names: people are shown by their ids",
}
"""Scopes and what does not work without them."""

_log = structlog.get_logger()


async def identify(config: SlackAccount, wire: SlackWire, sink: Sink, pause: Pause) -> BotIdentity:
    """Ask until it is answered.

    Raises:
        ConfigRefused: the bot token is refused, or misses the scope without which nothing works; health was told.
    """
    failures = 0
    while True:
        failures += 1
        wait_s: float | None = None
        try:
            return _to_identity(config, await wire.post("auth.test", {}))
        except ApiRefusal as refusal:
            if refusal.error in BAD_TOKEN or refusal.error == MISSING_SCOPE:
                raise _report_failed(sink, config_refused(config.name, refusal)) from None
            detail, wait_s = f"Slack refuses auth.test ({refusal})", refusal.retry_after_s
        except ChannelError as error:
            detail = f"Slack cannot be reached: {error}"
        except ConfigRefused as refused:
            raise _report_failed(sink, refused) from None
        pause_s = max(BACKOFF_S[min(failures, len(BACKOFF_S)) - 1], min(wait_s or 0.0, LONGEST_WAIT_S))
        sink.report(ChannelState.DEGRADED, detail)
        _log.warning("introduction_failed", account=config.name, detail=detail, retry_in_s=pause_s)
        await pause(pause_s)


def _report_failed(sink: Sink, refused: ConfigRefused) -> ConfigRefused:
    sink.report(ChannelState.FAILED, str(refused))
    return refused


def _to_identity(config: SlackAccount, answer: JsonObject) -> BotIdentity:
    _check_scopes(config, answer.get("x_oauth_scopes"))
    team, user, bot_id = (words_of(answer.get(key) or "", ID_CHARS) for key in ("team_id", "user_id", "bot_id"))
    if not team or not user:
        raise Unknown("auth.test names no bot")
    return BotIdentity(config.name, team, user, bot_id, config.answer_in_threads, words_of(answer.get("user") or ""))


def _check_scopes(config: SlackAccount, header: object) -> None:
    """Refuse a token that may not write; say what else will not work."""
    if not isinstance(header, str) or not header.strip():
        return  # not told: each call will say so itself
    scopes = {scope.strip() for scope in header.split(",")}
    if NEEDED not in scopes:
        raise config_refused(config.name, ApiRefusal("auth.test", MISSING_SCOPE, needed=NEEDED))
    for scope, what in WANTED.items():
        if scope not in scopes:
            mend = where_to_mend(ApiRefusal("auth.test", MISSING_SCOPE, needed=scope))
            _log.warning("scope_missing", account=config.name, scope=scope, without_it_no=what, mend=mend)
