"""Usage of models: each call once, and its day's sums in the same commit.

A sum of cost covers the calls whose cost is known, and says how many are not. Plain functions over a connection.
`gateway.store.budgets` has the limits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo
from functools import cache
from typing import Any, Literal

import sqlalchemy as sa

from agent.fallbacks import ResponseDiscarded
from agent.transcript import JournalEvent, ModelResponded, Usage
from gateway.store.dialect import insert_in, insert_into, insert_new
from gateway.store.journal import TurnRow, events_of_turn, unpack_address
from gateway.store.people import ids_of
from gateway.store.tables.base import EPOCH, MICROSECOND
from gateway.store.tables.turns import turns, usage, usage_days, usage_totals

SYSTEM_USER = "consolidation"
"""The user of the model calls that no person asked for."""

REPLAY_USER = "replay"
"""The user of the model calls of replays, which operators ask for: they count to shared caps."""

_COUNTED = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_MAY_BE_UNKNOWN = (*_COUNTED, "cost_microusd")
_SUMMED = ("calls", *_COUNTED, "discarded", "estimated", "cost_microusd", "unpriced")
_COST = sa.cast(sa.func.sum(usage.c.cost_microusd), sa.BigInteger)
_UNPRICED = sa.func.count() - sa.func.count(usage.c.cost_microusd)
_FIRST_DAY = EPOCH.date().toordinal()


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


def _added_to_day(insert: Any) -> Any:
    """Return the insert of day sums that adds to existing ones; unknown amounts add nothing."""
    old, new = usage_days.c, insert.excluded
    sums = {name: old[name] + new[name] for name in _SUMMED}
    sums |= {name: sa.func.coalesce(sums[name], old[name], new[name]) for name in _MAY_BE_UNKNOWN}
    return insert.on_conflict_do_update(index_elements=list(usage_days.primary_key.columns), set_=sums)


@cache
def _add_to_day(dialect: str) -> Any:
    return _added_to_day(insert_in(dialect, usage_days))


def note_call(
    connection: sa.Connection, turn: TurnRow, response: ModelResponded | ResponseDiscarded, now: datetime
) -> None:
    """Record what a model call cost, where the provider said so; the same response again changes nothing."""
    used = response if isinstance(response, ResponseDiscarded) else response.usage
    if used.input_tokens is None and used.output_tokens is None:
        return
    number = response.number if isinstance(response, ResponseDiscarded) else 0
    estimated = isinstance(response, ResponseDiscarded) and response.estimated
    whose = {"tenant_id": turn.tenant, "user_id": turn.user_id, "model": response.model}
    counted = {name: getattr(used, name) for name in _MAY_BE_UNKNOWN}
    place = {"session_id": turn.session_id, "turn_id": turn.id, "step": response.step, "discarded": number}
    flags = {"discarded": int(number > 0), "estimated": int(estimated), "unpriced": int(used.cost_microusd is None)}
    call = {**whose, **counted, **place, "estimated": estimated, "at": now}
    if connection.execute(insert_new(connection, usage), call).rowcount:
        day = {**whose, **counted, **flags, "calls": 1, "day": _number_of(now)}
        connection.execute(_add_to_day(connection.dialect.name), day)


def _number_of(at: datetime) -> int:
    """Return the number of an instant's UTC day, as rows have it."""
    return (at - EPOCH).days


def step_beside(connection: sa.Connection, turn_id: str) -> int:
    """Return the number below 0 for the next cost of a call that is no step of the turn."""
    lowest = connection.execute(sa.select(sa.func.min(usage.c.step)).where(usage.c.turn_id == turn_id)).scalar()
    return min(0, int(lowest or 0)) - 1


def give_to(connection: sa.Connection, user_id: str, nobody: str) -> None:
    """Give this person's usage to no person; the sums of each day stay as they were."""
    mine = usage_days.c.user_id == user_id
    columns = [sa.literal(nobody) if column is usage_days.c.user_id else column for column in usage_days.c]
    given = insert_into(connection, usage_days).from_select(usage_days.c.keys(), sa.select(*columns).where(mine))
    connection.execute(_added_to_day(given))
    connection.execute(sa.delete(usage_days).where(mine))
    connection.execute(sa.update(usage).where(usage.c.user_id == user_id).values(user_id=nobody, session_id=nobody))


def forget_days(connection: sa.Connection, before: datetime) -> None:
    """Delete the sums of days that were over then."""
    connection.execute(sa.delete(usage_days).where(usage_days.c.day < _number_of(before)))
    connection.execute(sa.delete(usage_totals).where(usage_totals.c.quarter < _quarter_of(before)))


def usage_sums(connection: sa.Connection, tenant: str, since: datetime, user_id: str | None = None) -> list[UsageSum]:
    """Return the sums of a tenant, or of one person, from the UTC day of this instant on; oldest day first."""
    key = usage_days.c.day, usage_days.c.user_id, usage_days.c.model
    query = (
        sa.select(*key, *(usage_days.c[name] for name in _SUMMED))
        .where(usage_days.c.tenant_id == tenant, usage_days.c.day >= _number_of(since))
        .order_by(*key)
    )
    if user_id is not None:
        query = query.where(usage_days.c.user_id.in_(ids_of(user_id)))
    rows = connection.execute(query).all()
    return [UsageSum(date.fromordinal(_FIRST_DAY + day), *rest) for day, *rest in rows]


def usage_by_column(
    connection: sa.Connection, tenant: str, since: datetime, column: Literal["day", "user_id", "model"]
) -> dict[str, UsageSum]:
    """Return the sums by UTC day, person or model, from the UTC day of this instant on."""
    key = usage_days.c[column]
    sums = (sa.cast(sa.func.sum(usage_days.c[name]), sa.BigInteger) for name in _SUMMED)
    of_tenant = usage_days.c.tenant_id == tenant, usage_days.c.day >= _number_of(since)
    found: dict[str, UsageSum] = {}
    for value, *rest in connection.execute(sa.select(key, *sums).where(*of_tenant).group_by(key)):
        group = date.fromordinal(_FIRST_DAY + value).isoformat() if column == "day" else str(value)
        found[group] = UsageSum(since.date(), group, group, *rest)
    return found


def usage_by_account(connection: sa.Connection, tenant: str, since: datetime) -> dict[str, UsageSum]:
    """Return the sums since an instant by channel account (`telegram:main`); "" for calls beside turns."""
    sums = [sa.func.sum(usage.c[name]).label(name) for name in _MAY_BE_UNKNOWN]
    counts = (
        sa.func.count().label("calls"),
        sa.func.sum(sa.case((usage.c.discarded > 0, 1), else_=0)).label("discarded"),
        sa.func.sum(sa.case((usage.c.estimated, 1), else_=0)).label("estimated"),
        _UNPRICED.label("unpriced"),
    )
    found = connection.execute(
        sa.select(turns.c.address, *counts, *sums)
        .select_from(usage.outerjoin(turns, turns.c.id == usage.c.turn_id))
        .where(usage.c.tenant_id == tenant, usage.c.at >= since)
        .group_by(turns.c.address)
    )
    accounts: dict[str, UsageSum] = {}
    for row in found.mappings():
        place = None if row["address"] is None else unpack_address(row["address"])
        name = "" if place is None else f"{place.channel}:{place.account}"
        counted: dict[str, Any] = {key: None if row[key] is None else int(row[key]) for key in _SUMMED}
        new = UsageSum(since.date(), name, "", **counted)
        accounts[name] = new if name not in accounts else add_up(accounts[name], new)
    return accounts


def add_up(first: UsageSum, second: UsageSum) -> UsageSum:
    """Return the first sum with the second one's numbers added; unknown amounts add nothing."""
    added: dict[str, Any] = {}
    for name in _SUMMED:
        both = [each for each in (getattr(first, name), getattr(second, name)) if each is not None]
        added[name] = sum(both) if both else None
    return replace(first, **added)


def users_since(connection: sa.Connection, tenant: str, since: datetime) -> list[str]:
    """Return the users for whom a model was asked since an instant."""
    asked = usage.c.tenant_id == tenant, usage.c.at >= since, usage.c.user_id != SYSTEM_USER
    return list(connection.execute(sa.select(usage.c.user_id).where(*asked).distinct()).scalars())


def spent_since(connection: sa.Connection, since: datetime, tenant: str, user_id: str) -> tuple[int, int]:
    """Return the tokens and microdollars that calls for people used since an instant; "": of all tenants, all users."""
    whose = [usage.c[name] == value for name, value in (("tenant_id", tenant), ("user_id", user_id)) if value]
    sums = (sa.func.coalesce(sa.func.sum(usage.c[name]), 0) for name in (*_COUNTED[:2], "cost_microusd"))
    query = sa.select(*sums).where(usage.c.at >= since, usage.c.user_id != SYSTEM_USER, *whose)
    read, written, cost = map(int, connection.execute(query).one())
    return read + written, cost


QUARTER = timedelta(minutes=15)
"""Time of one row of `usage_totals`: every zone's midnight is at the end of one."""

_quarter = sa.literal_column(f"usage.at / {QUARTER // MICROSECOND}", sa.BigInteger)
_TOTALS = (
    sa.func.count(),
    sum((sa.func.coalesce(sa.func.sum(usage.c[name]), 0) for name in _COUNTED[:2]), sa.literal(0)),
    sa.func.sum(usage.c.cost_microusd),
)
_totals = sa.select(
    usage.c.tenant_id, _quarter.label("quarter"), *(sa.cast(each, sa.BigInteger) for each in _TOTALS)
).group_by(usage.c.tenant_id, _quarter)


def _quarter_of(at: datetime) -> int:
    return (at - EPOCH) // QUARTER


def _live_since(connection: sa.Connection) -> datetime:
    """Return the instant from which on there are no totals yet."""
    last = connection.execute(sa.select(sa.func.max(usage_totals.c.quarter))).scalar()
    return EPOCH if last is None else EPOCH + (last + 1) * QUARTER


def total_quarters(connection: sa.Connection, now: datetime) -> None:
    """Keep the totals of the quarters of an hour that were over an hour ago; those that have theirs keep them."""
    end = EPOCH + _quarter_of(now - timedelta(hours=1)) * QUARTER
    sums = _totals.where(usage.c.at >= _live_since(connection), usage.c.at < end)
    connection.execute(insert_new(connection, usage_totals).from_select(usage_totals.c.keys(), sums))


@dataclass(slots=True)
class DayUsage:
    """The calls of all people on one day."""

    calls: int = 0
    tokens: int = 0
    cost_microusd: int | None = None  # of those whose cost is known; None: of none


def usage_by_day(connection: sa.Connection, tenant: str, since: datetime, zone: tzinfo) -> dict[date, DayUsage]:
    """Return the totals of each day in a zone from this instant on, without days that have none."""
    live = max(since, _live_since(connection))
    rows = [
        *connection.execute(
            sa.select(usage_totals).where(
                usage_totals.c.tenant_id == tenant, usage_totals.c.quarter >= _quarter_of(since)
            )
        ),
        *connection.execute(_totals.where(usage.c.tenant_id == tenant, usage.c.at >= live)),
    ]
    days: dict[date, DayUsage] = {}
    for _, quarter, calls, tokens, cost in sorted(rows, key=lambda row: int(row[1])):
        total = days.setdefault((EPOCH + quarter * QUARTER).astimezone(zone).date(), DayUsage())
        total.calls += calls
        total.tokens += tokens
        if cost is not None:
            total.cost_microusd = (total.cost_microusd or 0) + cost
    return days


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """The usage of one person in a time."""

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
        usage.c.tenant_id == tenant, usage.c.user_id.in_(ids_of(user_id))
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
    """Return the newest chat turns of a tenant that ended since then, oldest first, without calls beside steps."""
    found = sa.select(turns.c.id, turns.c.session_id, turns.c.user_id).where(
        turns.c.tenant_id == tenant, turns.c.ended_at >= since, turns.c.kind == "chat"
    )
    rows = connection.execute(found.order_by(turns.c.ended_at.desc(), turns.c.id.desc()).limit(limit)).all()
    counted = sa.select(*(usage.c[name] for name in (*_COUNTED, "cost_microusd"))).where(usage.c.step >= 0)
    for row in reversed(rows):
        calls = connection.execute(counted.where(usage.c.turn_id == row.id))
        used = tuple(Usage(*call) for call in calls)
        yield RecordedTurn(row.session_id, row.user_id, events_of_turn(connection, row.id), used)
