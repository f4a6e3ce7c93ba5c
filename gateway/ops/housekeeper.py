"""Retention: the deletion of settled rows, in small batches, after their configured time."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial

import structlog

from gateway.ops.retention_config import RetentionConfig
from gateway.store import retention, search_index
from gateway.store.engine import Connection, Store
from gateway.store.inbox import Outcome
from gateway.store.usage import total_quarters

log = structlog.get_logger()

FIRST_S = 60.0
EVERY_S = 600.0
PAUSE_S = 0.02
"""Seconds between two batches, so that other writers go first."""

UNCLAIMED_DAYS = 1 / 24
"""Days to keep a picture that no turn has used; a turn uses it right after its message."""

BUDGET_DAYS = 7
"""Days to keep budget sums: caps are per day or per turn, and `usage` holds the history."""

Take = Callable[..., int]
"""Deletes one batch of rows settled `before` an instant and returns their number."""


def _kinds(config: RetentionConfig) -> tuple[tuple[str, float, Take], ...]:
    days = dict.fromkeys(Outcome, config.inbox_days) | {Outcome.REFUSED: config.refused_days}
    return (
        *((outcome.value, days[outcome], partial(retention.take_inbox, outcome=outcome)) for outcome in Outcome),
        ("outbox", config.outbox_days, retention.take_outbox),
        ("journal", config.journal_days, retention.take_turns),
        ("tasks", config.journal_days, retention.take_tasks),
        ("abstracts", config.abstracts_days, retention.take_abstracts),
        ("usage", config.usage_days, retention.take_usage),
        ("budgets", BUDGET_DAYS, retention.take_budgets),
        ("audit", config.audit_days, retention.take_audit),
        ("blobs", config.blobs_days, retention.take_blobs),
        ("pictures", config.pictures_days, retention.take_pictures),
        ("unclaimed pictures", UNCLAIMED_DAYS, retention.take_unclaimed),
        ("marks", BUDGET_DAYS, retention.take_forgotten),
    )


async def sweep(
    store: Store, config: RetentionConfig, now: datetime, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> None:
    """Sum up past usage, delete expired rows in batches, and return free pages to the disk."""

    async def take_all(batch: Callable[[Connection], int]) -> int:
        taken = 0
        while rows := await store.commit(batch):
            taken += rows
            await pause(PAUSE_S)
        return taken

    await store.commit(total_quarters, now=now)
    gone = {
        name: await take_all(partial(take, before=now - timedelta(days=days)))
        for name, days, take in _kinds(config)
        if days > 0
    }
    await take_all(search_index.purge)
    gone["pages"] = await take_all(retention.give_back)
    if any(gone.values()):
        log.info("rows_expired", **{name: count for name, count in gone.items() if count})
