"""The getUpdates loop: an update is confirmed only after the sink has committed it. Knows nothing of sending."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import structlog
from pydantic import JsonValue

from channels.base import ChannelState, NotPersisted, Sink
from channels.errors import ChannelError, ConfigRefused, Retryable
from channels.messages import InboundEvent, Rejected
from channels.telegram.config import TelegramAccount
from channels.telegram.failures import ApiRefusal
from channels.telegram.raw import ALLOWED_UPDATES
from channels.telegram.translate import Ourselves, translate, update_id_of
from channels.telegram.wire import GetMe, GetUpdates, TelegramWire

Pause = Callable[[float], Awaitable[None]]
Clock = Callable[[], datetime]

BACKOFF_S = (1.0, 2.0, 4.0, 5.0)  # between polls that went wrong
STORE_BACKOFF_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)  # between offers of one batch
REFUSALS_BELIEVED = 3  # so many 401 in a row end the channel; one alone may be a hiccup of Telegram's

_log = structlog.get_logger()


def step(ladder: Sequence[float], attempt: int) -> float:
    """The wait after failure number `attempt`, counted from 1; the last one is repeated."""
    return ladder[min(attempt, len(ladder)) - 1]


class UpdatePoller:
    """Receives for one bot until it is cancelled."""

    def __init__(self, config: TelegramAccount, wire: TelegramWire, sink: Sink, *, pause: Pause, clock: Clock) -> None:
        """`pause` waits so many seconds; `clock` gives aware UTC."""
        self._config = config
        self._wire = wire
        self._sink = sink
        self._pause = pause
        self._clock = clock

    async def run(self) -> None:
        """Poll, hand in, confirm; for ever.

        Raises:
            ConfigRefused: Telegram refuses the token; health was told.
        """
        self._sink.report(ChannelState.STARTING)
        us = await self._introduce()
        offset = int(await self._sink.cursor() or 0)
        while True:
            body: dict[str, JsonValue] = {
                "timeout": self._config.poll_timeout_s,
                "allowed_updates": list(ALLOWED_UPDATES),
            }
            if offset:
                body["offset"] = offset
            watchdog_s = self._config.poll_timeout_s + self._config.poll_grace_s
            batch = await self._insist(GetUpdates, body, timeout_s=watchdog_s, patience=REFUSALS_BELIEVED)
            if not isinstance(batch, list):
                await self._degraded("Telegram's answer to getUpdates is no list", 1)
            elif batch:
                offset = await self._hand_in(batch, us, offset)

    async def _introduce(self) -> Ourselves:
        """Who we are, by getMe."""
        while True:
            me = await self._insist(GetMe, {}, timeout_s=self._config.call_timeout_s, patience=1)
            if isinstance(me, dict):
                bot_id, username = me.get("id"), me.get("username")
                if isinstance(bot_id, int) and isinstance(username, str):
                    return Ourselves(self._config.name, bot_id, username)
            await self._degraded("Telegram's answer to getMe names no bot", 1)

    async def _insist(
        self, kind: type[GetMe | GetUpdates], body: dict[str, JsonValue], *, timeout_s: float, patience: int
    ) -> JsonValue:
        """Call until it is answered well; `patience` is how many refusals of the token in a row are taken."""
        failures = refusals = 0
        while True:
            failures += 1
            try:
                result = await self._wire.call(kind, body, timeout_s=timeout_s)
            except ApiRefusal as refusal:
                refusals = refusals + 1 if refusal.status in (401, 404) else 0
                if refusals >= patience:
                    raise self._token_refused(refusal) from None
                await self._degraded(_explained(refusal), failures, refusal.retry_after_s)
            except ChannelError as error:
                refusals = 0
                reached = "Telegram cannot be reached" if isinstance(error, Retryable) else "Telegram does not answer"
                await self._degraded(f"{reached}: {error}", failures)
            else:
                self._sink.report(ChannelState.READY)
                return result

    def _token_refused(self, refusal: ApiRefusal) -> ConfigRefused:
        """Tell health, then end."""
        words = (
            f"Telegram refuses the token of account {self._config.name!r} ({refusal.status} {refusal.description}):"
            " put the one @BotFather shows into the configuration, then restart"
        )
        self._sink.report(ChannelState.FAILED, words)
        return ConfigRefused(words)

    async def _degraded(self, detail: str, failures: int, wait_s: float | None = None) -> None:
        """Tell health and wait before the next try, at least as long as Telegram asks for."""
        pause_s = max(step(BACKOFF_S, failures), wait_s or 0.0)
        self._sink.report(ChannelState.DEGRADED, detail)
        _log.warning("poll_failed", account=self._config.name, detail=detail, retry_in_s=pause_s)
        await self._pause(pause_s)

    async def _hand_in(self, batch: list[JsonValue], us: Ourselves, offset: int) -> int:
        """Give a batch to the sink until it holds; returns the offset that confirms it."""
        now = self._clock()
        events: list[InboundEvent] = []
        rejected: list[Rejected] = []
        for raw in batch:
            event = translate(raw, us, now)
            if isinstance(event, Rejected):
                _log.warning("update_rejected", account=self._config.name, event_id=event.event_id, reason=event.reason)
                rejected.append(event)
            elif event is not None:
                events.append(event)
        # The last one, not the greatest: ids start anywhere after a week without updates.
        ids = [update_id for raw in batch if (update_id := update_id_of(raw)) is not None]
        confirmed = ids[-1] + 1 if ids else offset
        attempt = 0
        while True:
            try:
                await self._sink.receive(events, rejected=rejected, cursor=str(confirmed))
            except NotPersisted:
                attempt += 1
                self._sink.report(ChannelState.DEGRADED, "the store takes no messages; this batch is offered again")
                await self._pause(step(STORE_BACKOFF_S, attempt))
            else:
                return confirmed


def _explained(refusal: ApiRefusal) -> str:
    """What a refused poll means, and what the operator can do."""
    words = f"{refusal.status} {refusal.description}"
    if refusal.status == 409 and "webhook" in refusal.description.lower():
        return f"a webhook is set for this bot, so it cannot be polled; remove it with deleteWebhook ({words})"
    if refusal.status == 409:
        return f"another program polls with this token; stop it, or give one of the two another bot ({words})"
    return f"Telegram refuses to be polled ({words})"
