"""Sums of tokens, the same on every store."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import partial
from zoneinfo import ZoneInfo

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
    total_quarters,
    usage_by_column,
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
    by_person = await store.read(lambda c: usage_by_column(c, "t", since, "user_id"))
    assert {"ada": (3, 20), "bob": (2, 4_000_000_000)} == {
        person: (row.calls, row.input_tokens) for person, row in by_person.items()
    }
    by_day = await store.read(lambda c: usage_by_column(c, "t", since, "day"))
    assert {"2026-11-19": 1, "2026-11-20": 4} == {day: row.calls for day, row in by_day.items()}


async def test_totals_are_those_of_the_days_of_a_zone(store: Store) -> None:
    midnight = MIDNIGHT.replace(tzinfo=ZoneInfo("Asia/Kathmandu"))  # a quarter past the hour in UTC
    for at in (midnight - timedelta(microseconds=1), midnight, midnight + timedelta(hours=23)):
        await store.commit(call_of(at.astimezone(UTC)))
    await store.commit(call_of(midnight.astimezone(UTC), tenant="other"))

    async def days(zone: tzinfo = midnight.tzinfo) -> list[tuple[date, int, int, int | None]]:
        found = await store.read(lambda c: usage_by_day(c, "t", midnight - timedelta(hours=1), zone))
        return [(day, total.calls, total.tokens, total.cost_microusd) for day, total in found.items()]

    expected = [(date(2026, 11, 19), 1, 20, None), (date(2026, 11, 20), 2, 40, None)]
    assert expected == await days()
    for hours in (0, 2, 25, 25):  # what is over is totalled; nothing twice, and nothing too soon
        await store.commit(lambda c, hours=hours: total_quarters(c, midnight + timedelta(hours=hours)))
        assert expected == await days()
    await store.commit(call_of((midnight + timedelta(days=2)).astimezone(UTC)))
    assert [*expected, (date(2026, 11, 22), 1, 20, None)] == await days()
    assert [(date(2026, 11, 19), 2), (date(2026, 11, 20), 1)] == [row[:2] for row in await days(UTC)][:2]


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
