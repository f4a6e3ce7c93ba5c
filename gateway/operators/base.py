"""What every part of the operators' service stands on: a store, a clock, the home's key and the process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from gateway.operators.process import OperatedProcess
from gateway.store import people
from gateway.store.engine import Store
from gateway.store.people import Person


@dataclass(frozen=True)
class OperatorsBase:
    """The parts that actions use."""

    store: Store
    """A tenant's part of the store, or the whole of it."""
    key: bytes
    """The home's key, from which codes are derived."""
    clock: Callable[[], datetime]
    process: OperatedProcess

    async def read_people(self) -> Sequence[Person]:
        """Return every person, in the order they came."""
        known = self.process.everybody(self.store.tenant)
        return await self.store.read(people.everybody) if known is None else known
