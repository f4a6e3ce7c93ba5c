"""Groups as their operators set them, as rows. Who may set what is decided in `gateway.commands.groups`."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from channels.messages import Address
from gateway.store import talk
from gateway.store.dialect import insert_new
from gateway.store.tables.base import new_id
from gateway.store.tables.traffic import groups

MOST_CONTEXT = talk.MOST
KEPT_FOR = timedelta(days=1)
"""How long a group can be allowed by its button, and what was said there before is kept."""

_NOTHING = {"kept": None, "kept_of": None, "kept_at": None}


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


def keep(connection: sa.Connection, group_id: str, said: str | None, user_id: str, now: datetime) -> None:
    """Keep what somebody said there last, in place of what was kept; None: nothing of it."""
    values = {"kept": said, "kept_of": user_id, "kept_at": now} if said else _NOTHING
    connection.execute(sa.update(groups).where(groups.c.id == group_id).values(values))


def kept_in(connection: sa.Connection, tenant: str, where: Address) -> tuple[str, str, str] | None:
    """Of a chat: the group's id, what is kept there, and of whom; None where nothing is."""
    here = (groups.c.channel == where.channel, groups.c.account == where.account, groups.c.chat == where.chat)
    said = sa.select(groups.c.id, groups.c.kept, groups.c.kept_of)
    found = connection.execute(said.where(groups.c.tenant_id == tenant, *here, groups.c.kept.is_not(None))).first()
    return None if found is None else (found.id, found.kept, found.kept_of)


def take(connection: sa.Connection, group_id: str, since: datetime) -> str | None:
    """What was kept since then, which is kept no more."""
    of_group = groups.c.id == group_id
    said = connection.execute(sa.select(groups.c.kept).where(of_group, groups.c.kept_at >= since)).scalar()
    connection.execute(sa.update(groups).where(of_group).values(_NOTHING))
    return said


def forget_kept(connection: sa.Connection, *, before: datetime | None = None, user_id: str | None = None) -> None:
    """Keep nothing any more of what was said before then, or by this user."""
    which = groups.c.kept_of == user_id if before is None else groups.c.kept_at < before
    connection.execute(sa.update(groups).where(which).values(_NOTHING))


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
