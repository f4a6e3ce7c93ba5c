"""Counts what is used of each cap, and what is set aside for calls under way. The caller says what the caps are.

Plain functions over a connection. What is set aside counts as used at once, and is put right when its call is over: of
a process that died nothing has to be found out, its calls count in full.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from agent.budgets import Spending
from gateway.store.dialect import insert_into, insert_new
from gateway.store.tables.people import users
from gateway.store.tables.turns import budget_holds, budget_use

SHORTEST_DAY = timedelta(hours=18)
"""Between two resets of a person's cap; a day in one zone has 23 hours at least."""


@dataclass(frozen=True, slots=True)
class Cap:
    """One cap with whose it is and for which day."""

    tenant: str
    scope: str  # turn | user | channel | tenant | day
    key: str  # whose: a turn's or a person's id, an account; "" for all
    day: str  # ISO date, of the zone it goes by; "" for a turn
    most_microusd: int | None
    most_tokens: int | None
    resets_at: datetime | None  # None: never

    @property
    def identity(self) -> tuple[str, str, str, str]:
        return self.tenant, self.scope, self.key, self.day

    def refuses(self, used: Spending, more: Spending) -> str | None:
        """Which of its two limits has no room for so much more: "usd" or "tokens"; None: neither."""
        if self.most_microusd is not None and more.microusd and used.microusd + more.microusd > self.most_microusd:
            return "usd"
        tokens = used.tokens + more.tokens
        return "tokens" if self.most_tokens is not None and tokens > self.most_tokens else None


class CapReached(Exception):
    """Nothing was set aside: this cap is reached."""

    def __init__(self, cap: Cap, limit: str) -> None:
        super().__init__(f"{cap.scope} {cap.key} has used its {limit}")
        self.cap = cap
        self.limit = limit  # usd | tokens


@dataclass(frozen=True, slots=True)
class CapUse:
    """A cap as it was last asked for, with what is used of it."""

    cap: Cap
    used: Spending  # with what is set aside

    @property
    def percent(self) -> int:
        """Return the share of the limit that is used most; over 100 if a call has passed it."""
        limits = (self.used.microusd, self.cap.most_microusd), (self.used.tokens, self.cap.most_tokens)
        return max((100 * used // most for used, most in limits if most), default=0)


_IDENTITY = ("tenant_id", "scope", "key", "day")


def reserve(
    connection: sa.Connection,
    id_: str,
    caps: Sequence[Cap],
    most: Spending,
    now: datetime,
    least: Spending | None = None,
) -> Spending:
    """Set aside for one call in all of these caps, and return how much: `most`, or what is left if `least` fits.

    What others have set aside counts as used, so calls together never pass a cap. The same again changes nothing.

    Raises:
        CapReached: one has no room for `least` (None: `most`); the caller's transaction must not hold.
    """
    same = sa.select(budget_holds.c.tokens, budget_holds.c.microusd).where(budget_holds.c.id == id_)
    if (held := connection.execute(same).first()) is not None:
        return Spending(held.tokens, held.microusd)
    granted = _grant(connection, caps, most, least or most, now)
    tenant = max(cap.tenant for cap in caps)  # "" of a cap that all tenants share
    hold = {"id": id_, "tenant_id": tenant, "tokens": granted.tokens, "microusd": granted.microusd, "at": now}
    connection.execute(budget_holds.insert(), hold)
    insert = insert_into(connection, budget_use).values([_as_row(cap, granted, now) for cap in caps])
    old, new = budget_use.c, insert.excluded
    added = {"microusd": old.microusd + new.microusd, "tokens": old.tokens + new.tokens}
    said = {name: new[name] for name in ("most_microusd", "most_tokens", "at")}
    below = sa.and_(
        sa.or_(new.most_microusd.is_(None), new.microusd == 0, old.microusd + new.microusd <= new.most_microusd),
        sa.or_(new.most_tokens.is_(None), old.tokens + new.tokens <= new.most_tokens),
    )
    is_over = old.resets_at <= now  # a day of this date in the person's former zone
    fresh = {"tokens": new.tokens, "microusd": new.microusd, "resets_at": new.resets_at}
    fresh |= {name: new[name] for name in ("told", "reached")}
    begun = {name: sa.case((is_over, value), else_=added.get(name, old[name])) for name, value in fresh.items()}
    change = {**begun, **said}
    upsert = insert.on_conflict_do_update(index_elements=list(_IDENTITY), set_=change, where=sa.or_(is_over, below))
    taken = {tuple(row) for row in connection.execute(upsert.returning(*(old[name] for name in _IDENTITY)))}
    for cap in caps:
        if (cap.tenant, cap.scope, cap.key, cap.day) not in taken:
            raise CapReached(cap, "usd" if cap.most_tokens is None else "tokens")  # another process was faster
    return granted


def _grant(connection: sa.Connection, caps: Sequence[Cap], most: Spending, least: Spending, now: datetime) -> Spending:
    """Return as much of `most` as every cap has left."""
    use, granted = budget_use.c, most
    running_rows = sa.select(budget_use).where(
        sa.or_(*map(_is, caps)), sa.or_(use.resets_at.is_(None), use.resets_at > now)
    )
    rows = {tuple(row[name] for name in _IDENTITY): row for row in connection.execute(running_rows).mappings()}
    for cap in caps:
        row = rows.get(cap.identity)
        used = Spending() if row is None else Spending(row["tokens"], row["microusd"])
        if (limit := cap.refuses(used, least)) is not None:
            raise CapReached(cap, limit)
        granted = Spending(
            granted.tokens if cap.most_tokens is None else min(granted.tokens, cap.most_tokens - used.tokens),
            granted.microusd
            if cap.most_microusd is None
            else min(granted.microusd, max(0, cap.most_microusd - used.microusd)),
        )
    return granted


def settle(connection: sa.Connection, id_: str, caps: Sequence[Cap], spent: Spending) -> Spending | None:
    """Put right what was set aside for a call, and say what that was; None: the same again, or after a restart."""
    held = connection.execute(
        sa.delete(budget_holds)
        .where(budget_holds.c.id == id_)
        .returning(budget_holds.c.tokens, budget_holds.c.microusd)
    ).first()
    if held is None:
        return None
    change = {"tokens": budget_use.c.tokens + (spent.tokens - held.tokens)}
    change["microusd"] = budget_use.c.microusd + (spent.microusd - held.microusd)
    connection.execute(sa.update(budget_use).where(sa.or_(*map(_is, caps))).values(change))
    return Spending(held.tokens, held.microusd)


def forget_holds(connection: sa.Connection) -> int:
    """Count the calls in full that an earlier process may have made before it died; return how many."""
    return connection.execute(sa.delete(budget_holds)).rowcount


def running(connection: sa.Connection, caps: Sequence[Cap], now: datetime) -> list[Cap]:
    """Return the caps, a person's with the day that they began in another zone if it still runs.

    If their day in another zone has just ended, the next reset is left out: a person who changes their zone each hour
    would have a cap an hour. What the users linked to a person used of their own caps is taken off the person's.
    """
    own = (cap if cap.scope != "user" else _without_linked(connection, cap, now) for cap in caps)
    return [_running(connection, cap, now) if cap.scope == "user" else cap for cap in own]


def _without_linked(connection: sa.Connection, cap: Cap, now: datetime) -> Cap:
    use, linked = budget_use.c, sa.select(users.c.id).where(users.c.alias_of == cap.key)
    tokens, microusd = (
        sa.cast(sa.func.coalesce(sa.func.sum(each), 0), sa.BigInteger) for each in (use.tokens, use.microusd)
    )
    theirs = (use.tenant_id == cap.tenant, use.scope == cap.scope, use.key.in_(linked), use.resets_at > now)
    used = Spending(*connection.execute(sa.select(tokens, microusd).where(*theirs)).one())
    return replace(
        cap,
        most_microusd=None if cap.most_microusd is None else max(0, cap.most_microusd - used.microusd),
        most_tokens=None if cap.most_tokens is None else max(0, cap.most_tokens - used.tokens),
    )


def _running(connection: sa.Connection, cap: Cap, now: datetime) -> Cap:
    use = budget_use.c
    mine = sa.and_(use.tenant_id == cap.tenant, use.scope == cap.scope, use.key == cap.key)
    found = sa.select(use.day, use.resets_at).where(mine, use.resets_at > now - SHORTEST_DAY)
    order = sa.case((use.resets_at > now, 0), else_=1), use.microusd.desc(), use.tokens.desc()
    row = connection.execute(found.order_by(*order).limit(1)).first()
    if row is None or cap.resets_at is None:
        return cap
    if row.resets_at > now:
        return replace(cap, day=row.day, resets_at=row.resets_at)
    is_short = cap.resets_at - row.resets_at < SHORTEST_DAY
    return replace(cap, resets_at=cap.resets_at + timedelta(days=1)) if is_short else cap


def used_of(connection: sa.Connection, cap: Cap) -> Spending:
    """Return the use of a cap, with the amounts that are set aside."""
    row = connection.execute(sa.select(budget_use.c.tokens, budget_use.c.microusd).where(_is(cap))).first()
    return Spending() if row is None else Spending(row.tokens, row.microusd)


def go_on(connection: sa.Connection, former_id: str, user_id: str, now: datetime) -> None:
    """Let a forgotten person who returns keep their use of today's cap; a new person's day is UTC's."""
    use = budget_use.c
    was = sa.and_(use.scope == "user", use.key == former_id)
    left = sa.select(budget_use).where(was, use.resets_at > now).order_by(use.resets_at.desc()).limit(1)
    row = connection.execute(left).mappings().first()
    connection.execute(sa.delete(budget_use).where(was))
    if row is not None:
        fresh = {"key": user_id, "day": now.astimezone(UTC).date().isoformat(), "told": False}
        connection.execute(budget_use.insert(), {**row, **fresh})


def take_up(connection: sa.Connection, uses: Sequence[CapUse], now: datetime) -> None:
    """Count what was used of each of these caps before it was set, once; one that has changed is not reached yet."""
    for use in uses:
        connection.execute(insert_new(connection, budget_use), _as_row(use.cap, use.used, now))
        most = {"most_microusd": use.cap.most_microusd, "most_tokens": use.cap.most_tokens}
        differs = sa.or_(*(budget_use.c[name].is_distinct_from(value) for name, value in most.items()))
        connection.execute(sa.update(budget_use).where(_is(use.cap), differs).values(reached=False, **most))


def let_go(connection: sa.Connection, tenant: str, scopes: Collection[str], now: datetime) -> None:
    """Forget the use of caps that are not set any more; `take_up` counts it again."""
    mine = budget_use.c.tenant_id == tenant, budget_use.c.scope.in_(scopes)
    connection.execute(sa.delete(budget_use).where(*mine, _of_today(now)))


def mark_reached(connection: sa.Connection, cap: Cap, now: datetime) -> None:
    """Note that a cap has refused a call."""
    connection.execute(insert_new(connection, budget_use), _as_row(cap, Spending(), now))
    connection.execute(sa.update(budget_use).where(_is(cap)).values(reached=True))


def find_reached(connection: sa.Connection, now: datetime, scopes: Collection[str]) -> list[CapUse]:
    """Return the caps of today that have refused a call."""
    refused = budget_use.c.reached.is_(True), budget_use.c.scope.in_(scopes)
    return [_to_use(row) for row in connection.execute(sa.select(budget_use).where(*refused, _of_today(now)))]


def nearly_used(connection: sa.Connection, now: datetime, percent: int) -> list[CapUse]:
    """Return the caps of today that are used up to this share and were not reported yet."""
    use = budget_use.c
    near = sa.or_(use.microusd * 100 >= use.most_microusd * percent, use.tokens * 100 >= use.most_tokens * percent)
    found = sa.select(budget_use).where(_of_today(now), use.told.is_(False), near).limit(100)
    return [_to_use(row) for row in connection.execute(found)]


def mark_told(connection: sa.Connection, cap: Cap) -> bool:
    """Mark a cap as reported; return False if it was reported before."""
    mark = sa.update(budget_use).where(_is(cap), budget_use.c.told.is_(False)).values(told=True)
    return connection.execute(mark).rowcount == 1


def in_use(connection: sa.Connection, now: datetime, limit: int) -> list[CapUse]:
    """Return the requested caps that hold now, those used most first; none of turns."""
    use = budget_use.c
    share = sa.func.coalesce(use.microusd * 1000 / use.most_microusd, use.tokens * 1000 / use.most_tokens)
    query = sa.select(budget_use).where(_of_today(now)).order_by(share.desc()).limit(limit)
    return [_to_use(row) for row in connection.execute(query)]


def _of_today(now: datetime) -> sa.ColumnElement[bool]:
    """Caps of days that hold now; by when they were last asked for, because that has an index."""
    return sa.and_(budget_use.c.at >= now - timedelta(days=2), budget_use.c.resets_at > now)


def _is(cap: Cap) -> sa.ColumnElement[bool]:
    use = budget_use.c
    same_reset = use.resets_at.is_not_distinct_from(cap.resets_at)
    mine = sa.and_(use.tenant_id == cap.tenant, use.scope == cap.scope, use.key == cap.key)
    return sa.and_(mine, use.day == cap.day, same_reset)


def _as_row(cap: Cap, used: Spending, now: datetime) -> dict[str, object]:
    return {
        "tenant_id": cap.tenant,
        "scope": cap.scope,
        "key": cap.key,
        "day": cap.day,
        "tokens": used.tokens,
        "microusd": used.microusd,
        "most_tokens": cap.most_tokens,
        "most_microusd": cap.most_microusd,
        "resets_at": cap.resets_at,
        "told": False,
        "reached": False,
        "at": now,
    }


def _to_use(row: Any) -> CapUse:
    cap = Cap(row.tenant_id, row.scope, row.key, row.day, row.most_microusd, row.most_tokens, row.resets_at)
    return CapUse(cap, Spending(row.tokens, row.microusd))
