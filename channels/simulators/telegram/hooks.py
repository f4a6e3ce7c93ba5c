"""The methods that set, take away and describe a bot's webhook, and the client that brings updates to it.

Rules and words: tdlib/telegram-bot-api `WebhookActor` and `Client::process_set_webhook_query` (2026-09).
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

import aiohttp
from pydantic import JsonValue

from channels.simulators.shared.faults import FaultScript
from channels.simulators.shared.world import JsonObject
from channels.simulators.telegram.checks import Refusal
from channels.simulators.telegram.params import Params
from channels.simulators.telegram.state import Bot, Method, Webhook
from channels.simulators.telegram.updates import Queued

_SECRET = re.compile("[A-Za-z0-9_-]{0,256}")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})  # where a simulator may call without TLS


class HookMethods:
    """Carries out what bots ask for about webhooks."""

    def __init__(self, changed: Callable[[Bot], None]) -> None:
        """Take what is called when a bot has another webhook."""
        self._changed = changed
        self.table: Mapping[str, Method] = {
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
    """Return the webhook that setWebhook asks for.

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


TIMEOUT_S = 60.0
LONGEST_WAIT_S = 60.0  # up to twice that, by update
LONGEST_RETRY_AFTER_S = 3600.0
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105  the name of a header, not a secret


class Pusher:
    """Brings updates for every bot that has a webhook, while `run` runs."""

    def __init__(self, faults: FaultScript, changed: Callable[[], None], *, time_scale: float) -> None:
        """Take the script in force, what is called on a change, and a factor for the waits between attempts."""
        self._faults = faults
        self._changed = changed
        self._time_scale = time_scale
        self._tasks: asyncio.TaskGroup | None = None
        self._http: aiohttp.ClientSession | None = None
        self._busy: set[tuple[int, str]] = set()  # (bot, chat) with something on its way
        self._slots: dict[int, asyncio.Semaphore] = {}

    async def run(self) -> None:
        """Serve until cancelled."""
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with (
            aiohttp.ClientSession(timeout=timeout) as self._http,
            asyncio.TaskGroup() as self._tasks,
        ):
            await asyncio.Event().wait()

    def hook_changed(self, bot: Bot) -> None:
        """Begin with another webhook of a bot's, or none."""
        if bot.webhook is not None:
            self._slots[bot.id] = asyncio.Semaphore(bot.webhook.max_connections)
            for key in bot.updates.keys():  # noqa: SIM118  a method of the queue's own
                self.wake(bot, key)

    def wake(self, bot: Bot, key: str) -> None:
        """Bring what waits in a chat."""
        if bot.webhook is None or self._tasks is None or (bot.id, key) in self._busy:
            return
        self._busy.add((bot.id, key))
        self._tasks.create_task(self._work_off(bot, key))

    async def _work_off(self, bot: Bot, key: str) -> None:
        """Bring what waits in one chat, in order."""
        try:
            while (hook := bot.webhook) is not None and (queued := bot.updates.first(key)) is not None:
                await self._insist(bot, hook, queued)
        finally:
            self._busy.discard((bot.id, key))

    async def _insist(self, bot: Bot, hook: Webhook, queued: Queued) -> None:
        """Bring one update until it is taken, its time is over, or the webhook is another."""
        failures = 0
        while bot.webhook is hook and bot.updates.holds(queued):
            async with self._slots[bot.id]:
                wait_s = await self._bring(hook, queued)
            if wait_s is None:
                bot.updates.remove(queued)
                hook.brought += 1
                self._changed()
                return
            self._changed()
            backoff_s = min(2.0**failures, LONGEST_WAIT_S + queued.update_id % 60) if failures else 0.0
            failures += 1
            await _either(hook.gone, max(backoff_s, wait_s) * self._time_scale)

    async def _bring(self, hook: Webhook, queued: Queued) -> float | None:
        """Try once. Return None if it was taken, else the least wait the bot asked for, in seconds."""
        assert self._http is not None, "only called while running"
        fault = self._faults.due("webhook", None)
        if fault is not None and fault.kind == "delay":
            await asyncio.sleep(fault.delay_s)
        hook.attempts += 1
        if fault is not None and fault.kind == "cut" and not fault.applied:
            return _note_failure(hook, "Connection reset by peer")
        headers = {"Content-Type": "application/json"}
        if hook.secret_token:
            headers[SECRET_HEADER] = hook.secret_token
        try:
            async with self._http.post(hook.url, data=queued.encoded, headers=headers) as answer:
                await answer.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            return _note_failure(hook, f"Connection failed: {type(error).__name__}")
        if not 200 <= answer.status < 300:
            wait = answer.headers.get("Retry-After", "")
            asked_s = float(wait) if wait.isascii() and wait.isdigit() else 0.0
            _note_failure(hook, f"Wrong response from the webhook: {answer.status} {answer.reason}")
            return min(asked_s, LONGEST_RETRY_AFTER_S)
        if fault is not None and fault.kind in {"cut", "duplicate"}:
            return _note_failure(hook, "Connection reset by peer")
        return None


def _note_failure(hook: Webhook, why: str) -> float:
    hook.last_error_at, hook.last_error = int(time.time()), why
    return 0.0


async def _either(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, or so long."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
