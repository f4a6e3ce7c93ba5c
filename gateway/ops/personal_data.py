"""Carries out what people asked to be forgotten, batch by batch, and makes the file forget it too.

A request outlives the process and is looked for every few seconds; what goes, and how, is `gateway.store.erasure`'s.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from datetime import datetime

import structlog

from gateway.errors import StoreUnavailable
from gateway.store import erasure
from gateway.store.engine import Connection, Store
from gateway.store.erasure import Erasure, Progress

log = structlog.get_logger()

LOOK_S = 2.0
PAUSE_S = 0.02
MOST_LOOKS = 300
"""Looks between two tries of what breaks again and again."""

CHECKPOINTS = 20
"""Tries to empty the log, which a reader may hold open."""


class Eraser:
    """Looks every few seconds whether somebody wants to be forgotten."""

    def __init__(
        self,
        store: Store,
        erase: Callable[[Connection, Erasure, datetime], Progress],
        forget: Callable[[str, Collection[str]], None],
        clock: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`erase` does one batch; `forget` lets go of what sessions of a tenant and these keys remember."""
        self._store = store
        self._erase = erase
        self._forget = forget
        self._clock = clock
        self._sleep = sleep
        self._broken: dict[str, tuple[int, int]] = {}  # by erasure: looks to let pass, and how often it broke

    async def look(self) -> None:
        """Do what can be done now of all that was asked for; one that breaks is told, and holds up no other."""
        for wanted in await self._store.read(erasure.pending):
            rests, times = self._broken.pop(wanted.id, (0, 0))
            if rests:
                self._broken[wanted.id] = (rests - 1, times)
                continue
            try:
                if await self._carry_out(wanted):
                    await self._empty_log()
                    log.info("person_forgotten", erasure=wanted.id, extent=wanted.extent)
            except StoreUnavailable:
                raise
            except Exception:  # noqa: BLE001  one erasure: recorded here, for the operator, and tried again
                log.exception("erasure_broken", erasure=wanted.id, mend="what stands here is a bug: report it")
                self._broken[wanted.id] = (min(2**times, MOST_LOOKS), times + 1)

    async def _carry_out(self, wanted: Erasure) -> bool:
        store = self._store.of(wanted.tenant)
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
