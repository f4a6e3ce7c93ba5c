"""Groups as their operators set them, as rows, and what is said in them that is not meant for the bot.

Who may set what is decided in `gateway.commands.groups`. What a group said is read back as it reads by now, since the
bot last had its turn; of what was taken back, or said in another thread, nothing is found. The caller decides who may
be read.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from pydantic import ValidationError

from channels.messages import INBOUND_EVENT, Address, ChatKind, InboundEvent, InboundMessage
from gateway.store import retention
from gateway.store.dialect import insert_new
from gateway.store.inbox import Outcome
from gateway.store.tables.base import new_id
from gateway.store.tables.traffic import groups, inbox
from gateway.store.tables.turns import sessions, turns

MOST_SAID = retention.LAST[Outcome.CONTEXT]

TURNS = 20
"""So many turns of a conversation, the newest, are looked at: one that waited for its person may be read from last."""


@dataclass(frozen=True, slots=True)
class Talk:
    """One message that was not meant for the bot."""

    user_id: str
    message: InboundMessage


def said_before(connection: sa.Connection, asked: InboundEvent) -> list[Talk]:
    """What was said in the group before this event and after what an earlier turn there has read, oldest first."""
    address = asked.address
    in_chat = (
        inbox.c.tenant_id == asked.tenant,
        inbox.c.channel == address.channel,
        inbox.c.account == address.account,
        inbox.c.chat == address.chat,
    )
    its_event = (inbox.c.channel == address.channel, inbox.c.account == address.account)
    query = sa.select(inbox.c.id, inbox.c.session_key).where(*its_event, inbox.c.event_id == asked.event_id)
    its_row = connection.execute(query).first()
    if its_row is None or its_row.session_key is None:
        return []
    since = _since(connection, asked.tenant, its_row.session_key, its_row.id)
    found = connection.execute(
        sa.select(inbox.c.id, inbox.c.message_id, inbox.c.user_id, inbox.c.payload)
        .where(
            *in_chat,
            inbox.c.outcome == sa.literal_column(f"'{Outcome.CONTEXT.value}'"),
            inbox.c.payload != sa.literal_column("''"),
            inbox.c.id < its_row.id,
            inbox.c.id > since.id,
            *(() if since.began_at is None else (inbox.c.admitted_at > since.began_at,)),
        )
        .order_by(inbox.c.id.desc())
        .limit(MOST_SAID)
    ).all()
    threads = _threads_of(asked)
    talk: dict[str, Talk] = {}  # by message: an edit takes the place of what it changed
    last: dict[str, int] = {}
    for row in reversed(found):
        message = _message(row.payload)
        if message is not None and message.address.thread in threads and row.user_id is not None:
            talk[message.message_id] = Talk(row.user_id, message)
            last[message.message_id] = row.id
    changed = _changed_since(connection, in_chat, last)
    return [said for id_, said in talk.items() if id_ not in changed]


@dataclass(frozen=True, slots=True)
class _Since:
    """From where on nothing was read yet."""

    id: int = 0  # of the inbox: an earlier turn took this row
    began_at: datetime | None = None  # `/new` left behind what was said before


def _since(connection: sa.Connection, tenant: str, key: str, before_id: int) -> _Since:
    living = connection.execute(
        sa.select(sessions.c.id, sessions.c.generation, sessions.c.created_at)
        .where(sessions.c.tenant_id == tenant, sessions.c.key == key)
        .order_by(sessions.c.generation.desc())
        .limit(1)
    ).first()
    if living is None:
        return _Since()
    newest = sa.select(turns.c.id).where(turns.c.session_id == living.id).order_by(turns.c.id.desc()).limit(TURNS)
    taken = sa.select(sa.func.max(inbox.c.id)).where(
        inbox.c.turn_id.in_(newest.scalar_subquery()), inbox.c.turn_id.is_not(None), inbox.c.id < before_id
    )
    last_id = connection.execute(taken).scalar()
    return _Since(int(last_id or 0), living.created_at if living.generation > 1 else None)


def _threads_of(asked: InboundEvent) -> tuple[str | None, ...]:
    """Where what was said before was said: in the same thread, and in the chat where this message begins the thread."""
    thread = asked.address.thread
    begins = isinstance(asked, InboundMessage) and thread == asked.message_id
    return (thread, None) if begins else (thread,)


def _message(payload: str) -> InboundMessage | None:
    try:
        event = INBOUND_EVENT.validate_json(payload)
    except ValidationError:  # another version wrote it
        return None
    talk = isinstance(event, InboundMessage) and event.kind is ChatKind.GROUP and not event.mentions_bot
    return event if talk and isinstance(event, InboundMessage) else None


def _changed_since(
    connection: sa.Connection, in_chat: Sequence[sa.ColumnElement[bool]], last: dict[str, int]
) -> set[str]:
    """Of these messages those of which something newer is known: taken back, or by now said to the bot."""
    query = (
        sa.select(inbox.c.message_id, sa.func.max(inbox.c.id))
        .where(*in_chat, inbox.c.message_id.in_(last), inbox.c.kind.in_(("message", "delete")))
        .group_by(inbox.c.message_id)
    )
    return {message_id for message_id, newest in connection.execute(query) if newest > last[message_id]}


MOST_CONTEXT = MOST_SAID
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


def refused_in(connection: sa.Connection, group: Group, why: str, since: datetime) -> list[int]:
    """The rows of messages of people we know that were refused there for this since then."""
    here = (inbox.c.channel == group.channel, inbox.c.account == group.account, inbox.c.chat == group.chat)
    refused = (
        inbox.c.outcome == Outcome.REFUSED,
        inbox.c.detail == why,
        inbox.c.user_id.is_not(None),
        inbox.c.kind == "message",
    )
    query = sa.select(inbox.c.id).where(inbox.c.tenant_id == group.tenant, *here, *refused)
    return list(connection.execute(query.where(inbox.c.admitted_at >= since)).scalars())


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
