"""The methods that set, take away and describe a bot's webhook; bringing updates to it is `pushing`'s work.

Rules and words: tdlib/telegram-bot-api `WebhookActor` and `Client::process_set_webhook_query` (2026-09).
"""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from pydantic import JsonValue

from channels.simulators.telegram.checks import JsonObject, Refusal
from channels.simulators.telegram.params import Params
from channels.simulators.telegram.state import Bot, Method, Webhook

_SECRET = re.compile("[A-Za-z0-9_-]{0,256}")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})  # where a simulator may call without TLS


class HookMethods:
    """Carries out what bots ask for about webhooks."""

    def __init__(self, changed: Callable[[Bot], None]) -> None:
        """`changed` is called when a bot has another webhook."""
        self._changed = changed

    def table(self) -> dict[str, Method]:
        """The methods by name."""
        return {
            "setWebhook": self._set,
            "deleteWebhook": self._delete,
            "getWebhookInfo": self._info,
        }

    def _set(self, bot: Bot, params: Params) -> JsonValue:
        url = params.text("url")
        if not url:
            return self._delete(bot, params)
        wanted = _webhook(url, params)
        if params.flag("drop_pending_updates"):
            bot.updates.expire_all()
        bot.updates.allow(params.json("allowed_updates"))
        bot.updates.end_poll("Conflict: terminated by setWebhook request")
        now = bot.webhook
        if now is None or (now.url, now.secret_token, now.max_connections) != (
            wanted.url,
            wanted.secret_token,
            wanted.max_connections,
        ):
            self._replace(bot, wanted)
        return True

    def _delete(self, bot: Bot, params: Params) -> JsonValue:
        if params.flag("drop_pending_updates"):
            bot.updates.expire_all()
        self._replace(bot, None)
        return True

    def _replace(self, bot: Bot, webhook: Webhook | None) -> None:
        if bot.webhook is not None:
            bot.webhook.gone.set()
        bot.webhook = webhook
        self._changed(bot)

    def _info(self, bot: Bot, params: Params) -> JsonValue:
        hook = bot.webhook
        info: JsonObject = {
            "url": hook.url if hook else "",
            "has_custom_certificate": False,
            "pending_update_count": len(bot.updates),
        }
        if hook is not None:
            info["max_connections"] = hook.max_connections
            if hook.last_error_at is not None:
                info |= {"last_error_date": hook.last_error_at, "last_error_message": hook.last_error}
        return info


def _webhook(url: str, params: Params) -> Webhook:
    """What setWebhook asks for.

    Raises:
        Refusal: Telegram would not take it.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise Refusal(400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook")
    secret, connections = params.text("secret_token"), params.integer("max_connections")
    if not _SECRET.fullmatch(secret):
        raise Refusal(400, "Bad Request: secret token contains unallowed characters")
    return Webhook(url, secret, min(max(40 if connections is None else connections, 1), 100))
