"""Receiving by webhook: Telegram brings each update to the gateway's HTTP server and is told 200 once it is committed.

Telegram brings a chat's updates one after another and repeats what is not answered 2xx; so order and redelivery are
its work, and one update that cannot be understood is answered 200 all the same, or it would block its chat for a day.
The size of a body, the Host and slow senders are the server's matter.
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
CHECK_S = 60.0  # between looks at how Telegram gets on with the webhook
REFUSALS_BELIEVED = 3  # as in `polling`

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Open:
    """What a request needs while the channel runs."""

    sink: Sink
    bot: BotIdentity
    answerer: CallbackAnswerer


class WebhookReceiver:
    """Takes updates for one bot; `handle` answers 503 before `run` is ready, and after it ended."""

    def __init__(self, config: TelegramAccount, wire: TelegramWire, *, sleep: Sleep, clock: Clock) -> None:
        """`sleep` waits so many seconds; `clock` gives aware UTC."""
        self._config = config
        self._wire = wire
        self._sleep = sleep
        self._clock = clock
        self._open: _Open | None = None
        self.opened = asyncio.Event()  # set while updates are taken
        secret = config.webhook_secret.get_secret_value() if config.webhook_secret else ""
        self._secret = secret.encode()

    async def run(self, sink: Sink) -> None:
        """Take updates until cancelled.

        Raises:
            ConfigRefused: Telegram refuses the token; health was told.
        """
        caller = BotApiCaller(self._config, self._wire, sink, self._sleep, explain_refusal)
        bot = await identify(self._config.name, caller, self._config.call_timeout_s)
        try:
            async with asyncio.TaskGroup() as tasks:
                self._open = _Open(sink, bot, CallbackAnswerer(self._config, self._wire, tasks))
                self.opened.set()
                sink.report(ChannelState.READY)
                await asyncio.Event().wait()
        finally:
            self._open = None
            self.opened.clear()

    async def handle(self, request: web.Request) -> web.Response:
        """One update from Telegram, or from somebody who says so.

        401 without the secret; 415 and 400 for what is no JSON object; 503 while it cannot be kept; else 200.
        """
        if not self._knows_secret(request):
            return web.Response(status=401, text="the secret token is missing or wrong\n")
        if request.content_type != "application/json":
            return web.Response(status=415, text="an update is application/json\n")
        update = decode_json(await request.read())
        if not isinstance(update, dict):
            return web.Response(status=400, text="an update is a JSON object\n")
        return await self._take(update)

    def _knows_secret(self, request: web.Request) -> bool:
        """Compared in constant time, on bytes: a header may hold anything (A13)."""
        given = request.headers.getall(SECRET_HEADER, [])
        shown = given[0].encode("utf-8", "surrogateescape") if len(given) == 1 else b""
        return bool(self._secret) and hmac.compare_digest(shown, self._secret)

    async def _take(self, update: dict[str, JsonValue]) -> web.Response:
        """Commit, then say so."""
        held = self._open
        if held is None:
            return _later()
        events, rejected = translate_updates([update], held.bot, self._clock())
        if events or rejected:
            try:
                await held.sink.receive(events, rejected=rejected)
            except NotPersisted:
                held.sink.report(ChannelState.DEGRADED, "the store takes no messages; Telegram brings them again")
                return _later()
            held.answerer.answer(events)
        return web.Response(text="")


class WebhookWatch:
    """Tells Telegram where to bring updates, and checks that it does; one process watches for all that take updates."""

    def __init__(
        self, config: TelegramAccount, wire: TelegramWire, opened: asyncio.Event, *, sleep: Sleep, clock: Clock
    ) -> None:
        """`opened` is set while this process takes updates."""
        self._config = config
        self._wire = wire
        self._opened = opened
        self._sleep = sleep
        self._clock = clock

    async def run(self, sink: Sink) -> None:
        """Set the webhook and watch it until cancelled.

        Raises:
            ConfigRefused: Telegram refuses the token; health was told.
        """
        await self._opened.wait()  # the first update may come before setWebhook is answered
        caller = BotApiCaller(self._config, self._wire, sink, self._sleep, explain_refusal)
        await self._set(caller)
        sink.report(ChannelState.READY)
        while True:
            await self._sleep(CHECK_S)
            await self._look(caller, sink)

    async def _set(self, caller: BotApiCaller) -> None:
        """Tell Telegram where to bring updates, and with which secret. What waits there is kept."""
        body: dict[str, JsonValue] = {
            "url": self._config.webhook_target,
            "secret_token": self._config.webhook_secret.get_secret_value() if self._config.webhook_secret else "",
            "max_connections": self._config.webhook_connections,
            "allowed_updates": list(ALLOWED_UPDATES),
        }
        await self._ask(caller, "setWebhook", body)
        _log.info("webhook_set", account=self._config.name, url=self._config.webhook_target)

    async def _look(self, caller: BotApiCaller, sink: Sink) -> None:
        """Tell health how Telegram gets on; a webhook that was taken away is set again, another's is left alone."""
        info = await self._ask(caller, "getWebhookInfo", {})
        standing = info if isinstance(info, dict) else {}
        url = standing.get("url")
        if not url:
            await self._set(caller)
            sink.report(ChannelState.READY)
        elif url != self._config.webhook_target:
            words = f"another program took this bot's updates to {url}; stop it, then restart the gateway"
            sink.report(ChannelState.DEGRADED, words)
        elif self._fails(standing):
            why = standing.get("last_error_message")
            sink.report(ChannelState.DEGRADED, f"Telegram cannot bring updates to {url}: {why}")
        else:
            sink.report(ChannelState.READY)

    def _fails(self, standing: Mapping[str, JsonValue]) -> bool:
        """Whether something waits there because it could not be brought lately."""
        failed_at = standing.get("last_error_date")
        lately = isinstance(failed_at, int) and failed_at > self._clock().timestamp() - 2 * CHECK_S
        return lately and bool(standing.get("pending_update_count"))

    async def _ask(self, caller: BotApiCaller, method: str, body: dict[str, JsonValue]) -> JsonValue:
        timeout_s = self._config.call_timeout_s
        return await caller.call_until_ok(method, body, timeout_s=timeout_s, patience=REFUSALS_BELIEVED)


def _later() -> web.Response:
    return web.Response(status=503, headers={"Retry-After": str(RETRY_AFTER_S)}, text="not now\n")


def explain_refusal(refusal: ApiRefusal) -> str:
    """What a refused webhook means, and what the operator can do."""
    words = str(refusal)
    if refusal.status == 400:
        return f"Telegram refuses the webhook; see webhook_url in the configuration ({words})"
    return f"Telegram refuses to set the webhook ({words})"
