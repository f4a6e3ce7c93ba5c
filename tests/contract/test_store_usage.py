"""Sums of tokens are the same on every store."""

from datetime import UTC, date, datetime, timedelta

import sqlalchemy as sa

from agent.rungs import ResponseDiscarded
from agent.transcript import ModelResponded, Usage
from channels.messages import Address
from gateway.store import journal
from gateway.store.engine import Store
from gateway.store.journal import TurnRow
from gateway.store.tables.base import new_id
from gateway.store.tables.turns import usage
from gateway.store.usage import UsageSum, UsageTotal, usage_by_day, usage_since, usage_sums

MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)


def used(
    at: datetime, user: str = "ada", model: str = "m", tokens: int | None = 10, tenant: str = "t"
) -> dict[str, object]:
    """A call's row; a provider that does not count gives None."""
    ids = {"tenant_id": tenant, "user_id": user, "session_id": "s", "turn_id": new_id(), "step": 0, "model": model}
    counted = {"input_tokens": tokens, "output_tokens": tokens, "cache_read_tokens": None, "cache_write_tokens": 1}
    return ids | counted | {"at": at}


async def test_tokens_are_summed_by_utc_day_person_and_model(store: Store) -> None:
    """A call one microsecond before midnight is the day before's; another tenant's calls are nobody's business."""
    rows = [
        used(MIDNIGHT - timedelta(microseconds=1)),
        used(MIDNIGHT),
        used(MIDNIGHT + timedelta(hours=23), tokens=None),
        used(MIDNIGHT, user="bob", model="n", tokens=2_000_000_000),
        used(MIDNIGHT, user="bob", model="n", tokens=2_000_000_000),
        used(MIDNIGHT, tenant="other"),
        used(MIDNIGHT + timedelta(days=1)),
    ]
    await store.write(lambda connection: connection.execute(sa.insert(usage), rows) and None)

    def query(connection: sa.Connection) -> list[UsageSum]:
        return usage_sums(connection, "t", MIDNIGHT - timedelta(days=1), MIDNIGHT + timedelta(days=1))

    assert [
        UsageSum(date(2026, 11, 19), "ada", "m", 1, 10, 10, None, 1, unpriced=1),
        UsageSum(date(2026, 11, 20), "ada", "m", 2, 10, 10, None, 2, unpriced=2),
        UsageSum(date(2026, 11, 20), "bob", "n", 2, 4_000_000_000, 4_000_000_000, None, 2, unpriced=2),
    ] == await store.read(query)
    newest = await store.read(lambda c: usage_sums(c, "t", MIDNIGHT - timedelta(1), MIDNIGHT + timedelta(1), newest=1))
    assert [("bob", 2)] == [(row.user_id, row.calls) for row in newest]
    assert [(date(2026, 11, 19), 1, 20, None), (date(2026, 11, 20), 4, 8_000_000_020, None)] == await store.read(
        lambda c: usage_by_day(c, "t", MIDNIGHT - timedelta(1), MIDNIGHT + timedelta(1))
    )


async def test_one_person_sees_their_own(store: Store) -> None:
    """With a user id nobody else's calls are counted."""
    rows = [used(MIDNIGHT), used(MIDNIGHT, user="bob")]
    await store.write(lambda connection: connection.execute(sa.insert(usage), rows) and None)
    sums = await store.read(lambda c: usage_sums(c, "t", MIDNIGHT, MIDNIGHT + timedelta(days=1), user_id="bob"))
    assert [UsageSum(MIDNIGHT.date(), "bob", "m", 1, 10, 10, None, 1, unpriced=1)] == sums


async def test_a_response_counts_once_however_often_its_commit_is_repeated(store: Store) -> None:
    """A COMMIT nobody heard of is repeated: the tokens of a step are counted once, those of the next one too."""
    address = Address("sim", "main", "1")
    turn = TurnRow("turn", "t", "s", "ada", "chat", address, None, MIDNIGHT)
    for step in (0, 0, 1):
        response = ModelResponded(step, "hi", model="m", usage=Usage(10, 5))
        await store.write(lambda c, response=response: journal.note_usage(c, turn, response, MIDNIGHT))
    (counted,) = await store.read(lambda c: usage_sums(c, "t", MIDNIGHT, MIDNIGHT + timedelta(days=1)))
    assert (2, 20, 10) == (counted.calls, counted.input_tokens, counted.output_tokens)


async def test_what_is_known_of_the_cost_is_summed_and_the_rest_is_counted(store: Store) -> None:
    """A thrown-away response is paid for as well; a call of unknown cost is not one that cost nothing."""
    turn = TurnRow("turn", "t", "s", "ada", "chat", Address("sim", "main", "1"), None, MIDNIGHT)
    responses = (
        ModelResponded(0, "hi", model="m", usage=Usage(10, 5, cost_microusd=3_000_000_000)),
        ResponseDiscarded(0, 1, "m", 10, 5, estimated=True, cost_microusd=7),
        ModelResponded(1, "hi", model="m", usage=Usage(10, 5)),
        ModelResponded(2, "hi", model="free", usage=Usage(10, 5, cost_microusd=0)),
    )
    for response in responses:
        await store.write(lambda c, response=response: journal.note_usage(c, turn, response, MIDNIGHT))
    free, paid = await store.read(lambda c: usage_sums(c, "t", MIDNIGHT, MIDNIGHT + timedelta(days=1)))
    assert (0, 0) == (free.cost_microusd, free.unpriced)
    assert (3_000_000_007, 1, 1) == (paid.cost_microusd, paid.unpriced, paid.discarded)
    beginnings = [MIDNIGHT, MIDNIGHT + timedelta(days=1)]
    totals = await store.read(lambda c: usage_since(c, "t", "ada", beginnings))
    assert [UsageTotal(4, 40, 20, 3_000_000_007, 1), UsageTotal(0, 0, 0, None, 0)] == totals
