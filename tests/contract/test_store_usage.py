"""Sums of tokens, the same on every store."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import partial

import sqlalchemy as sa

from agent.transcript import ModelResponded, Usage
from channels.messages import Address
from gateway.store.engine import Store
from gateway.store.journal import TurnRow
from gateway.store.retention import take_usage
from gateway.store.tables.base import new_id
from gateway.store.tables.turns import usage
from gateway.store.usage import (
    UsageSum,
    give_to,
    note_call,
    total_days,
    usage_by_day,
    usage_sums,
)

MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)


def call_of(
    at: datetime, user: str = "ada", model: str = "m", tokens: int | None = 10, tenant: str = "t"
) -> Callable[[sa.Connection], None]:
    turn = TurnRow(new_id(), tenant, "s", user, "chat", Address("sim", "main", "1"), None, at)
    response = ModelResponded(0, "hi", model=model, usage=Usage(tokens, tokens or 1, None, 1))
    return partial(note_call, turn=turn, response=response, now=at)


async def test_tokens_are_summed_by_utc_day_person_and_model(store: Store) -> None:
    for job in (
        call_of(MIDNIGHT - timedelta(microseconds=1)),
        call_of(MIDNIGHT),
        call_of(MIDNIGHT + timedelta(hours=23), tokens=None),
        call_of(MIDNIGHT, user="bob", model="n", tokens=2_000_000_000),
        call_of(MIDNIGHT, user="bob", model="n", tokens=2_000_000_000),
        call_of(MIDNIGHT, tenant="other"),
        call_of(MIDNIGHT - timedelta(days=1, microseconds=1)),
    ):
        await store.commit(job)
    since = MIDNIGHT - timedelta(hours=1)
    assert [
        UsageSum(date(2026, 11, 19), "ada", "m", 1, 10, 10, None, 1, unpriced=1),
        UsageSum(date(2026, 11, 20), "ada", "m", 2, 10, 11, None, 2, unpriced=2),
        UsageSum(date(2026, 11, 20), "bob", "n", 2, 4_000_000_000, 4_000_000_000, None, 2, unpriced=2),
    ] == await store.read(lambda c: usage_sums(c, "t", since))
    assert [("bob", 2)] == [
        (row.user_id, row.calls) for row in await store.read(lambda c: usage_sums(c, "t", since, newest=1))
    ]
    days = [(date(2026, 11, 19), 1, 20, None), (date(2026, 11, 20), 4, 8_000_000_021, None)]
    assert days == await store.read(lambda c: usage_by_day(c, "t", since))
    for hours in (24, 25, 49, 49):  # of days that are over totals are kept; of none twice, and of none too soon
        await store.commit(lambda c, hours=hours: total_days(c, MIDNIGHT + timedelta(hours=hours)))
        assert days == await store.read(lambda c: usage_by_day(c, "t", since))
    await store.commit(call_of(MIDNIGHT + timedelta(days=2)))
    later = await store.read(lambda c: usage_by_day(c, "t", MIDNIGHT))
    assert [days[1], (date(2026, 11, 22), 1, 20, None)] == later


async def test_who_is_forgotten_has_used_what_was_used(store: Store) -> None:
    for user in ("ada", "bob", "ada", "cat"):
        await store.commit(call_of(MIDNIGHT, user))
    for user in ("ada", "bob", "ada"):
        await store.commit(lambda c, user=user: give_to(c, user, "forgotten"))
    sums = await store.read(lambda c: usage_sums(c, "t", MIDNIGHT))
    assert [("cat", 1, 10), ("forgotten", 3, 30)] == [(row.user_id, row.calls, row.input_tokens) for row in sums]
    assert {"cat", "forgotten"} == await store.read(lambda c: {*c.execute(sa.select(usage.c.user_id)).scalars()})


async def test_sums_go_with_the_days_they_are_of(store: Store) -> None:
    for at in (MIDNIGHT - timedelta(days=1), MIDNIGHT, MIDNIGHT + timedelta(hours=20)):
        await store.commit(call_of(at))
    assert 2 == await store.commit(lambda c: take_usage(c, MIDNIGHT + timedelta(hours=19)))
    sums = await store.read(lambda c: usage_sums(c, "t", MIDNIGHT - timedelta(days=9)))
    assert [(MIDNIGHT.date(), 2)] == [(row.day, row.calls) for row in sums]


async def test_one_person_sees_their_own(store: Store) -> None:
    for user in ("ada", "bob"):
        await store.commit(call_of(MIDNIGHT, user))
    sums = await store.read(lambda c: usage_sums(c, "t", MIDNIGHT, user_id="bob"))
    assert [UsageSum(MIDNIGHT.date(), "bob", "m", 1, 10, 10, None, 1, unpriced=1)] == sums
