"""The getUpdates loop: an update is confirmed only after the sink has committed it. Knows nothing of sending."""

import asyncio

from pydantic import JsonValue

from channels.base import ChannelState, NotPersisted, Sink
from channels.foreign import whole_of
from channels.telegram.config import TelegramAccount
from channels.telegram.error_mapping import ApiRefusal
from channels.telegram.pace import Pace
from channels.telegram.persistent_caller import Clock, Pause, PersistentCaller, step
from channels.telegram.raw import ALLOWED_UPDATES
from channels.telegram.translate import BotIdentity, update_id_of
from channels.telegram.updates import CallbackAnswerer, translate_updates
from channels.telegram.wire import TelegramWire

STORE_BACKOFF_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)  # between offers of one batch
REFUSALS_BELIEVED = 3  # so many 401 in a row end the channel; one alone may be a hiccup of Telegram's


class UpdatePoller:
    """Receives for one bot until it is cancelled."""

    def __init__(
        self, config: TelegramAccount, wire: TelegramWire, sink: Sink, pace: Pace, *, pause: Pause, clock: Clock
    ) -> None:
        """`pause` waits so many seconds; `clock` gives aware UTC."""
        self._config = config
        self._wire = wire
        self._sink = sink
        self._pace = pace
        self._pause = pause
        self._clock = clock
        self._asker = PersistentCaller(config, wire, sink, pause, explain_refusal)

    async def run(self, tasks: asyncio.TaskGroup) -> None:
        """Poll, hand in, confirm; for ever. `tasks` is the parent of what goes on beside.

        Raises:
            ConfigRefused: Telegram refuses the token; health was told.
        """
        self._sink.report(ChannelState.STARTING)
        bot = await self._asker.introduce()
        self._sink.report(ChannelState.READY)
        presses = CallbackAnswerer(self._config, self._wire, tasks)
        offset = whole_of(await self._sink.cursor()) or 0
        while True:
            self._pace.asked()
            batch, before = await self._poll(offset), offset
            if not isinstance(batch, list):
                await self._asker.report_and_wait("Telegram's answer to getUpdates is no list", 1)
                continue
            self._sink.report(ChannelState.READY)
            if batch:
                offset = await self._hand_in(batch, bot, offset, presses)
            if (rest_s := self._pace.rest_s(moved=offset != before)) > 0:
                await self._pause(rest_s)

    async def _poll(self, offset: int) -> JsonValue:
        """The next updates; waits for the first of them."""
        body: dict[str, JsonValue] = {
            "timeout": self._config.poll_timeout_s,
            "allowed_updates": list(ALLOWED_UPDATES),
        }
        if offset:
            body["offset"] = offset
        watchdog_s = self._config.poll_timeout_s + self._config.poll_grace_s
        return await self._asker.call_until_ok("getUpdates", body, timeout_s=watchdog_s, patience=REFUSALS_BELIEVED)

    async def _hand_in(self, batch: list[JsonValue], bot: BotIdentity, offset: int, presses: CallbackAnswerer) -> int:
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
                await self._pause(step(STORE_BACKOFF_S, attempt))
            else:
                presses.answer(events)
                return confirmed


def explain_refusal(refusal: ApiRefusal) -> str:
    """What a refused poll means, and what the operator can do."""
    words = f"{refusal.status} {refusal.description}"
    if refusal.status == 409 and "webhook" in refusal.description.lower():
        return f"a webhook is set for this bot, so it cannot be polled; remove it with deleteWebhook ({words})"
    if refusal.status == 409:
        return f"another program polls with this token; stop it, or give one of the two another bot ({words})"
    return f"Telegram refuses to be polled ({words})"
