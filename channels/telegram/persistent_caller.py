"""Calls that receiving cannot do without, made until they are answered well; health is told of every other answer."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import structlog
from pydantic import JsonValue

from channels.base import ChannelState, Sink
from channels.errors import ChannelError, ConfigRefused, Retryable
from channels.foreign import LONGEST_WAIT_S, whole_of
from channels.telegram.config import TelegramAccount
from channels.telegram.decoding import JsonObject
from channels.telegram.error_mapping import ApiRefusal
from channels.telegram.translate import BotIdentity
from channels.telegram.wire import TelegramWire

Pause = Callable[[float], Awaitable[None]]
Clock = Callable[[], datetime]
Explain = Callable[[ApiRefusal], str]

BACKOFF_S = (1.0, 2.0, 4.0, 5.0)  # between calls that went wrong

_log = structlog.get_logger()


def step(ladder: Sequence[float], attempt: int) -> float:
    """The wait after failure number `attempt`, counted from 1; the last one is repeated."""
    return ladder[min(attempt, len(ladder)) - 1]


class PersistentCaller:
    """Asks for one bot, on behalf of one way of receiving."""

    def __init__(self, config: TelegramAccount, wire: TelegramWire, sink: Sink, pause: Pause, explain: Explain) -> None:
        """`explain` says what a refusal means and what the operator can do."""
        self._config = config
        self._wire = wire
        self._sink = sink
        self._pause = pause
        self._explain = explain

    async def introduce(self) -> BotIdentity:
        """Who we are, by getMe.

        Raises:
            ConfigRefused: Telegram refuses the token; health was told.
        """
        while True:
            me = await self.call_until_ok("getMe", {}, timeout_s=self._config.call_timeout_s, patience=1)
            if isinstance(me, dict):
                bot_id, username = whole_of(me.get("id")), me.get("username")
                if bot_id is not None and isinstance(username, str):
                    return BotIdentity(self._config.name, bot_id, username)
            await self.report_and_wait("Telegram's answer to getMe names no bot", 1)

    async def call_until_ok(self, method: str, body: JsonObject, *, timeout_s: float, patience: int) -> JsonValue:
        """Call until it is answered well; `patience` is how many refusals of the token in a row are taken.

        Raises:
            ConfigRefused: Telegram refuses the token; health was told.
        """
        failures = refusals = 0
        while True:
            failures += 1
            try:
                result = await self._wire.call(method, body, timeout_s=timeout_s)
            except ApiRefusal as refusal:
                refusals = refusals + 1 if refusal.status in (401, 404) else 0
                if refusals >= patience:
                    raise self._token_refused(refusal) from None
                await self.report_and_wait(self._explain(refusal), failures, refusal.retry_after_s)
            except ChannelError as error:
                refusals = 0
                wait_s = error.retry_after_s if isinstance(error, Retryable) else None
                reached = "Telegram cannot be reached" if isinstance(error, Retryable) else "Telegram does not answer"
                await self.report_and_wait(f"{reached}: {error}", failures, wait_s)
            else:
                return result

    def _token_refused(self, refusal: ApiRefusal) -> ConfigRefused:
        """Tell health, then end."""
        words = (
            f"Telegram refuses the token of account {self._config.name!r} ({refusal.status} {refusal.description}):"
            " put the one @BotFather shows into the configuration, then restart"
        )
        self._sink.report(ChannelState.FAILED, words)
        return ConfigRefused(words)

    async def report_and_wait(self, detail: str, failures: int, wait_s: float | None = None) -> None:
        """Tell health and wait before the next try, at least as long as Telegram asks for, but for an hour at most."""
        pause_s = max(step(BACKOFF_S, failures), min(wait_s or 0.0, LONGEST_WAIT_S))
        self._sink.report(ChannelState.DEGRADED, detail)
        _log.warning("telegram_call_failed", account=self._config.name, detail=detail, retry_in_s=pause_s)
        await self._pause(pause_s)
