"""Steps that polling and webhook share: translate each update alone, acknowledge button presses."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import partial

import structlog

from channels.chat.reading import read_or_reject
from channels.chat.refusals import ApiRefusal
from channels.errors import ChannelError
from channels.foreign import JsonObject
from channels.messages import ButtonPressed, InboundEvent, Rejected
from channels.telegram.config import TelegramAccount
from channels.telegram.identity import BotIdentity
from channels.telegram.translate import to_rejected, translate
from channels.telegram.wire import TelegramWire

PRESSES_AT_ONCE = 50  # presses being answered; further ones are not answered, and their buttons time out

_log = structlog.get_logger()


def translate_updates(
    updates: Sequence[object], bot: BotIdentity, now: datetime
) -> tuple[list[InboundEvent], list[Rejected]]:
    """Return the events in updates, in order, and the rejected updates."""
    events: list[InboundEvent] = []
    rejected: list[Rejected] = []
    for raw in updates:
        event = read_or_reject(bot.account, partial(translate, raw, bot, now), partial(to_rejected, raw))
        if isinstance(event, Rejected):
            _log.warning("update_rejected", account=bot.account, event_id=event.event_id, reason=event.reason)
            rejected.append(event)
        elif event is not None:
            events.append(event)
    return events, rejected


class CallbackAnswerer:
    """Answers callback queries, so that a pressed button stops showing progress."""

    def __init__(self, config: TelegramAccount, wire: TelegramWire, tasks: asyncio.TaskGroup) -> None:
        """`tasks` is the parent of every call."""
        self._config = config
        self._wire = wire
        self._tasks = tasks
        self._running = 0

    def answer(self, events: Sequence[InboundEvent]) -> None:
        """Answer the presses among committed events, in the background."""
        for event in events:
            if isinstance(event, ButtonPressed) and self._running < PRESSES_AT_ONCE:
                self._running += 1
                self._tasks.create_task(self._answer(event.event_id.removeprefix("cb:")))

    async def _answer(self, callback_id: str) -> None:
        try:
            body: JsonObject = {"callback_query_id": callback_id}
            await self._wire.call("answerCallbackQuery", body, timeout_s=self._config.call_timeout_s)
        except (ApiRefusal, ChannelError) as failure:  # answered before, or too old: harmless
            _log.debug("press_not_answered", account=self._config.name, error=str(failure))
        finally:
            self._running -= 1
