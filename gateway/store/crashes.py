"""Counts how often each turn or waiting message was at work when a process died, and how often quite alone.

Rows are made at the start after a death and go when their turn has ended or their message has its outcome. What they
lead to is `gateway.sessions.trials`' matter.
"""

import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import sqlalchemy as sa

from gateway.store.dialect import upsert
from gateway.store.tables.traffic import inbox
from gateway.store.tables.turns import SHARDS, crashes, events, sessions, turns


class AtWork(IntEnum):
    """What a turn or a message is doing, should the process die now."""

    NOT = 0  # it waits: no death is its fault
    BESIDE = 1  # others are at work as well
    ALONE = 2


@dataclass(frozen=True, slots=True)
class Record:
    """What one turn or message has seen since it last made progress."""

    deaths: int  # of the process, while it was at work
    alone: int  # so many of them while nothing else was


def turn_work(turn_id: str) -> str:
    """A turn, as the records name it."""
    return f"turn:{turn_id}"


def row_work(inbox_id: int) -> str:
    """A message or command that no turn has claimed, as the records name it."""
    return f"row:{inbox_id}"


def look_back(
    connection: sa.Connection,
    *,
    died: bool,
    among: Collection[int] | None = None,
    in_: Collection[int] | None = None,
) -> None:
    """At a start: count the death of the last process, where it was one, for all that was at work then.

    A turn that journaled anything since its last death begins to count anew. One without a record was begun by the
    last process, and so was at work. Where a process takes shards it is `among` these alone, and the owner died `in_`
    those of them.
    """
    known = {row.work: row for row in connection.execute(sa.select(crashes))}
    kept: list[dict[str, object]] = []
    elsewhere: set[str] = set()
    for turn_id, tenant, journaled, key in connection.execute(_OPEN_TURNS):
        shard = zlib.crc32(key.encode()) % SHARDS
        if among is not None and shard not in among:
            elsewhere.add(turn_work(turn_id))
            continue
        dead = died and (in_ is None or shard in in_)
        before = known.get(turn_work(turn_id))
        same = before is not None and before.events == journaled
        was = AtWork.BESIDE if before is None else before.at_work
        kept.append(
            {
                "work": turn_work(turn_id),
                "tenant_id": tenant,
                "at_work": AtWork.NOT,
                "deaths": (before.deaths if before and same else 0) + (dead and was > AtWork.NOT),
                "alone": (before.alone if before and same else 0) + (dead and same and was == AtWork.ALONE),
                "events": journaled,
            }
        )
    rows = {name: row for name, row in known.items() if name.startswith("row:")}
    waiting = {row_work(id_): shard for id_, shard in connection.execute(_WAITING)} if rows else {}
    for name in rows.keys() & waiting.keys():
        row, shard = rows[name], waiting[name]
        if among is not None and shard not in among:
            elsewhere.add(name)
            continue
        dead = died and (in_ is None or shard in in_)
        deaths = row.deaths + (dead and row.at_work > AtWork.NOT)
        alone = row.alone + (dead and row.at_work == AtWork.ALONE)
        kept.append(row._asdict() | {"at_work": AtWork.NOT, "deaths": deaths, "alone": alone})
    connection.execute(sa.delete(crashes).where(crashes.c.work.in_(known.keys() - elsewhere)))
    if kept:
        connection.execute(sa.insert(crashes), kept)


_OPEN_TURNS = (
    sa.select(
        turns.c.id,
        turns.c.tenant_id,
        sa.select(sa.func.count())
        .where(events.c.session_id == turns.c.session_id, events.c.turn_id == turns.c.id)
        .scalar_subquery(),
        sessions.c.key,
    )
    .join(sessions, sessions.c.id == turns.c.session_id)
    .where(turns.c.end_reason.is_(None), turns.c.parked_at.is_(None))  # a parked one was not at work
)

_WAITING = sa.select(inbox.c.id, inbox.c.shard).where(
    inbox.c.outcome.is_(None), inbox.c.turn_id.is_(None), inbox.c.session_key.is_not(None)
)


def records(connection: sa.Connection) -> Mapping[str, Record]:
    """All of them, by what they are about."""
    return {row.work: Record(row.deaths, row.alone) for row in connection.execute(sa.select(crashes))}


def mark(connection: sa.Connection, works: Iterable[str], tenant: str, at_work: AtWork) -> None:
    """Say what these are doing from now on."""
    fresh = {"tenant_id": tenant, "at_work": at_work, "deaths": 0, "alone": 0, "events": 0}
    rows: Sequence[dict[str, object]] = [{"work": work} | fresh for work in works]
    if rows:
        connection.execute(upsert(connection, crashes, ["at_work"]), rows)


def newest_row(connection: sa.Connection) -> int:
    """The newest row of the inbox; 0 for an empty one."""
    return int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(inbox.c.id), 0))).scalar_one())
