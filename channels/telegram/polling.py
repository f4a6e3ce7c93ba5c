"""The getUpdates loop: an update is confirmed only after the sink has committed it. Knows nothing of sending."""

import asyncio
from collections.abc import Callable

from pydantic import JsonValue

from channels.base import ChannelState, NotPersisted, Sink
from channels.clocks import Clock, Sleep
from channels.foreign import whole_of
from channels.retrying import Backoff, CallFailure
from channels.telegram.config import TelegramAccount
from channels.telegram.error_mapping import ApiRefusal
from channels.telegram.identity import BotIdentity, identify
from channels.telegram.raw import ALLOWED_UPDATES
from channels.telegram.receiving import CallbackAnswerer, translate_updates
from channels.telegram.translate import update_id_of
from channels.telegram.wire import BotApiCaller, TelegramWire

STORE_BACKOFF = Backoff((0.05, 0.1, 0.2, 0.5, 1.0, 2.0))  # between offers of one batch
REFUSALS_BELIEVED = 3  # so many 401 in a row end the channel; one alone may be a hiccup of Telegram's

IDLE_BACKOFF = Backoff((0.0, 0.05, 0.1, 0.2, 0.5, 1.0))
"""After so many polls in a row that came back too soon; one alone may be a hiccup. The last one repeats."""

SOON_S = 1.0  # polls that take longer than this burden nobody


class PollPace:
    """How soon a poll may follow the one before: at once, but where polls come back at once with nothing. Pure.

    A long poll is answered with updates, or after its timeout without. A server that does neither (a bare stand-in, a
    proxy that answers from its cache, an update that cannot be confirmed) would be asked thousands of times a second.
    """

    def __init__(self, timeout_s: float, now_s: Callable[[], float]) -> None:
        """`timeout_s` is what a poll without updates should take; `now_s` is monotonic."""
        self._soon_s = min(SOON_S, timeout_s / 2)
        self._now_s = now_s
        self._started_s = now_s()
        self._idle = 0  # polls in a row that came back too soon

    def start_poll(self) -> None:
        """A poll begins."""
        self._started_s = self._now_s()

    def rest_s(self, *, moved: bool) -> float:
        """The pause before the next one; `moved`: this one brought updates that are behind us now."""
        soon = not moved and self._now_s() - self._started_s < self._soon_s
        self._idle = self._idle + 1 if soon else 0
        return IDLE_BACKOFF.wait_s(self._idle) if soon else 0.0


class UpdatePoller:
    """Receives for one bot until it is cancelled."""

    def __init__(
        self, config: TelegramAccount, wire: TelegramWire, sink: Sink, pace: PollPace, *, sleep: Sleep, clock: Clock
    ) -> None:
        """`sleep` waits so many seconds; `clock` gives aware UTC."""
        self._config = config
        self._wire = wire
        self._sink = sink
        self._pace = pace
        self._sleep = sleep
        self._clock = clock
        self._caller = BotApiCaller(config, wire, sink, sleep, explain_refusal)

    async def run(self, tasks: asyncio.TaskGroup) -> None:
        """Poll, hand in, confirm; for ever. `tasks` is the parent of what goes on beside.

        Raises:
            ConfigRefused: Telegram refuses the token; health was told.
        """
        self._sink.report(ChannelState.STARTING)
        bot = await identify(self._config.name, self._caller, self._config.call_timeout_s)
        self._sink.report(ChannelState.READY)
        answerer = CallbackAnswerer(self._config, self._wire, tasks)
        offset = whole_of(await self._sink.cursor()) or 0
        while True:
            self._pace.start_poll()
            batch, before = await self._poll(offset), offset
            if not isinstance(batch, list):
                await self._caller.report_and_wait(CallFailure("Telegram's answer to getUpdates is no list"))
                continue
            self._sink.report(ChannelState.READY)
            if batch:
                offset = await self._hand_in(batch, bot, offset, answerer)
            if (rest_s := self._pace.rest_s(moved=offset != before)) > 0:
                await self._sleep(rest_s)

    async def _poll(self, offset: int) -> JsonValue:
        """The next updates; waits for the first of them."""
        body: dict[str, JsonValue] = {
            "timeout": self._config.poll_timeout_s,
            "allowed_updates": list(ALLOWED_UPDATES),
        }
        if offset:
            body["offset"] = offset
        watchdog_s = self._config.poll_timeout_s + self._config.poll_grace_s
        return await self._caller.call_until_ok("getUpdates", body, timeout_s=watchdog_s, patience=REFUSALS_BELIEVED)

    async def _hand_in(self, batch: list[JsonValue], bot: BotIdentity, offset: int, answerer: CallbackAnswerer) -> int:
        """Give a batch to the sink until it holds; returns the offset that confirms it."""
        events, rejected = translate_updates(batch, bot, self._clock())
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
                await self._sleep(STORE_BACKOFF.wait_s(attempt))
            else:
                answerer.answer(events)
                return confirmed


def explain_refusal(refusal: ApiRefusal) -> str:
    """What a refused poll means, and what the operator can do."""
    words = f"{refusal.status} {refusal.description}"
    if refusal.status == 409 and "webhook" in refusal.description.lower():
        return f"a webhook is set for this bot, so it cannot be polled; remove it with deleteWebhook ({words})"
    if refusal.status == 409:
        return f"another program polls with this token; stop it, or give one of the two another bot ({words})"
    return f"Telegram refuses to be polled ({words})"
