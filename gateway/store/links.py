"""Links between two users who are one person, as rows, and what they move from one to the other. What the rules are is
decided in `gateway.access.linking`.

Whatever moves is written down, row by row, so that it can go back. What both have under one name stays with each of
them: of who joined it is then not seen until the link is undone. No code is in any table: it is derived from the id.
"""

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter

from channels.messages import Address
from gateway.store.dialect import insert_into
from gateway.store.tables.people import credentials, grants, identities, link_moves, links, users
from gateway.store.tables.traffic import chats, inbox
from gateway.store.tables.turns import budget_use, remembered_tools

_ADDRESS: TypeAdapter[Address] = TypeAdapter(Address)
_USER_KEYS = {"tenant_id", "user_id"}

_OWN = (identities, grants, credentials, remembered_tools, chats)
"""Of the harness's tables those whose rows follow the person. What was said and what it cost stays where it was."""


class LinkState(StrEnum):
    """Where a link stands."""

    OFFERED = "offered"  # its code waits to be given in another chat
    GIVEN = "given"  # whoever gave it is asked whether that is them
    AGREED = "agreed"  # they said so; now whoever offered it is asked
    LINKED = "linked"
    UNDONE = "undone"
    OVER = "over"  # refused, replaced or expired


WAITING = (LinkState.OFFERED, LinkState.GIVEN, LinkState.AGREED)


@dataclass(frozen=True, slots=True)
class Link:
    """One link; of a waiting one the other side may not be known yet."""

    id: str
    tenant: str
    user_id: str  # who offered it, and stays
    sender: str  # canonical
    place: Address
    state: LinkState
    created_at: datetime
    expires_at: datetime
    other_id: str | None = None  # who joins them
    other_sender: str | None = None
    other_place: Address | None = None
    role_before: str | None = None
    other_role: str | None = None
    role: str | None = None  # what both became by it; None: somebody decided otherwise, or the same, since
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Joining:
    """Two users who become one, or were: what an agent moves of its own data."""

    link_id: str
    tenant: str
    stays: str  # user id
    joins: str


def add(connection: sa.Connection, link: Link) -> None:
    """Keep a new one."""
    connection.execute(sa.insert(links), _to_values(link))


def save(connection: sa.Connection, link: Link, was: LinkState) -> bool:
    """Keep what it has become, in one conditional statement; False where it stood otherwise."""
    still = (links.c.id == link.id, links.c.state == was)
    return connection.execute(sa.update(links).where(*still).values(_to_values(link))).rowcount == 1


def get(connection: sa.Connection, link_id: str) -> Link | None:
    """The link of this id."""
    return next(iter(_select(connection, links.c.id == link_id)), None)


def waiting(connection: sa.Connection, tenant: str, *states: LinkState) -> list[Link]:
    """Links in these states, oldest first."""
    return _select(connection, sa.and_(links.c.tenant_id == tenant, links.c.state.in_(states)))


def of_user(connection: sa.Connection, user_id: str, *states: LinkState) -> list[Link]:
    """The links of a user in these states, on either side, oldest first."""
    mine = sa.or_(links.c.user_id == user_id, links.c.other_id == user_id)
    return _select(connection, sa.and_(mine, links.c.state.in_(states)))


def settle_roles(connection: sa.Connection, user_id: str) -> None:
    """Somebody decided what a person is: no link of theirs gives anything back for it when it is undone."""
    held = (links.c.user_id == user_id, links.c.state == LinkState.LINKED)
    connection.execute(sa.update(links).where(*held).values(role=None))


def expire(connection: sa.Connection, now: datetime, latest_birth: datetime) -> None:
    """End what waited too long, or was born after `latest_birth`; no clock set back revives it."""
    late = sa.or_(links.c.expires_at <= now, links.c.created_at > latest_birth)
    over = sa.update(links).where(links.c.state.in_(WAITING), late)
    connection.execute(over.values(state=LinkState.OVER, ended_at=now))


def forget(connection: sa.Connection, before: datetime) -> None:
    """Delete what ended before then, but for links that hold."""
    ended = (links.c.state.in_([LinkState.OVER, LinkState.UNDONE]), links.c.ended_at < before)
    old = sa.select(links.c.id).where(*ended)
    connection.execute(sa.delete(link_moves).where(link_moves.c.link_id.in_(old)))
    connection.execute(sa.delete(links).where(*ended))


def forget_user(connection: sa.Connection, user_id: str) -> None:
    """Delete every link of a user, on either side, with what it moved: it stays where it is."""
    mine = sa.or_(links.c.user_id == user_id, links.c.other_id == user_id)
    gone = sa.select(links.c.id).where(mine)
    connection.execute(sa.delete(link_moves).where(link_moves.c.link_id.in_(gone)))
    connection.execute(sa.delete(links).where(mine))


# ------------------------------------------------------------ what moves


def join(connection: sa.Connection, joining: Joining) -> None:
    """Let one user be the other: identities, grants, credentials, what is remembered of tools, and what waits."""
    for table in _OWN:
        move_rows(connection, joining, table)
    waits = (inbox.c.user_id == joining.joins, inbox.c.outcome.is_(None))
    connection.execute(sa.update(inbox).where(*waits).values(user_id=joining.stays))
    _add_budgets(connection, joining)
    _take_zone(connection, joining)
    connection.execute(sa.update(users).where(users.c.id == joining.joins).values(joined=joining.stays))


def part(connection: sa.Connection, joining: Joining) -> None:
    """Let them be two again, each with what was theirs; what came since stays with who stayed."""
    connection.execute(sa.update(users).where(users.c.id == joining.joins).values(joined=None))
    for table in _OWN:
        return_rows(connection, joining, table)


def move_rows(
    connection: sa.Connection, joining: Joining, table: sa.Table, was: "sa.Column[Any] | None" = None
) -> None:
    """Give a table's rows of who joins to who stays, but for those that they have already, and write down which.

    `was` is the column whose value is written down, too.
    """
    mine = sa.and_(table.c.user_id == joining.joins, ~_has_same(table, joining.stays))
    said = sa.select(
        sa.literal(joining.tenant), sa.literal(joining.link_id), sa.literal(table.name), _row_key(table),
        sa.null() if was is None else was,
    ).where(mine)  # fmt: skip
    noted = insert_into(connection, link_moves).from_select(["tenant_id", "link_id", "kind", "row", "was"], said)
    connection.execute(noted)
    connection.execute(sa.update(table).where(mine).values(user_id=joining.stays))


def return_rows(connection: sa.Connection, joining: Joining, table: sa.Table) -> None:
    """Give back what `move_rows` took, as far as it is there still and would not stand twice."""
    moved = sa.select(link_moves.c.row).where(*_of(joining, table))
    back = (table.c.user_id == joining.stays, _row_key(table).in_(moved), ~_has_same(table, joining.joins))
    connection.execute(sa.update(table).where(*back).values(user_id=joining.joins))


def moved_rows(joining: Joining, table: sa.Table) -> "sa.Select[tuple[str]]":
    """The keys of a table's rows that this link moved."""
    return sa.select(link_moves.c.row).where(*_of(joining, table))


def _of(joining: Joining, table: sa.Table) -> tuple[sa.ColumnElement[bool], ...]:
    return (link_moves.c.link_id == joining.link_id, link_moves.c.kind == table.name)


def _row_key(table: sa.Table) -> sa.ColumnElement[str]:
    """What names a row of a user's; "" where a user has one alone."""
    names = ["id"] if "id" in table.c else [c.name for c in table.primary_key.columns if c.name not in _USER_KEYS]
    parts: list[sa.ColumnElement[str]] = [sa.cast(table.c[name], sa.String) for name in names]
    if not parts:
        return sa.literal("")
    key = parts[0]
    for part_ in parts[1:]:
        key = key + sa.literal(":") + part_
    return key


def _has_same(table: sa.Table, user_id: str) -> sa.ColumnElement[bool]:
    """Whether this user has a row that the table would not take twice."""
    other = table.alias()
    kept_apart = [
        key for key in (table.primary_key, *table.constraints)
        if isinstance(key, sa.PrimaryKeyConstraint | sa.UniqueConstraint) and "user_id" in key.columns
    ]  # fmt: skip
    same = [
        sa.and_(sa.true(), *(other.c[c.name] == table.c[c.name] for c in key.columns if c.name not in _USER_KEYS))
        for key in kept_apart
    ]
    if not same:
        return sa.false()
    return sa.exists().where(other.c.user_id == user_id, other.c.tenant_id == table.c.tenant_id, sa.or_(*same))


def _add_budgets(connection: sa.Connection, joining: Joining) -> None:
    """What either has used of a day's cap both have; it is not taken apart again."""
    mine = (budget_use.c.scope == "user", budget_use.c.key == joining.joins)
    for row in connection.execute(sa.select(budget_use).where(*mine)).mappings().all():
        insert = insert_into(connection, budget_use).values({**row, "key": joining.stays})
        old, new = budget_use.c, insert.excluded
        added = {name: old[name] + new[name] for name in ("microusd", "tokens")}
        index = ["tenant_id", "scope", "key", "day"]
        connection.execute(insert.on_conflict_do_update(index_elements=index, set_=added))


def _take_zone(connection: sa.Connection, joining: Joining) -> None:
    """Who stays and has said no zone, or no language, has the other's."""
    row = connection.execute(sa.select(users).where(users.c.id == joining.joins)).one()
    if row.zone_from != "nobody":
        lacking = (users.c.id == joining.stays, users.c.zone_from == "nobody")
        connection.execute(sa.update(users).where(*lacking).values(timezone=row.timezone, zone_from=row.zone_from))
    speechless = (users.c.id == joining.stays, users.c.locale.is_(None))
    connection.execute(sa.update(users).where(*speechless).values(locale=row.locale))


def _to_values(link: Link) -> dict[str, object]:
    values = asdict(link) | {"tenant_id": link.tenant, "place": _ADDRESS.dump_json(link.place).decode()}
    values["other_place"] = None if link.other_place is None else _ADDRESS.dump_json(link.other_place).decode()
    del values["tenant"]
    return values


def _select(connection: sa.Connection, which: sa.ColumnElement[bool]) -> list[Link]:
    found = connection.execute(sa.select(links).where(which).order_by(links.c.created_at, links.c.id)).mappings()
    return [_read(row) for row in found.all()]


def _read(row: "sa.RowMapping") -> Link:
    values = dict(row) | {"tenant": row["tenant_id"], "state": LinkState(row["state"])}
    values["place"] = _ADDRESS.validate_json(row["place"])
    values["other_place"] = None if row["other_place"] is None else _ADDRESS.validate_json(row["other_place"])
    del values["tenant_id"]
    return Link(**values)
