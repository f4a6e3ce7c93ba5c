"""Recovery of lost hints: the search for committed rows that no hint announced, such as after a cancelled caller."""

from collections.abc import Awaitable, Callable

from gateway.delivery.delivery import Delivery
from gateway.inbound.bus import Bus
from gateway.sessions.parking import Parking
from gateway.store import inbox
from gateway.store.engine import Store


class Unannounced:
    """The search for unannounced rows; one small query if nothing is new."""

    def __init__(
        self, store: Store, bus: Bus, delivery: Delivery, parking: Parking, reload: Callable[[], Awaitable[None]]
    ) -> None:
        """Keep the objects to inform; `reload` rereads people and groups into memory."""
        self._store = store
        self._bus = bus
        self._delivery = delivery
        self._parking = parking
        self._reload = reload
        self._unheard = store.unheard
        self._newest = (0, 0)
        self._is_settled = False

    async def look(self) -> None:
        """Process rows that are new since the last look. Look once more after that, as a hint may come later."""
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
