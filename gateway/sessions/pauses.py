"""Pauses of agents by an operator: while one lasts no turn begins, and messages wait in the inbox."""

import asyncio
from collections.abc import Mapping

from gateway.store.engine import Store
from gateway.store.pauses import PAUSES, AgentPause

LOOK_S = 1.0
"""Seconds between two looks for what another process has paused or resumed."""


class Pauses:
    """The pauses that last, as this process knows them."""

    def __init__(self, store: Store) -> None:
        """Take the whole store."""
        self._store = store
        self._by_tenant: Mapping[str, AgentPause] = {}
        self._of_all: AgentPause | None = None
        self._changed = asyncio.Event()

    async def load(self) -> None:
        """Read the pauses from the store; wake what waits for the end of one."""
        found = await self._store.read(PAUSES.find, lasting=True)
        self._by_tenant = {pause.tenant: pause for pause in found}
        self._of_all = next((pause for pause in found if pause.whole), None)
        self._changed.set()
        self._changed = asyncio.Event()

    def of(self, tenant: str) -> AgentPause | None:
        """Return the pause of a tenant's agents; None if they are not paused."""
        return self._of_all or self._by_tenant.get(tenant)

    async def wait_for_end(self, tenant: str) -> None:
        """Return once the tenant's agents are not paused."""
        while self.of(tenant) is not None:
            await self._changed.wait()
