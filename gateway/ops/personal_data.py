"""The task that deletes people's data at their request, in batches, and then empties the database's log."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from datetime import datetime

import structlog

from gateway.errors import StoreUnavailable
from gateway.store import erasure
from gateway.store.engine import Connection, Store
from gateway.store.erasure import Erasure, Extent, Progress

log = structlog.get_logger()

LOOK_S = 2.0
PAUSE_S = 0.02
MOST_LOOKS = 300
"""Most looks to skip between two attempts of a failing deletion."""

CHECKPOINTS = 20
"""Attempts to empty the log, which a reader may hold open."""


class Eraser:
    """The worker for requested deletions, which `look` polls for."""

    def __init__(
        self,
        store: Store,
        erase: Callable[[Connection, Erasure, datetime], Progress],
        forget: Callable[[str, Collection[str]], None],
        delete_files: Callable[[str, str], Awaitable[None]],
        clock: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Keep `erase`, which deletes one batch, `forget`, which drops these keys' sessions from memory, and
        `delete_files`, which deletes the files of a tenant's person.
        """
        self._store = store
        self._erase = erase
        self._forget = forget
        self._delete_files = delete_files
        self._clock = clock
        self._sleep = sleep
        self._broken: dict[str, tuple[int, int]] = {}  # erasure id -> looks to skip, and failures so far

    async def look(self) -> None:
        """Carry out pending deletions. Log one that fails, retry it later, and go on with the others."""
        for wanted in await self._store.read(erasure.pending):
            skips, times = self._broken.pop(wanted.id, (0, 0))
            if skips:
                self._broken[wanted.id] = (skips - 1, times)
                continue
            try:
                if await self._carry_out(wanted):
                    await self._empty_log()
                    log.info("person_forgotten", erasure=wanted.id, extent=wanted.extent)
            except StoreUnavailable:
                raise
            except Exception:  # noqa: BLE001  one erasure: recorded here, for the operator, and tried again
                log.exception("erasure_broken", erasure=wanted.id, mend="this is a bug: report it")
                self._broken[wanted.id] = (min(2**times, MOST_LOOKS), times + 1)

    async def _carry_out(self, wanted: Erasure) -> bool:
        store = self._store.of(wanted.tenant)
        if wanted.extent is Extent.EVERYTHING:
            await self._delete_files(wanted.tenant, wanted.user_id)
        while (progress := await store.commit(self._erase, wanted, self._clock())) is Progress.MORE:
            await self._sleep(PAUSE_S)
        if progress is Progress.DONE:
            self._forget(wanted.tenant, wanted.keys)
        return progress is Progress.DONE

    async def _empty_log(self) -> None:
        for _ in range(CHECKPOINTS):
            if await self._store.checkpoint():
                return
            await self._sleep(PAUSE_S)
        log.warning("log_not_emptied")
