"""How long settled things are kept, by kind, and the housekeeper that takes the rest away in small batches.

What goes and how is `gateway.store.retention`'s matter; pairing requests end by `gateway.access.pairing`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated

import structlog
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from gateway.store import retention
from gateway.store.engine import Connection, Store
from gateway.store.inbox import Outcome

log = structlog.get_logger()

FIRST_S = 60.0
EVERY_S = 600.0
PAUSE_S = 0.02
"""Between two batches: whoever else writes goes first."""

LEAST_KEY_DAYS = 7
"""Platforms deliver again for a day at most: Telegram keeps updates for 24 h (core.telegram.org/bots/api, 2026-03),
Slack retries for an hour and, with delayed events, for 24 h (docs.slack.dev, 2026-03), Discord resumes for minutes and
is read back for `backfill_hours`, 24. A week leaves room for a platform's bad day and for a clock that was wrong."""


def _longer_than_redelivery(days: int) -> int:
    if 0 < days < LEAST_KEY_DAYS:
        raise ValueError(
            f"at least {LEAST_KEY_DAYS} days, or 0 for ever: what a platform delivers again is known by its row"
        )
    return days


Days = Annotated[int, Field(ge=0, le=36_500)]
KeyDays = Annotated[Days, AfterValidator(_longer_than_redelivery)]


class RetentionConfig(BaseModel):
    """Days that settled rows are kept; 0 keeps them for ever. What is open is kept until it is settled."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    inbox_days: KeyDays = Field(default=30, description="messages that were answered, or ended otherwise")
    refused_days: KeyDays = Field(default=7, description="the keys of what was refused; its text is never kept")
    outbox_days: Days = Field(default=30, description="parts that were sent or given up")
    journal_days: Days = Field(default=365, description="turns with all their steps: what the model remembers")
    usage_days: Days = Field(default=400, description="what models were used for")
    audit_days: Days = Field(default=730, description="who changed whose access")
    blobs_days: Days = Field(default=7, description="files that were sent, or could not be")


Take = Callable[[Connection, datetime], int]
"""Takes one batch of what was settled before then; how many rows."""


def _kinds(config: RetentionConfig) -> tuple[tuple[str, int, Take], ...]:
    days = dict.fromkeys(Outcome, config.inbox_days) | {Outcome.REFUSED: config.refused_days}
    return (
        *((outcome.value, days[outcome], partial(_ended, outcome)) for outcome in Outcome),
        ("outbox", config.outbox_days, retention.take_outbox),
        ("journal", config.journal_days, retention.take_turns),
        ("usage", config.usage_days, retention.take_usage),
        ("audit", config.audit_days, retention.take_audit),
        ("blobs", config.blobs_days, retention.take_blobs),
    )


def _ended(outcome: Outcome, connection: Connection, before: datetime) -> int:
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

    async def run(self) -> None:
        """Sweep every ten minutes until cancelled; first a minute after the start, which has better things to do."""
        await self._sleep(FIRST_S)
        while True:
            await self.sweep()
            await self._sleep(EVERY_S)

    async def sweep(self) -> None:
        """Take away everything that is too old now, batch by batch, and give the room back."""
        now = self._clock()
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
