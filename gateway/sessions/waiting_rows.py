"""The inbox rows that wait for a session, as the bus reads them: those of configured accounts."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Protocol

from gateway.delivery.lane_worker import ChannelDirectory
from gateway.durable_queue import load_filtered
from gateway.inbound.bus import Bus, SharedBus
from gateway.ownership import IN, Ownership
from gateway.sessions.deps import PeopleDirectory
from gateway.sessions.inbox_rules import RowClassifier
from gateway.sessions.mailbox import read_rows, read_waiting
from gateway.store import leases, people
from gateway.store.engine import Store
from gateway.store.inbox import InboxRow


class Classifies(Protocol):
    """A tenant whose commands are known."""

    @property
    def kinds(self) -> RowClassifier: ...


class WaitingRows:
    """The rows of every tenant that wait in the store."""

    def __init__(
        self, store: Store, channels: ChannelDirectory, directory: PeopleDirectory, tenants: Mapping[str, Classifies]
    ) -> None:
        self._store = store
        self._channels = channels
        self._people = directory
        self._tenants = tenants

    def is_urgent(self, row: InboxRow) -> bool:
        """Return True if the row passes the backlog by."""
        tenant = self._tenants.get(row.tenant)
        return tenant is not None and tenant.kinds.is_urgent(row)

    async def load(self, after_id: int, limit: int) -> list[InboxRow]:
        """Return the next waiting rows."""

        async def read(after_id: int, limit: int) -> list[InboxRow]:
            return await self._know_people(await read_waiting(self._store, after_id, limit))

        return await load_filtered(read, self._is_configured, after_id, limit)

    async def load_new(self, shards: Collection[int], known: Collection[int], limit: int) -> list[InboxRow]:
        """Return waiting rows of these shards that are not known yet."""
        query = partial(leases.waiting_in, owned=shards, known=known, limit=limit)
        rows = await self._know_people(await read_rows(self._store, query))
        return [row for row in rows if self._is_configured(row)]

    async def _know_people(self, rows: list[InboxRow]) -> list[InboxRow]:
        """Look up the people of these rows who were let in a moment ago and are not known in memory yet."""
        for user_id in {row.user_id for row in rows if self._people.principal(row.user_id) is None}:
            person = await self._store.read(partial(people.person_of, user_id=user_id), lasting=True)
            if person is not None:
                self._people.put(person)
        return rows

    async def still_waiting(self, ids: Collection[int]) -> set[int]:
        """Return those of these rows that still wait."""
        return await self._store.read(partial(leases.still_waiting, ids=ids), lasting=True)

    def _is_configured(self, row: InboxRow) -> bool:
        return self._channels.is_configured(row.event.address)


def make_bus(size: int, rows: WaitingRows, ownership: Ownership) -> Bus:
    """Make the bus of a process that is alone on its store, or of one of several."""
    if not ownership.is_shared:
        return Bus(size, rows.load, rows.is_urgent)
    return SharedBus(size, rows.load_new, rows.still_waiting, rows.is_urgent, lambda shard: ownership.tell(IN, shard))
