"""Groups as their operators set them, as rows. Who may set what is decided in `gateway.access.groups`."""

from dataclasses import asdict, dataclass
from datetime import datetime

import sqlalchemy as sa

from channels.messages import Address
from gateway.store import talk
from gateway.store.dialect import insert_new
from gateway.store.tables.base import new_id
from gateway.store.tables.traffic import groups

MOST_CONTEXT = talk.MOST


@dataclass(frozen=True, slots=True)
class Group:
    """One group of an account's. Where nobody set anything, what `Group` says by itself holds."""

    id: str
    tenant: str
    channel: str
    account: str
    chat: str
    allowed: bool = False  # from the chat itself; the configuration may list it beside
    every_message: bool = False  # else the bot is meant where it is mentioned, replied to or commanded
    context: int = MOST_CONTEXT  # messages said before that it reads when it is meant; 0: none, and none is kept


def find(connection: sa.Connection, tenant: str, where: Address, now: datetime) -> Group:
    """The group of a chat; made, and not allowed, where there is none."""
    group = Group(new_id(), tenant, where.channel, where.account, where.chat)
    connection.execute(insert_new(connection, groups), _to_values(group) | {"changed_at": now})
    here = (groups.c.channel == where.channel, groups.c.account == where.account, groups.c.chat == where.chat)
    return _read(connection.execute(sa.select(groups).where(groups.c.tenant_id == tenant, *here)).one())


def get(connection: sa.Connection, group_id: str) -> Group | None:
    """The group of this id."""
    row = connection.execute(sa.select(groups).where(groups.c.id == group_id)).first()
    return None if row is None else _read(row)


def everywhere(connection: sa.Connection) -> list[Group]:
    """Every group of every tenant. A system query."""
    return [_read(row) for row in connection.execute(sa.select(groups)).all()]


def save(connection: sa.Connection, group: Group, now: datetime) -> bool:
    """Keep what it is now; False where it was that already."""
    values = _to_values(group)
    set_by_people = ("allowed", "every_message", "context")
    other = sa.or_(*(groups.c[name] != values[name] for name in set_by_people))
    changed = sa.update(groups).where(groups.c.id == group.id, other)
    wanted = {name: values[name] for name in set_by_people}
    return connection.execute(changed.values(**wanted, changed_at=now)).rowcount == 1


def _to_values(group: Group) -> dict[str, object]:
    values = asdict(group) | {"tenant_id": group.tenant}
    del values["tenant"]
    return values


def _read(row: "sa.Row[tuple[object, ...]]") -> Group:
    return Group(row.id, row.tenant_id, row.channel, row.account, row.chat, row.allowed, row.every_message, row.context)
