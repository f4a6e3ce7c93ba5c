"""Who waits to hear how a row ended."""

import asyncio

from gateway.store.outbox import OutboxRow


class Ends:
    """The rows somebody waits for."""

    def __init__(self) -> None:
        """Nobody waits yet."""
        self._waiting: dict[int, asyncio.Future[str | None]] = {}

    async def of(self, row: OutboxRow) -> str | None:
        """The platform's id once the row was sent; None where it was not."""
        waiting: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._waiting[row.id] = waiting
        try:
            return await waiting
        finally:
            self._waiting.pop(row.id, None)

    def told(self, row: OutboxRow, platform_id: str | None) -> None:
        """A row has its end."""
        waiting = self._waiting.get(row.id)
        if waiting is not None and not waiting.done():
            waiting.set_result(platform_id)
