"""Leases: who of several processes owns which shards, accounts and chores; and what waits in shards.

Plain functions over a connection of PostgreSQL. A process renews one row, its membership, which ends by the database's
clock. What a process owns that is no living member is free; who takes it raises its epoch, which every write of an
owner holds in its own commit. `gateway.cluster` decides who asks for how much.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from agent.errors import Fenced
from gateway.store import journal
from gateway.store.dialect import LOCKED, insert_new
from gateway.store.inbox import InboxRow, waiting
from gateway.store.outbox import IS_OPEN
from gateway.store.tables.base import Instant
from gateway.store.tables.traffic import IS_WAITING, inbox, outbox, parked_lanes
from gateway.store.tables.turns import SHARDS, leases, members, shards

SOLE = 0
"""The epoch of a lease of a process that runs alone: it asks the store for none."""

CLOCKS_DIFFER_S = 2.0
"""The most seconds by which a machine's clock may differ from the database's, which stamps commits."""

FORGET_S = 600
"""Members that were gone for so long are forgotten."""

STORE_NOW = sa.cast(sa.extract("epoch", sa.func.clock_timestamp()) * 1_000_000, sa.BigInteger)
"""The instant by a server's own clock, as its rows have it."""


Condition = sa.ColumnElement[bool]


@dataclass(frozen=True, slots=True)
class Lease:
    """A right to send for an account, to read for it, or to do chores."""

    name: str  # "in telegram:main", "out telegram:main", "chores"
    epoch: int


@dataclass(frozen=True, slots=True)
class Member:
    """A process of a cluster, as it says of itself."""

    id: str  # NODE:PID.MARK, no two alike; the node is its home's, which one process at a time has
    host: str
    version: str
    key_mark: str  # of the keys in its home

    @property
    def node(self) -> str:
        """Return the part of the id that stays the same over restarts."""
        return self.id.partition(":")[0]


@dataclass(frozen=True, slots=True)
class MemberStanding:
    """A member as it is seen from outside."""

    member: Member
    joined_at: datetime
    lives: bool
    leaving: bool
    fenced: int


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """The leases that a process asks for, and those that it hands back."""

    wanted: Sequence[str] = ()  # names of leases
    shared: Collection[str] = ()  # names of which it takes no more than its share
    given: Collection[int] = ()  # shards
    given_names: Collection[str] = ()
    fenced: int = 0  # writes that were refused to it


@dataclass(frozen=True, slots=True)
class Round:
    """The result of one renewal: all that is owned now."""

    shards: Mapping[int, int]  # each with its epoch
    names: Mapping[str, int]
    living: int = 1  # processes that take a share
    ownerless: bool = False  # accounts are free that this process left to others
    rejoined: bool = False  # this process was no member any more, and is one again
    at: datetime | None = field(default=None, compare=False)  # by the server's clock; None: it is no member any more


_HOLD = (
    sa.select(leases.c.name)
    .where(leases.c.name == sa.bindparam("b_name"), leases.c.epoch == sa.bindparam("b_epoch"))
    .with_for_update(read=True, key_share=True)
)


def holds(connection: sa.Connection, lease: Lease) -> bool:
    """Return True if a lease still holds; no other process takes it before this commit is over."""
    if lease.epoch == SOLE:
        return True
    held: set[Lease] = connection.info.setdefault(LOCKED, set())
    if lease not in held and connection.execute(_HOLD, {"b_name": lease.name, "b_epoch": lease.epoch}).first():
        held.add(lease)
    return lease in held


def hold(connection: sa.Connection, lease: Lease) -> None:
    """Raise Fenced unless this lease still stands."""
    if not holds(connection, lease):
        raise Fenced(f"{lease.name} has a newer owner than epoch {lease.epoch}")


def server_now(connection: sa.Connection) -> datetime:
    """Return the server's time."""
    return connection.execute(sa.select(sa.type_coerce(STORE_NOW, Instant))).scalar_one()


def join(connection: sa.Connection, me: Member, now: datetime, lease_s: float) -> None:
    """Be a member; an earlier process of the same home is dead, since this one has the home: release what it owned."""
    earlier = connection.execute(sa.select(members.c.id).where(members.c.id.startswith(f"{me.node}:", autoescape=True)))
    _forget(connection, earlier.scalars().all())
    connection.execute(insert_new(connection, members), _member_row(me, now))
    _stay(connection, me.id, 0, lease_s)


def _member_row(me: Member, now: datetime) -> dict[str, object]:
    return {
        "id": me.id,
        "host": me.host,
        "version": me.version,
        "key_mark": me.key_mark,
        "joined_at": now,
        "until": now,
        "fenced": 0,
        "leaving": False,
    }


def look_round(
    connection: sa.Connection, me: Member, ask: LeaseRequest, lease_s: float, takes: timedelta | None = timedelta(0)
) -> Round:
    """Renew the membership, hand back what is given, take what is free: shards and `shared` names up to a fair share,
    and all `wanted` names.

    What a dead process owned is free once its membership ran out by `takes`; None: this process leaves, and takes
    nothing.
    """
    now = _stay(connection, me.id, ask.fenced, lease_s)
    rejoined = now is None and takes is not None
    if rejoined:  # it stood still for so long that it was forgotten, or its home has a twin that joined
        connection.execute(insert_new(connection, members), _member_row(me, datetime.now(UTC)))
        now = _stay(connection, me.id, ask.fenced, lease_s)
    _release(connection, shards, shards.c.owner == me.id, shards.c.shard, ask.given)
    _release(connection, leases, leases.c.owner == me.id, leases.c.name, ask.given_names)
    own = _read_own(connection, shards.c.shard, shards.c.epoch, shards.c.owner == me.id)
    names = _read_own(connection, leases.c.name, leases.c.epoch, leases.c.owner == me.id)
    living, ownerless = _count_living(connection), False
    if takes is not None:
        _release_dead(connection, takes)
        if (most := fair_share(SHARDS, living) - len(own)) > 0:
            own |= _take(connection, shards.c.shard, shards.c.epoch, me.id, sa.true(), most)
        names |= _take_names(connection, me.id, [name for name in ask.wanted if name not in names], len(ask.wanted))
        missing = [name for name in ask.shared if name not in names]
        most = fair_share(len(ask.shared), living) - (len(ask.shared) - len(missing))
        names |= _take_names(connection, me.id, missing, most)
        ownerless = bool(_list_free(connection, missing))
    return Round(own, names, living, ownerless, rejoined, now)


def fair_share(count: int, living: int) -> int:
    """Return the most of so many that each of the living processes is to have."""
    return -(-count // max(living, 1))


def _stay(connection: sa.Connection, id_: str, fenced: int, lease_s: float) -> datetime | None:
    """Be a living member for so long; when that is, by the server's clock. None where it is none."""
    until = STORE_NOW + int(lease_s * 1_000_000)
    stays = sa.update(members).where(members.c.id == id_).values(until=until, fenced=fenced)
    return connection.execute(stays.returning(sa.type_coerce(STORE_NOW, Instant))).scalar()


def _count_living(connection: sa.Connection) -> int:
    works = members.c.leaving.is_(False), members.c.until > STORE_NOW
    return int(connection.execute(sa.select(sa.func.count()).select_from(members).where(*works)).scalar_one())


def _read_own(connection: sa.Connection, key: sa.Column[Any], epoch: sa.Column[int], mine: Condition) -> dict[Any, int]:
    return {row[0]: row[1] for row in connection.execute(sa.select(key, epoch).where(mine))}


def _take(
    connection: sa.Connection, key: sa.Column[Any], epoch: sa.Column[int], owner: str, which: Condition, most: int
) -> dict[Any, int]:
    """Own free rows, at most so many, each by a higher epoch; not those that a commit under way holds."""
    table = key.table
    free = sa.select(key).where(table.c.owner.is_(None), which).order_by(sa.func.random()).limit(most)
    found = connection.execute(free.with_for_update(skip_locked=True)).scalars().all()
    if not found:
        return {}
    taken = sa.update(table).where(key.in_(found)).values(owner=owner, epoch=epoch + 1)
    return {row[0]: row[1] for row in connection.execute(taken.returning(key, epoch))}


def _take_names(connection: sa.Connection, owner: str, wanted: Collection[str], most: int) -> dict[str, int]:
    """Own those of these leases that are free, at most so many."""
    if not wanted:
        return {}
    known = set(connection.execute(sa.select(leases.c.name).where(leases.c.name.in_(wanted))).scalars())
    if rows := [{"name": name, "owner": None, "epoch": 0} for name in wanted if name not in known]:
        connection.execute(insert_new(connection, leases), rows)
    free = leases.c.name.in_(wanted)
    return _take(connection, leases.c.name, leases.c.epoch, owner, free, most) if most > 0 else {}


def _list_free(connection: sa.Connection, wanted: Collection[str]) -> Sequence[str]:
    free = sa.select(leases.c.name).where(leases.c.name.in_(wanted), leases.c.owner.is_(None))
    return connection.execute(free).scalars().all() if wanted else ()


def _release_dead(connection: sa.Connection, takes: timedelta) -> None:
    """Free what members own that ran out so long ago; one that comes back at this instant waits, and owns nothing."""
    gone = members.c.until < STORE_NOW - takes // timedelta(microseconds=1)
    dead = sa.select(members.c.id).where(gone, _owns()).with_for_update(skip_locked=True)
    for id_ in connection.execute(dead).scalars().all():
        _release_all(connection, id_)


def _owns() -> Condition:
    return sa.or_(*(sa.exists().where(table.c.owner == members.c.id) for table in (shards, leases)))


def _release_all(connection: sa.Connection, id_: str) -> None:
    for table in (shards, leases):
        connection.execute(sa.update(table).where(table.c.owner == id_).values(owner=None))


def _forget(connection: sa.Connection, ids: Collection[str]) -> None:
    for id_ in ids:
        _release_all(connection, id_)
    connection.execute(sa.delete(members).where(members.c.id.in_(ids)))


def _release(
    connection: sa.Connection, table: sa.Table, mine: Condition, key: sa.Column[Any], given: Collection[Any]
) -> None:
    """Free these rows; taking one raises its epoch."""
    if given:
        connection.execute(sa.update(table).where(mine, key.in_(given)).values(owner=None))


def begin_leaving(connection: sa.Connection, me: Member, given_names: Collection[str]) -> None:
    """Hand back these leases and take nothing more: from now on the others' fair share is larger."""
    connection.execute(sa.update(members).where(members.c.id == me.id).values(leaving=True))
    _release(connection, leases, leases.c.owner == me.id, leases.c.name, given_names)


def leave(connection: sa.Connection, me: Member) -> None:
    """Leave the cluster at a stop without a crash: own nothing, and let no attempt at what is left open count."""
    journal.forget_attempts(connection, inbox.c.shard.in_(sa.select(shards.c.shard).where(shards.c.owner == me.id)))
    _forget(connection, [me.id])


def standing(connection: sa.Connection) -> list[MemberStanding]:
    """Every member that is known still, in the order in which they came; those long gone are forgotten elsewhere."""
    query = sa.select(members, (members.c.until > STORE_NOW).label("lives")).order_by(members.c.joined_at, members.c.id)
    return [
        MemberStanding(
            Member(row.id, row.host, row.version, row.key_mark),
            row.joined_at,
            row.lives,
            row.leaving,
            row.fenced,
        )
        for row in connection.execute(query)
    ]


def forget_gone(connection: sa.Connection) -> None:
    """Forget members that were gone for long."""
    gone = connection.execute(sa.select(members.c.id).where(members.c.until < STORE_NOW - FORGET_S * 1_000_000))
    _forget(connection, gone.scalars().all())


def owners(connection: sa.Connection) -> tuple[Mapping[int, str], Mapping[str, str]]:
    """Return each shard's living owner, and each named lease's."""
    living = sa.select(members.c.id).where(members.c.until > STORE_NOW)
    has = sa.select(shards.c.shard, shards.c.owner).where(shards.c.owner.in_(living))
    named = sa.select(leases.c.name, leases.c.owner).where(leases.c.owner.in_(living)).order_by(leases.c.name)
    return {row[0]: row[1] for row in connection.execute(has)}, {row[0]: row[1] for row in connection.execute(named)}


@dataclass(frozen=True, slots=True)
class Backlog:
    """The rows that wait for an owner."""

    rows: int = 0
    behind_s: float = 0.0  # the age of the oldest, by the database's clock

    def __add__(self, other: "Backlog") -> "Backlog":
        return Backlog(self.rows + other.rows, max(self.behind_s, other.behind_s))


def _age_s(at: sa.Column[datetime]) -> sa.ColumnElement[float]:
    return sa.type_coerce((STORE_NOW - sa.type_coerce(at, sa.BigInteger)) / 1_000_000.0, sa.Float)


def _backlog(row: sa.Row[Any]) -> Backlog:
    return Backlog(row.rows, max(0.0, float(row.behind_s)))


def waiting_by_shard(connection: sa.Connection) -> Mapping[int, Backlog]:
    """Return the rows that no turn has claimed yet, by shard."""
    behind = sa.func.max(_age_s(inbox.c.admitted_at)).label("behind_s")
    query = sa.select(inbox.c.shard, sa.func.count().label("rows"), behind).where(IS_WAITING).group_by(inbox.c.shard)
    return {row.shard: _backlog(row) for row in connection.execute(query) if row.shard is not None}


def unsent_by_account(connection: sa.Connection) -> Mapping[tuple[str, str], Backlog]:
    """Return the parts that are due and not sent, by account; without unreachable chats."""
    due = sa.or_(outbox.c.not_before.is_(None), sa.type_coerce(outbox.c.not_before, sa.BigInteger) <= STORE_NOW)
    ready = IS_OPEN, due, outbox.c.lane.not_in(sa.select(parked_lanes.c.lane))
    behind = sa.func.max(_age_s(outbox.c.created_at)).label("behind_s")
    query = sa.select(outbox.c.channel, outbox.c.account, sa.func.count().label("rows"), behind).where(*ready)
    found = connection.execute(query.group_by(outbox.c.channel, outbox.c.account))
    return {(row.channel, row.account): _backlog(row) for row in found}


def waiting_in(connection: sa.Connection, owned: Collection[int], known: Collection[int], limit: int) -> list[InboxRow]:
    """As `inbox.waiting`, of the rows of these shards that are not known yet.

    Never by the newest id that was seen: what several processes commit is not seen in the order of the ids.
    """
    ours = inbox.c.shard == sa.any_(sa.literal(list(owned), sa.ARRAY(sa.SmallInteger)))
    unknown = inbox.c.id != sa.all_(sa.literal(list(known), sa.ARRAY(sa.BigInteger)))
    return waiting(connection, 0, limit, None, ours, unknown)


AGES_S = (10, 60, 600, 3600)


def waiting_by_age(connection: sa.Connection) -> dict[str, int]:
    """Return how many rows wait that no turn has claimed, by their age, youngest first."""
    least, age_s = 0, _age_s(inbox.c.admitted_at)
    bands: dict[str, sa.ColumnElement[bool]] = {}
    for most in AGES_S:
        bands[f"under {most:,} s"] = age_s < most if not least else sa.and_(age_s >= least, age_s < most)
        least = most
    bands[f"over {least:,} s"] = age_s >= least
    counted = [sa.func.count().filter(band).label(name) for name, band in bands.items()]
    (row,) = connection.execute(sa.select(*counted).where(IS_WAITING)).mappings()
    return {name: row[name] for name in bands if row[name]}


@dataclass(frozen=True, slots=True)
class ClusterLook:
    """A cluster at one instant: who is there, who owns what, and what waits where."""

    members: Sequence[MemberStanding] = ()
    shards: Mapping[int, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    waiting: Mapping[int, Backlog] = field(default_factory=dict)
    unsent: Mapping[tuple[str, str], Backlog] = field(default_factory=dict)
    ages: Mapping[str, int] = field(default_factory=dict)


def look_at_all(connection: sa.Connection) -> ClusterLook:
    """All of it."""
    has, names = owners(connection)
    waiting, unsent = waiting_by_shard(connection), unsent_by_account(connection)
    return ClusterLook(standing(connection), has, names, waiting, unsent, waiting_by_age(connection))


def still_waiting(connection: sa.Connection, ids: Collection[int]) -> set[int]:
    """Those of these rows that no turn has claimed, and that have no outcome."""
    known = inbox.c.id == sa.any_(sa.literal(list(ids), sa.ARRAY(sa.BigInteger)))
    query = sa.select(inbox.c.id).where(known, inbox.c.outcome.is_(None), inbox.c.turn_id.is_(None))
    return set(connection.execute(query).scalars())
