"""Finds what was committed and not announced: what follows a commit is only a hint, and its caller may be cancelled."""

from collections.abc import Awaitable, Callable

from gateway.delivery.delivery import Delivery
from gateway.inbound.bus import Bus
from gateway.sessions.parking import Parking
from gateway.store import inbox
from gateway.store.engine import Store


class Unannounced:
    """A look into the store: one small query while nothing is new."""

    def __init__(
        self, store: Store, bus: Bus, delivery: Delivery, parking: Parking, reload: Callable[[], Awaitable[None]]
    ) -> None:
        """`reload` reads anew what is kept in memory of people and groups."""
        self._store = store
        self._bus = bus
        self._delivery = delivery
        self._parking = parking
        self._reload = reload
        self._unheard = store.unheard
        self._newest = (0, 0)
        self._is_settled = False

    async def look(self) -> None:
        """Look at rows that are new since the last look, and once more: that look may be older than a hint."""
        newest = await self._store.read(inbox.newest, lasting=True)
        unheard = self._store.unheard
        is_new = newest != self._newest or unheard != self._unheard
        if unheard != self._unheard:
            await self._reload()
            await self._parking.look()
            self._unheard = unheard
        if is_new or not self._is_settled:
            self._bus.reread()
            await self._delivery.recover()
            await self._delivery.views.look()
        self._newest, self._is_settled = newest, not is_new
