"""What a group said to each other is read back: the last of it, as it reads by now, since the bot last had its turn.

Of what was taken back since, or said in another thread, nothing is found. The caller decides who may be read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from pydantic import ValidationError

from channels.messages import INBOUND_EVENT, ChatKind, InboundEvent, InboundMessage
from gateway.store import retention
from gateway.store.inbox import Outcome
from gateway.store.tables.traffic import inbox
from gateway.store.tables.turns import sessions, turns

MOST = retention.LAST[Outcome.CONTEXT]

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
        .limit(MOST)
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
