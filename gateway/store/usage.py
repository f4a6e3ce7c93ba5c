"""What models were used for, summed; a sum of cost is of the calls whose cost is known, and says how many are not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from agent.transcript import JournalEvent, Usage
from gateway.store.journal import events_of_turn
from gateway.store.tables.base import EPOCH
from gateway.store.tables.turns import turns, usage

DAY_MICROSECONDS = 86_400_000_000

_COUNTED = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_COST = sa.cast(sa.func.sum(usage.c.cost_microusd), sa.BigInteger)
_UNPRICED = sa.func.count() - sa.func.count(usage.c.cost_microusd)


@dataclass(frozen=True, slots=True)
class UsageSum:
    """The calls of one person to one model on one UTC day; tokens are None where the provider never counted them."""

    day: date
    user_id: str
    model: str
    calls: int
    input_tokens: int | None  # all input, cached included
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    discarded: int = 0  # calls among them whose response was thrown away
    estimated: int = 0  # calls among them that nobody counted: their tokens are about right
    cost_microusd: int | None = None  # of those whose cost is known; None: of none
    unpriced: int = 0  # calls among them whose cost is unknown


def usage_sums(
    connection: sa.Connection, tenant: str, since: datetime, until: datetime, user_id: str | None = None,
    newest: int | None = None,
) -> list[UsageSum]:  # fmt: skip
    """The sums of a tenant, or of one person, with `since` <= instant < `until`; oldest day first.

    `newest`: only so many of them, of the newest days.
    """
    day = (sa.type_coerce(usage.c.at, sa.BigInteger) // DAY_MICROSECONDS).label("day")
    query = (
        sa.select(
            day,
            usage.c.user_id,
            usage.c.model,
            sa.func.count(),
            *(sa.func.sum(usage.c[name]) for name in _COUNTED),
            sa.func.sum(sa.case((usage.c.discarded > 0, 1), else_=0)),
            sa.func.sum(sa.case((usage.c.estimated, 1), else_=0)),
            _COST,
            _UNPRICED,
        )
        .where(usage.c.tenant_id == tenant, usage.c.at >= since, usage.c.at < until)
        .group_by(day, usage.c.user_id, usage.c.model)
        .order_by(day.desc(), usage.c.user_id.desc(), usage.c.model.desc())
        .limit(newest)
    )
    if user_id is not None:
        query = query.where(usage.c.user_id == user_id)
    return [UsageSum((EPOCH + timedelta(days=days)).date(), *rest) for days, *rest in connection.execute(query)][::-1]


def usage_by_day(
    connection: sa.Connection, tenant: str, since: datetime, until: datetime
) -> list[tuple[date, int, int, int | None]]:
    """Of each day its calls, their tokens, and what those of known cost cost; oldest day first."""
    day = (sa.type_coerce(usage.c.at, sa.BigInteger) // DAY_MICROSECONDS).label("day")
    tokens = (sa.func.coalesce(sa.func.sum(usage.c[name]), 0) for name in _COUNTED[:2])
    query = (
        sa.select(day, sa.func.count(), sa.cast(sum(tokens, sa.literal(0)), sa.BigInteger), _COST)
        .where(usage.c.tenant_id == tenant, usage.c.at >= since, usage.c.at < until)
        .group_by(day)
        .order_by(day)
    )
    return [
        ((EPOCH + timedelta(days=days)).date(), calls, used, cost)
        for days, calls, used, cost in connection.execute(query)
    ]


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """What one person used in a time."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost_microusd: int | None  # of the calls whose cost is known; None: of none
    unpriced: int  # calls whose cost is unknown


def usage_since(
    connection: sa.Connection, tenant: str, user_id: str, beginnings: Sequence[datetime]
) -> list[UsageTotal]:
    """One person's totals from each of these instants on."""
    tokens = (sa.cast(sa.func.coalesce(sa.func.sum(usage.c[name]), 0), sa.BigInteger) for name in _COUNTED[:2])
    of_one: sa.Select[*tuple[Any, ...]] = sa.select(sa.func.count(), *tokens, _COST, _UNPRICED).where(
        usage.c.tenant_id == tenant, usage.c.user_id == user_id
    )
    return [UsageTotal(*connection.execute(of_one.where(usage.c.at >= since)).one()) for since in beginnings]


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A turn as it was, with what its steps used."""

    session_id: str
    user_id: str
    events: tuple[JournalEvent, ...]
    calls: tuple[Usage, ...]


def recorded_turns(connection: sa.Connection, tenant: str, since: datetime, limit: int) -> Iterator[RecordedTurn]:
    """The newest chat turns of a tenant that ended since then, oldest first; without calls beside their steps."""
    found = sa.select(turns.c.id, turns.c.session_id, turns.c.user_id).where(
        turns.c.tenant_id == tenant, turns.c.ended_at >= since, turns.c.kind == "chat"
    )
    rows = connection.execute(found.order_by(turns.c.ended_at.desc(), turns.c.id.desc()).limit(limit)).all()
    counted = sa.select(*(usage.c[name] for name in (*_COUNTED, "cost_microusd"))).where(usage.c.step >= 0)
    for row in reversed(rows):
        calls = connection.execute(counted.where(usage.c.turn_id == row.id))
        used = tuple(Usage(*call) for call in calls)
        yield RecordedTurn(row.session_id, row.user_id, events_of_turn(connection, row.id), used)
