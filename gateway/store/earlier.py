"""What an edit, a deletion or a reply is about is found by its platform's id; an edit takes the place of what waits.

Whether it may, the router decides. Of what was taken back since, nothing is found.
"""

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from pydantic import ValidationError

from channels.messages import INBOUND_EVENT, InboundMessage, Quoted, QuoteKind, to_quoted
from gateway.store.inbox import InboxRow, Outcome, settle
from gateway.store.tables.traffic import inbox


def replied_to(connection: sa.Connection, reply: InboundMessage) -> Quoted | None:
    """What a message replies to, as it reads since its last edit; None where it is unknown, empty or gone."""
    address = reply.address
    payload = connection.execute(
        sa.select(inbox.c.payload)
        .where(
            inbox.c.tenant_id == reply.tenant,
            inbox.c.channel == address.channel,
            inbox.c.account == address.account,
            inbox.c.chat == address.chat,
            inbox.c.message_id == reply.reply_to,
            inbox.c.kind.in_(("message", "delete")),
        )
        .order_by(inbox.c.id.desc())
        .limit(1)
    ).scalar()
    try:
        event = INBOUND_EVENT.validate_json(payload or "")
    except ValidationError:  # none, or one whose words were blanked
        return None
    if not isinstance(event, InboundMessage):
        return None
    author = event.forwarded_from if event.forwarded else event.sender.display_name
    return next(iter(to_quoted(QuoteKind.REPLY, event.text, author)), None)


@dataclass(frozen=True, slots=True)
class Original:
    """The row of the message that an edit or a deletion is about."""

    id: int
    turn_id: str | None
    outcome: str | None
    done_at: datetime | None


def original_of(connection: sa.Connection, row: InboxRow, message_id: str) -> Original | None:
    """The row that stands for the message in the same chat, from the same sender: what waits still, else what is being
    answered, else the message itself. An edit that came too late for its message is a row of its own, and may wait.
    """
    address = row.event.address
    found = connection.execute(
        sa.select(inbox.c.id, inbox.c.turn_id, inbox.c.outcome, inbox.c.done_at)
        .where(
            inbox.c.channel == address.channel,
            inbox.c.account == address.account,
            inbox.c.chat == address.chat,
            inbox.c.message_id == message_id,
            inbox.c.sender == row.event.sender_key,
            inbox.c.id < row.id,
        )
        .order_by(inbox.c.outcome.is_not(None), inbox.c.turn_id.is_not(None), inbox.c.id)
        .limit(1)
    ).first()
    return None if found is None else Original(*found)


def replace(connection: sa.Connection, original_id: int, edit: InboxRow, now: datetime) -> bool:
    """Let an edit take the place of a message nobody has claimed; False where a turn has it already."""
    if not isinstance(edit.event, InboundMessage):
        raise TypeError("only an edited message replaces another")
    changed = connection.execute(
        sa.update(inbox)
        .where(inbox.c.id == original_id, inbox.c.outcome.is_(None), inbox.c.turn_id.is_(None))
        .values(payload=INBOUND_EVENT.dump_json(edit.event).decode())
    )
    if changed.rowcount == 0:
        return False
    settle(connection, edit.id, Outcome.REPLACED, now)
    return True
