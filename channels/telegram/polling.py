"""The getUpdates loop: an update is confirmed only after the sink has committed it."""

import asyncio
from collections.abc import Callable
from functools import partial

from pydantic import JsonValue

from channels.base import ChannelState, Sink
from channels.chat.offering import offer_until_stored
from channels.chat.refusals import ApiRefusal
from channels.chat.retrying import Backoff, CallFailure
from channels.clocks import Clock, Sleep
from channels.foreign import whole_of
from channels.telegram.config import TelegramAccount
from channels.telegram.identity import BotIdentity, identify
from channels.telegram.raw import ALLOWED_UPDATES
from channels.telegram.receiving import CallbackAnswerer, translate_updates
from channels.telegram.translate import update_id_of
from channels.telegram.wire import BotApiCaller, TelegramWire

MOST_REFUSALS = 3  # consecutive 401 answers that end the channel; one may be an outage

IDLE_BACKOFF = Backoff((0.0, 0.05, 0.1, 0.2, 0.5, 1.0))
"""Pause by the number of consecutive polls that returned too early; the first is tolerated, the last value repeats."""

SOON_S = 1.0  # longer polls are no load for the server


class PollPace:
    """Pause between polls: none, unless polls return at once without updates. Pure.

    A long poll returns with updates, or after its timeout without. A server that does neither (a stub, a caching proxy,
    an update that cannot be confirmed) would otherwise be asked thousands of times a second.
    """

    def __init__(self, timeout_s: float, now_s: Callable[[], float]) -> None:
        """`timeout_s`: expected duration of a poll without updates. `now_s`: a monotonic clock."""
        self._soon_s = min(SOON_S, timeout_s / 2)
        self._now_s = now_s
        self._started_s = now_s()
        self._idle = 0  # polls in a row that came back too soon

    def start_poll(self) -> None:
        """Note the start of a poll."""
        self._started_s = self._now_s()

    def pause_s(self, *, confirmed: bool) -> float:
        """Return the pause before the next poll; `confirmed`: this one brought updates and moved the offset."""
        soon = not confirmed and self._now_s() - self._started_s < self._soon_s
        self._idle = self._idle + 1 if soon else 0
        return IDLE_BACKOFF.wait_s(self._idle) if soon else 0.0


class UpdatePoller:
    """Receives updates of one bot by polling."""

    def __init__(
        self, config: TelegramAccount, wire: TelegramWire, pace: PollPace, *, sleep: Sleep, clock: Clock
    ) -> None:
        self._config = config
        self._wire = wire
        self._pace = pace
        self._sleep = sleep
        self._clock = clock

    async def run(self, sink: Sink) -> None:
        """Poll, commit and confirm updates until cancelled.

        Raises:
            ConfigRefused: Telegram refuses the token; health is already FAILED.
        """
        caller = BotApiCaller(self._config, self._wire, sink, self._sleep, explain_refusal)
        bot = await identify(self._config.name, caller, self._config.call_timeout_s)
        sink.report(ChannelState.READY)
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._poll_forever(sink, caller, bot, CallbackAnswerer(self._config, self._wire, tasks))
        except ExceptionGroup as group:
            raise group.exceptions[0] from None  # the first says why; the rest were cancelled for it

    async def _poll_forever(
        self, sink: Sink, caller: BotApiCaller, bot: BotIdentity, answerer: CallbackAnswerer
    ) -> None:
        offset = whole_of(await sink.cursor()) or 0
        while True:
            self._pace.start_poll()
            batch, before = await self._poll(caller, offset), offset
            if not isinstance(batch, list):
                await caller.report_and_wait(CallFailure("Telegram's answer to getUpdates is no list"))
                continue
            sink.report(ChannelState.READY)
            if batch:
                events, rejected = translate_updates(batch, bot, self._clock())
                offset = _next_offset(batch, offset)
                offer = partial(sink.receive, events, rejected=rejected, cursor=str(offset))
                await offer_until_stored(offer, sink, self._sleep)
                answerer.answer(events)
            if (pause_s := self._pace.pause_s(confirmed=offset != before)) > 0:
                await self._sleep(pause_s)

    async def _poll(self, caller: BotApiCaller, offset: int) -> JsonValue:
        """Return the next updates, after waiting for the first of them."""
        body: dict[str, JsonValue] = {
            "timeout": self._config.poll_timeout_s,
            "allowed_updates": list(ALLOWED_UPDATES),
        }
        if offset:
            body["offset"] = offset
        watchdog_s = self._config.poll_timeout_s + self._config.poll_grace_s
        return await caller.call_until_ok("getUpdates", body, timeout_s=watchdog_s, patience=MOST_REFUSALS)


def _next_offset(batch: list[JsonValue], offset: int) -> int:
    """Return the offset that confirms a batch: the id after its last update.

    The last id need not be the greatest: ids restart at a random number after a week without updates.
    """
    ids = [update_id for raw in batch if (update_id := update_id_of(raw)) is not None]
    return ids[-1] + 1 if ids else offset


def explain_refusal(refusal: ApiRefusal) -> str:
    """Return the meaning of a refused poll, and what the operator can do."""
    words = str(refusal)
    if refusal.status == 409 and "webhook" in refusal.words.lower():
        return f"a webhook is set for this bot, so it cannot be polled; remove it with deleteWebhook ({words})"
    if refusal.status == 409:
        return f"another program polls with this token; stop it, or give one of the two another bot ({words})"
    return f"Telegram refuses to be polled ({words})"
