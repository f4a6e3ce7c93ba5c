"""The base class of the operators' actions: a store, a clock, the home's key and the process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from gateway.operators.process import OperatedProcess
from gateway.store import people
from gateway.store.engine import Store
from gateway.store.people import Person


@dataclass(frozen=True)
class OperatorsBase:
    """The objects that every action uses."""

    store: Store
    """The store, limited to one tenant or whole."""
    key: bytes
    """The home's secret key, from which codes are derived."""
    clock: Callable[[], datetime]
    process: OperatedProcess

    async def read_people(self) -> Sequence[Person]:
        """Return all people, oldest first."""
        known = self.process.everybody(self.store.tenant)
        return await self.store.read(people.everybody) if known is None else known
