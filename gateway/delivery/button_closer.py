"""Removal of buttons that are over: at once after the commit that ended them, and by a chore for the rest."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

import structlog

from channels.base import Channel, HasButtons
from channels.errors import ChannelError, Permanent
from channels.messages import Address
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.delivery.sender import call_within
from gateway.store import standing_buttons
from gateway.store.engine import Store
from gateway.store.standing_buttons import GIVEN_UP_AFTER, ButtonsOver, OverButtons
from gateway.supervision import Supervised

log = structlog.get_logger()

LOOK_S = 60.0
CLOSE_TIMEOUT_S = 10.0


class ButtonCloser:
    """Remover of buttons that a commit, or the time, has ended."""

    def __init__(
        self, store: Store, channels: ChannelDirectory, clock: Callable[[], datetime], tasks: Supervised
    ) -> None:
        self._store = store
        self._channels = channels
        self._clock = clock
        self._tasks = tasks
        store.listen(ButtonsOver, self._hear)

    def _hear(self, news: ButtonsOver) -> None:
        self._tasks.create_task(self._remove(news.messages)).set_name("buttons")

    async def look(self) -> None:
        """Remove buttons that have expired, and those that a killed process or a failed call left."""
        over = await self._store.read(partial(standing_buttons.list_over, now=self._clock()), lasting=True)
        await self._remove(over)

    async def _remove(self, over: Sequence[OverButtons]) -> None:
        done = [message.id for message in over if await self._is_removed(message)]
        if done:
            await self._store.commit(standing_buttons.note_removed, done)

    async def _is_removed(self, message: OverButtons) -> bool:
        """Remove the buttons of a message; return False to try again later."""
        channel = self._channels.now_loaded(message.address)
        if channel is not None and await close_buttons(channel, message.address, message.platform_id):
            return True
        return self._clock() - message.over_at > GIVEN_UP_AFTER


async def close_buttons(channel: Channel, address: Address, message_id: str) -> bool:
    """Take the buttons of a message away; return False if that may work later."""
    if not isinstance(channel, HasButtons) or not message_id:
        return True
    try:
        await call_within(CLOSE_TIMEOUT_S, channel.close_buttons(address, message_id))
    except ChannelError as failure:
        log.debug("buttons_stay", message_id=message_id, error=str(failure))
        return isinstance(failure, Permanent)
    return True
