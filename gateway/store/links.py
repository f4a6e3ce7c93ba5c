"""Links between two users who are one person, as rows. `gateway.access.linking` holds the rules.

While a link holds, the user who gave the code is an alias (`users.alias_of`) of the user who offered it. No rows move:
readers select the rows of every id of a person (`gateway.store.people.ids_of`). No table holds a code: it is derived
from the link's id.
"""

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from pydantic import TypeAdapter

from channels.messages import Address
from gateway.store.people import NOBODY
from gateway.store.tables.people import links, users
from gateway.store.tables.traffic import inbox

_ADDRESS: TypeAdapter[Address] = TypeAdapter(Address)


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
    other_role: str | None = None  # of the user who joins, before the link
    ended_at: datetime | None = None


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


def expire(connection: sa.Connection, now: datetime, latest_birth: datetime) -> None:
    """End what waited too long, or was born after `latest_birth`; no clock set back revives it."""
    late = sa.or_(links.c.expires_at <= now, links.c.created_at > latest_birth)
    over = sa.update(links).where(links.c.state.in_(WAITING), late)
    connection.execute(over.values(state=LinkState.OVER, ended_at=now))


def forget(connection: sa.Connection, before: datetime) -> None:
    """Delete what ended before then, but for links that hold."""
    ended = (links.c.state.in_([LinkState.OVER, LinkState.UNDONE]), links.c.ended_at < before)
    connection.execute(sa.delete(links).where(*ended))


def forget_user(connection: sa.Connection, user_id: str) -> None:
    """Delete every link of a user, on either side."""
    mine = sa.or_(links.c.user_id == user_id, links.c.other_id == user_id)
    connection.execute(sa.delete(links).where(mine))


def join(connection: sa.Connection, link: Link) -> None:
    """Make the user who gave the code an alias of the one who offered it.

    The user who offered takes the zone and the language that they never set. Waiting messages are answered as theirs.
    """
    row = connection.execute(sa.select(users).where(users.c.id == link.other_id)).one()
    if row.zone_from != NOBODY:
        lacking = (users.c.id == link.user_id, users.c.zone_from == NOBODY)
        connection.execute(sa.update(users).where(*lacking).values(timezone=row.timezone, zone_from=row.zone_from))
    speechless = (users.c.id == link.user_id, users.c.locale.is_(None))
    connection.execute(sa.update(users).where(*speechless).values(locale=row.locale))
    waiting = (inbox.c.user_id == link.other_id, inbox.c.outcome.is_(None))
    connection.execute(sa.update(inbox).where(*waiting).values(user_id=link.user_id))
    connection.execute(sa.update(users).where(users.c.id == link.other_id).values(alias_of=link.user_id))


def part(connection: sa.Connection, link: Link) -> None:
    """End the alias."""
    connection.execute(sa.update(users).where(users.c.id == link.other_id).values(alias_of=None))


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
