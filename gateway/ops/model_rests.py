"""The board of resting models is kept in the store as it changes: a restart does not ask anew what was refused."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from functools import partial

from agent.models.health import Gate, HealthBoard, Rest
from gateway.store import model_rests
from gateway.store.engine import Store


class ModelRests:
    """A board, and who writes it down. What a kill takes away is asked again, no more."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._waiting: dict[tuple[str, Gate], Rest | None] = {}
        self._changed = asyncio.Event()
        self.board = HealthBoard(clock, self._note)

    async def load(self) -> None:
        """Read what an earlier process left."""
        self.board.load(await self._store.read(model_rests.load))

    async def run(self) -> None:
        """Write each change, several at once where they come together."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            changes, self._waiting = self._waiting, {}
            await self._store.write(partial(model_rests.keep_all, changes=changes))

    def _note(self, model: str, gate: Gate, rest: Rest | None) -> None:
        self._waiting[model, gate] = rest
        self._changed.set()
