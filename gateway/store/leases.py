"""Leases: who of several processes owns which shards, accounts and chores, until when, by the database's clock; and
what waits in shards.

Plain functions over a connection of PostgreSQL. An owner renews what it has; what ran out anybody takes, with a higher
epoch, which every write of the owner carries. `gateway.cluster` decides who asks for how much.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from agent.errors import Fenced
from gateway.store import journal
from gateway.store.dialect import LOCKED, HotStatement, insert_new
from gateway.store.inbox import InboxRow, waiting
from gateway.store.outbox import IS_OPEN
from gateway.store.tables.base import Instant
from gateway.store.tables.traffic import IS_WAITING, inbox, outbox, parked_lanes
from gateway.store.tables.turns import leases, members, shards

SOLE = 0
"""The epoch of a lease where one process has all: nobody asks the store for it."""

FORGET_S = 600
"""Members that were gone for so long are forgotten."""

STORE_NOW = sa.cast(sa.extract("epoch", sa.func.clock_timestamp()) * 1_000_000, sa.BigInteger)
"""The instant by a server's own clock, as its rows have it."""


@dataclass(frozen=True, slots=True)
class Lease:
    """What entitles a process to send for an account, to read for it, or to do chores."""

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
        """What stays the same over restarts."""
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
class Round:
    """What one look brought: all that is owned now, and how many others want shards."""

    shards: Mapping[int, int]  # each with its epoch
    names: Mapping[str, int]
    died: Collection[int] = ()  # shards among them that their owner let run out
    rejoined: bool = False  # this process was no member any more, and is one again
    at: datetime | None = field(default=None, compare=False)  # by the server's clock; None: it is no member any more


_hold = HotStatement(
    sa.select(leases.c.name)
    .where(leases.c.name == sa.bindparam("b_name"), leases.c.epoch == sa.bindparam("b_epoch"))
    .with_for_update(read=True, key_share=True)
)


def holds(connection: sa.Connection, lease: Lease) -> bool:
    """Whether a lease still stands; until this commit is over nobody takes it, so that a group asks once."""
    if lease.epoch == SOLE:
        return True
    held: set[Lease] = connection.info.setdefault(LOCKED, set())
    if lease not in held and _hold.rows(connection, {"b_name": lease.name, "b_epoch": lease.epoch}):
        held.add(lease)
    return lease in held


def hold(connection: sa.Connection, lease: Lease) -> None:
    """Raise Fenced unless this lease still stands."""
    if not holds(connection, lease):
        raise Fenced(f"{lease.name} has a newer owner than epoch {lease.epoch}")


def server_now(connection: sa.Connection) -> datetime:
    """What its clock shows."""
    return connection.execute(sa.select(sa.type_coerce(STORE_NOW, Instant))).scalar_one()


def join(connection: sa.Connection, me: Member, now: datetime, lease_s: float) -> None:
    """Be one of the cluster; what an earlier process of the same home had is free: it is dead, for we have its home."""
    for table in (shards, leases):
        mine = table.c.owner.startswith(f"{me.node}:", autoescape=True)
        connection.execute(sa.update(table).where(mine).values(until=sa.literal(0, sa.BigInteger)))
    connection.execute(sa.delete(members).where(members.c.id.startswith(f"{me.node}:", autoescape=True)))
    connection.execute(insert_new(connection, members), _member_row(me, now))
    _stay(connection, me.id, 0, lease_s)


def _member_row(me: Member, now: datetime) -> dict[str, object]:
    return {
        "id": me.id, "host": me.host, "version": me.version, "key_mark": me.key_mark,
        "joined_at": now, "until": now, "fenced": 0, "leaving": False,
    }  # fmt: skip


def look_round(
    connection: sa.Connection,
    me: Member,
    wanted: Sequence[str],
    surplus: Collection[int],
    fenced: int,
    lease_s: float,
    *,
    takes: timedelta | None = timedelta(0),
) -> Round:
    """Renew what is owned, hand back what is idle and more than a fair share, take what is free up to that share.

    `wanted` are the names of leases that this process would have; `surplus` shards that it may do without. It `takes`
    what its owner let run out so long ago; None: it leaves, takes nothing, and no share is fair any more.
    """
    until = STORE_NOW + int(lease_s * 1_000_000)
    now = _stay(connection, me.id, fenced, lease_s)
    rejoined = now is None and takes is not None
    before = STORE_NOW - (takes or timedelta(0)) // timedelta(microseconds=1)
    if rejoined:  # it stood still for so long that it was forgotten, or its home has a twin that joined
        connection.execute(insert_new(connection, members), _member_row(me, datetime.now(UTC)))
        now = _stay(connection, me.id, fenced, lease_s)
    renewed = sa.update(shards).where(shards.c.owner == me.id).values(until=until)
    own = {row.shard: row.epoch for row in connection.execute(renewed.returning(shards.c.shard, shards.c.epoch))}
    kept = sa.update(leases).where(leases.c.owner == me.id).values(until=until)
    names = {row.name: row.epoch for row in connection.execute(kept.returning(leases.c.name, leases.c.epoch))}
    died: list[int] = []
    share = 0 if takes is None else _share(connection)
    if len(own) > share:
        given = [shard for shard in surplus if shard in own][: len(own) - share]
        hand_back(connection, me.id, given)
        own = {shard: epoch for shard, epoch in own.items() if shard not in given}
    elif len(own) < share:
        died = _take_shards(connection, me.id, share - len(own), (before, until), own)
    if missing := [name for name in wanted if name not in names]:
        _take_names(connection, me.id, missing, (before, until), names)
    return Round(own, names, died, rejoined, now)


def _stay(connection: sa.Connection, id_: str, fenced: int, lease_s: float) -> datetime | None:
    """Be a living member for so long; when that is, by the server's clock. None where it is none."""
    until = STORE_NOW + int(lease_s * 1_000_000)
    stays = sa.update(members).where(members.c.id == id_).values(until=until, fenced=fenced)
    return connection.execute(stays.returning(sa.type_coerce(STORE_NOW, Instant))).scalar()


def _share(connection: sa.Connection) -> int:
    """Return how many shards each process is to have."""
    works = members.c.leaving.is_(False), members.c.until > STORE_NOW
    living = int(connection.execute(sa.select(sa.func.count()).select_from(members).where(*works)).scalar_one())
    total = int(connection.execute(sa.select(sa.func.count()).select_from(shards)).scalar_one())
    return -(-total // max(living, 1))


Span = tuple[sa.ColumnElement[int], sa.ColumnElement[int]]
"""What ended before the first instant is free, and is taken until the second."""


def _take_shards(connection: sa.Connection, owner: str, most: int, span: Span, own: dict[int, int]) -> list[int]:
    """Take free shards, at most so many, into `own`; those whose owner let them run out."""
    before, until = span
    free = sa.or_(shards.c.until.is_(None), shards.c.until < before)
    query = sa.select(shards.c.shard, shards.c.owner).where(free)
    rows = connection.execute(query.order_by(sa.func.random()).limit(most).with_for_update(skip_locked=True)).all()
    if not rows:
        return []
    taken = sa.update(shards).where(shards.c.shard.in_([row.shard for row in rows]))
    values = taken.values(owner=owner, epoch=shards.c.epoch + 1, until=until)
    own |= {row.shard: row.epoch for row in connection.execute(values.returning(shards.c.shard, shards.c.epoch))}
    return [row.shard for row in rows if row.owner is not None]


def _take_names(
    connection: sa.Connection, owner: str, wanted: Sequence[str], span: Span, names: dict[str, int]
) -> None:
    """Take those of the named leases that are free."""
    before, until = span
    fresh = [{"name": name, "owner": None, "epoch": 0, "until": None} for name in wanted]
    known = set(connection.execute(sa.select(leases.c.name).where(leases.c.name.in_(wanted))).scalars())
    if rows := [row for row in fresh if row["name"] not in known]:
        connection.execute(insert_new(connection, leases), rows)
    free = leases.c.name.in_(wanted), sa.or_(leases.c.until.is_(None), leases.c.until < before)
    query = sa.select(leases.c.name).where(*free).with_for_update(skip_locked=True)
    found = connection.execute(query).scalars().all()
    if not found:
        return
    taken = sa.update(leases).where(leases.c.name.in_(found))
    values = taken.values(owner=owner, epoch=leases.c.epoch + 1, until=until)
    names |= {row.name: row.epoch for row in connection.execute(values.returning(leases.c.name, leases.c.epoch))}


def hand_back(connection: sa.Connection, owner: str, given: Collection[int]) -> None:
    """Release idle shards; raise the epoch so that late writes of this owner are fenced."""
    if given:
        where = shards.c.owner == owner, shards.c.shard.in_(given)
        connection.execute(sa.update(shards).where(*where).values(owner=None, until=None, epoch=shards.c.epoch + 1))


def hand_back_names(connection: sa.Connection, owner: str, given: Collection[str]) -> None:
    """Let these leases go."""
    if given:
        where = leases.c.owner == owner, leases.c.name.in_(given)
        connection.execute(sa.update(leases).where(*where).values(owner=None, until=None, epoch=leases.c.epoch + 1))


def begin_leaving(connection: sa.Connection, me: Member) -> None:
    """Take nothing more: from now on the others' fair share is larger."""
    connection.execute(sa.update(members).where(members.c.id == me.id).values(leaving=True))


def leave(connection: sa.Connection, me: Member) -> None:
    """Leave the cluster at a stop without a crash: own nothing, and let no attempt at what is left open count."""
    journal.forget_attempts(connection, inbox.c.shard.in_(sa.select(shards.c.shard).where(shards.c.owner == me.id)))
    for table in (shards, leases):
        mine = sa.update(table).where(table.c.owner == me.id)
        connection.execute(mine.values(owner=None, until=None, epoch=table.c.epoch + 1))
    connection.execute(sa.delete(members).where(members.c.id == me.id))


def standing(connection: sa.Connection) -> list[MemberStanding]:
    """Every member that is known still, in the order in which they came; those long gone are forgotten elsewhere."""
    query = sa.select(members, (members.c.until > STORE_NOW).label("lives")).order_by(members.c.joined_at, members.c.id)
    return [
        MemberStanding(
            Member(row.id, row.host, row.version, row.key_mark),
            row.joined_at, row.lives, row.leaving, row.fenced,
        )
        for row in connection.execute(query)
    ]  # fmt: skip


def forget_gone(connection: sa.Connection) -> None:
    """Forget members that were gone for long."""
    connection.execute(sa.delete(members).where(members.c.until < STORE_NOW - FORGET_S * 1_000_000))


def owners(connection: sa.Connection) -> tuple[Mapping[int, str], Mapping[str, str]]:
    """Each shard's owner, and each named lease's, as far as these have not run out."""
    lives = shards.c.owner.is_not(None), shards.c.until > STORE_NOW
    has = {row.shard: row.owner for row in connection.execute(sa.select(shards.c.shard, shards.c.owner).where(*lives))}
    named = sa.select(leases.c.name, leases.c.owner).where(leases.c.owner.is_not(None), leases.c.until > STORE_NOW)
    return has, {row.name: row.owner for row in connection.execute(named.order_by(leases.c.name))}


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits for an owner's work."""

    rows: int = 0
    behind_s: float = 0.0  # the age of the oldest, by the database's clock

    def __add__(self, other: "Backlog") -> "Backlog":
        return Backlog(self.rows + other.rows, max(self.behind_s, other.behind_s))


def _age_s(at: sa.Column[datetime]) -> sa.ColumnElement[float]:
    return sa.type_coerce((STORE_NOW - sa.type_coerce(at, sa.BigInteger)) / 1_000_000.0, sa.Float)


def _backlog(row: sa.Row[Any]) -> Backlog:
    return Backlog(row.rows, max(0.0, float(row.behind_s)))


def waiting_by_shard(connection: sa.Connection) -> Mapping[int, Backlog]:
    """What no turn has claimed yet."""
    behind = sa.func.max(_age_s(inbox.c.admitted_at)).label("behind_s")
    query = sa.select(inbox.c.shard, sa.func.count().label("rows"), behind).where(IS_WAITING).group_by(inbox.c.shard)
    return {row.shard: _backlog(row) for row in connection.execute(query) if row.shard is not None}


def unsent_by_account(connection: sa.Connection) -> Mapping[tuple[str, str], Backlog]:
    """What is to be said by now and is not; without the chats that cannot be reached."""
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
    """How many rows wait that no turn has claimed, by how long they have, youngest first."""
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
