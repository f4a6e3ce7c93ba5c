"""Groups as their operators set them, as rows, and what is said in them that is not meant for the bot.

Who may set what is decided in `gateway.commands.groups`. What a group said is read back as it reads by now, since the
bot last had its turn; of what was taken back, or said in another thread, nothing is found. The caller decides who may
be read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from pydantic import ValidationError

from channels.messages import INBOUND_EVENT, Address, ChatKind, InboundEvent, InboundMessage
from gateway.store import retention
from gateway.store.inbox import Outcome
from gateway.store.rows import Rows
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
    """Return the group's messages before this event and after the last turn there, oldest first."""
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
    """Return the threads whose messages count as earlier: the same thread, and the chat if this message begins the
    thread.
    """
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
    """Return those of these messages that were changed since: deleted, or by now addressed to the bot."""
    query = (
        sa.select(inbox.c.message_id, sa.func.max(inbox.c.id))
        .where(*in_chat, inbox.c.message_id.in_(last), inbox.c.kind.in_(("message", "delete")))
        .group_by(inbox.c.message_id)
    )
    return {message_id for message_id, newest in connection.execute(query) if newest > last[message_id]}


MOST_CONTEXT = MOST_SAID
KEPT_FOR = timedelta(days=1)
"""The time in which a group can be allowed by its button, and in which its earlier messages are kept."""

_NOTHING = {"kept": None, "kept_of": None, "kept_at": None}


@dataclass(frozen=True, slots=True)
class Group:
    """One group of an account: the defaults hold until an operator sets something."""

    id: str
    tenant: str
    channel: str
    account: str
    chat: str
    allowed: bool = False  # from the chat itself; the configuration may list it beside
    every_message: bool = False  # else the bot is meant where it is mentioned, replied to or commanded
    agent: str | None = None  # that answers there; None: as the configuration says
    context: int = MOST_CONTEXT  # messages said before that it reads when it is meant; 0: none, and none is kept


GROUPS = Rows(groups, Group)


def find(connection: sa.Connection, tenant: str, where: Address) -> Group:
    """Return the group of a chat; insert it, not allowed, if there is none."""
    GROUPS.add(connection, Group(new_id(), tenant, where.channel, where.account, where.chat))
    found = GROUPS.get(connection, tenant=tenant, channel=where.channel, account=where.account, chat=where.chat)
    assert found is not None, "added above"
    return found


def keep(connection: sa.Connection, group_id: str, said: str | None, user_id: str, now: datetime) -> None:
    """Keep the last message of a group that is not allowed yet, an event as JSON; None: keep nothing."""
    values = {"kept": said, "kept_of": user_id, "kept_at": now} if said else _NOTHING
    GROUPS.patch(connection, values, id=group_id)


def kept_in(connection: sa.Connection, tenant: str, where: Address) -> tuple[str, str, str] | None:
    """Return the group's id, the message kept there and its user, or None if none is kept."""
    here = (groups.c.channel == where.channel, groups.c.account == where.account, groups.c.chat == where.chat)
    said = sa.select(groups.c.id, groups.c.kept, groups.c.kept_of)
    found = connection.execute(said.where(groups.c.tenant_id == tenant, *here, groups.c.kept.is_not(None))).first()
    return None if found is None else (found.id, found.kept, found.kept_of)


def take(connection: sa.Connection, group_id: str, since: datetime) -> str | None:
    """Return the message kept since then, and keep it no longer."""
    of_group = groups.c.id == group_id
    said = connection.execute(sa.select(groups.c.kept).where(of_group, groups.c.kept_at >= since)).scalar()
    GROUPS.patch(connection, _NOTHING, id=group_id)
    return said


def forget_kept(connection: sa.Connection, *, before: datetime | None = None, user_id: str | None = None) -> None:
    """Delete the messages kept before then, or of this user."""
    GROUPS.patch(connection, _NOTHING, groups.c.kept_of == user_id if before is None else groups.c.kept_at < before)


def refused_in(connection: sa.Connection, group: Group, why: str, since: datetime) -> list[int]:
    """Return the inbox rows of known people that were refused there for this reason since then."""
    here = (inbox.c.channel == group.channel, inbox.c.account == group.account, inbox.c.chat == group.chat)
    refused = (
        inbox.c.outcome == Outcome.REFUSED,
        inbox.c.detail == why,
        inbox.c.user_id.is_not(None),
        inbox.c.kind == "message",
    )
    query = sa.select(inbox.c.id).where(inbox.c.tenant_id == group.tenant, *here, *refused)
    return list(connection.execute(query.where(inbox.c.admitted_at >= since)).scalars())
