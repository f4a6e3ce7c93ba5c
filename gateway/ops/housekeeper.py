"""The housekeeper takes away in small batches what was settled longer ago than it is kept.

`gateway.store.retention` decides what goes and how; pairing requests end by `gateway.access.pairing`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial

import structlog

from gateway.ops.retention_config import RetentionConfig
from gateway.store import retention
from gateway.store.engine import Connection, Store
from gateway.store.inbox import Outcome
from gateway.store.usage import total_days

log = structlog.get_logger()

FIRST_S = 60.0
EVERY_S = 600.0
PAUSE_S = 0.02
"""Between two batches: whoever else writes goes first."""

UNCLAIMED_DAYS = 1 / 24
"""A picture is fetched when its turn is about to begin."""

BUDGET_DAYS = 7
"""Caps are of days and of turns: what was used of older ones says nothing that `usage` does not."""

Take = Callable[[Connection, datetime], int]
"""Takes one batch of what was settled before then; how many rows."""


def _kinds(config: RetentionConfig) -> tuple[tuple[str, float, Take], ...]:
    days = dict.fromkeys(Outcome, config.inbox_days) | {Outcome.REFUSED: config.refused_days}
    return (
        *((outcome.value, days[outcome], partial(_take_ended, outcome)) for outcome in Outcome),
        ("outbox", config.outbox_days, retention.take_outbox),
        ("journal", config.journal_days, retention.take_turns),
        ("usage", config.usage_days, retention.take_usage),
        ("budgets", BUDGET_DAYS, retention.take_budgets),
        ("audit", config.audit_days, retention.take_audit),
        ("blobs", config.blobs_days, retention.take_blobs),
        ("pictures", config.pictures_days, retention.take_pictures),
        ("unclaimed pictures", UNCLAIMED_DAYS, retention.take_unclaimed),
        ("marks", BUDGET_DAYS, retention.take_forgotten),
    )


def _take_ended(outcome: Outcome, connection: Connection, before: datetime) -> int:
    return retention.take_inbox(connection, outcome, before)


def _take(take: Take, before: datetime, connection: Connection) -> int:
    return take(connection, before)


class Housekeeper:
    """Keeps the store as small as the operator wants it."""

    def __init__(
        self,
        store: Store,
        config: RetentionConfig,
        clock: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._store = store
        self._config = config
        self._clock = clock
        self._sleep = sleep

    def reconfigure(self, config: RetentionConfig) -> None:
        """Keep things for so long from the next sweep on."""
        self._config = config

    async def run(self) -> None:
        """Sweep every ten minutes until cancelled; first a minute after the start, which has better things to do."""
        await self._sleep(FIRST_S)
        while True:
            await self.sweep()
            await self._sleep(EVERY_S)

    async def sweep(self) -> None:
        """Total days that are over, take away what is too old now, batch by batch, and give the room back."""
        now = self._clock()
        await self._store.write(partial(total_days, now=now))
        gone = {
            name: await self._repeat(partial(_take, take, now - timedelta(days=days)))
            for name, days, take in _kinds(self._config)
            if days > 0
        }
        gone["pages"] = await self._repeat(retention.give_back)
        if any(gone.values()):
            log.info("rows_expired", **{name: count for name, count in gone.items() if count})

    async def _repeat(self, batch: Callable[[Connection], int]) -> int:
        """Until nothing of it is left; how much it was."""
        taken = 0
        while rows := await self._store.write(batch):
            taken += rows
            await self._sleep(PAUSE_S)
        return taken
