"""Receiving by webhook: Telegram posts each update to the gateway's HTTP server, which answers 200 after the commit.

Telegram posts a chat's updates in order and repeats every one that is not answered 2xx. A malformed update is answered
200 as well, or it would block its chat for a day. The HTTP server limits body size, Host and slow senders.
"""

import asyncio
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

import structlog
from aiohttp import web
from pydantic import JsonValue

from channels.base import ChannelState, NotPersisted, Sink
from channels.chat.refusals import ApiRefusal
from channels.clocks import Clock, Sleep
from channels.foreign import decode_json
from channels.telegram.config import TelegramAccount
from channels.telegram.identity import BotIdentity, identify
from channels.telegram.raw import ALLOWED_UPDATES
from channels.telegram.receiving import CallbackAnswerer, translate_updates
from channels.telegram.wire import BotApiCaller, TelegramWire

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105  the name of a header, not a secret
RETRY_AFTER_S = 2
CHECK_S = 60.0  # between checks of the webhook
MOST_REFUSALS = 3  # consecutive 401 answers that end the channel

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Running:
    """The objects a request needs while the channel runs."""

    sink: Sink
    bot: BotIdentity
    answerer: CallbackAnswerer


class WebhookReceiver:
    """Receives updates of one bot by webhook; `handle` answers 503 unless `run` is running."""

    def __init__(self, config: TelegramAccount, wire: TelegramWire, *, sleep: Sleep, clock: Clock) -> None:
        self._config = config
        self._wire = wire
        self._sleep = sleep
        self._clock = clock
        self._running: _Running | None = None
        self.opened = asyncio.Event()  # set while updates are accepted
        secret = config.webhook_secret.get_secret_value() if config.webhook_secret else ""
        self._secret = secret.encode()

    async def run(self, sink: Sink) -> None:
        """Accept updates until cancelled.

        Raises:
            ConfigRefused: Telegram refuses the token; health is already FAILED.
        """
        caller = BotApiCaller(self._config, self._wire, sink, self._sleep, explain_refusal)
        bot = await identify(self._config.name, caller, self._config.call_timeout_s)
        try:
            async with asyncio.TaskGroup() as tasks:
                self._running = _Running(sink, bot, CallbackAnswerer(self._config, self._wire, tasks))
                self.opened.set()
                sink.report(ChannelState.READY)
                await asyncio.Event().wait()
        finally:
            self._running = None
            self.opened.clear()

    async def handle(self, request: web.Request) -> web.Response:
        """Commit one posted update and answer it.

        401 without the secret; 415 and 400 if it is no JSON object; 503 if it cannot be stored; else 200.
        """
        if not self._knows_secret(request):
            return web.Response(status=401, text="the secret token is missing or wrong\n")
        if request.content_type != "application/json":
            return web.Response(status=415, text="an update is application/json\n")
        update = decode_json(await request.read())
        if not isinstance(update, dict):
            return web.Response(status=400, text="an update is a JSON object\n")
        return await self._commit(update)

    def _knows_secret(self, request: web.Request) -> bool:
        """Compare the secret in constant time, as bytes: a header may hold anything."""
        given = request.headers.getall(SECRET_HEADER, [])
        shown = given[0].encode("utf-8", "surrogateescape") if len(given) == 1 else b""
        return bool(self._secret) and hmac.compare_digest(shown, self._secret)

    async def _commit(self, update: dict[str, JsonValue]) -> web.Response:
        """Commit the events, then answer 200."""
        running = self._running
        if running is None:
            return _unavailable()
        events, rejected = translate_updates([update], running.bot, self._clock())
        if events or rejected:
            try:
                await running.sink.receive(events, rejected=rejected)
            except NotPersisted:
                running.sink.report(ChannelState.DEGRADED, "the store takes no messages; Telegram brings them again")
                return _unavailable()
            running.answerer.answer(events)
        return web.Response(text="")


class WebhookWatch:
    """Sets the webhook and watches it; one process does so for all that accept updates."""

    def __init__(
        self, config: TelegramAccount, wire: TelegramWire, opened: asyncio.Event, *, sleep: Sleep, clock: Clock
    ) -> None:
        """Take `opened`, which is set while this process accepts updates."""
        self._config = config
        self._wire = wire
        self._opened = opened
        self._sleep = sleep
        self._clock = clock

    async def run(self, sink: Sink) -> None:
        """Set the webhook and watch it until cancelled.

        Raises:
            ConfigRefused: Telegram refuses the token; health is already FAILED.
        """
        await self._opened.wait()  # the first update may come before setWebhook is answered
        caller = BotApiCaller(self._config, self._wire, sink, self._sleep, explain_refusal)
        await self._set(caller)
        sink.report(ChannelState.READY)
        while True:
            await self._sleep(CHECK_S)
            await self._check(caller, sink)

    async def _set(self, caller: BotApiCaller) -> None:
        """Set the webhook and its secret; Telegram keeps pending updates."""
        body: dict[str, JsonValue] = {
            "url": self._config.webhook_target,
            "secret_token": self._config.webhook_secret.get_secret_value() if self._config.webhook_secret else "",
            "max_connections": self._config.webhook_connections,
            "allowed_updates": list(ALLOWED_UPDATES),
        }
        await self._ask(caller, "setWebhook", body)
        _log.info("webhook_set", account=self._config.name, url=self._config.webhook_target)

    async def _check(self, caller: BotApiCaller, sink: Sink) -> None:
        """Report the webhook's state to health; set it again if it was removed, leave another program's alone."""
        info = await self._ask(caller, "getWebhookInfo", {})
        state = info if isinstance(info, dict) else {}
        url = state.get("url")
        if not url:
            await self._set(caller)
            sink.report(ChannelState.READY)
        elif url != self._config.webhook_target:
            words = f"another program took this bot's updates to {url}; stop it, then restart the gateway"
            sink.report(ChannelState.DEGRADED, words)
        elif self._has_failed(state):
            why = state.get("last_error_message")
            sink.report(ChannelState.DEGRADED, f"Telegram cannot bring updates to {url}: {why}")
        else:
            sink.report(ChannelState.READY)

    def _has_failed(self, state: Mapping[str, JsonValue]) -> bool:
        """Return True if updates are pending and a delivery failed recently."""
        failed_at = state.get("last_error_date")
        lately = isinstance(failed_at, int) and failed_at > self._clock().timestamp() - 2 * CHECK_S
        return lately and bool(state.get("pending_update_count"))

    async def _ask(self, caller: BotApiCaller, method: str, body: dict[str, JsonValue]) -> JsonValue:
        timeout_s = self._config.call_timeout_s
        return await caller.call_until_ok(method, body, timeout_s=timeout_s, patience=MOST_REFUSALS)


def _unavailable() -> web.Response:
    return web.Response(status=503, headers={"Retry-After": str(RETRY_AFTER_S)}, text="not now\n")


def explain_refusal(refusal: ApiRefusal) -> str:
    """Return the meaning of a refused webhook, and what the operator can do."""
    words = str(refusal)
    if refusal.status == 400:
        return f"Telegram refuses the webhook; see webhook_url in the configuration ({words})"
    return f"Telegram refuses to set the webhook ({words})"
