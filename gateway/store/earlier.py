"""What was said earlier in a chat, by its platform's id; nothing of what was taken back since."""

import sqlalchemy as sa
from pydantic import ValidationError

from channels.messages import INBOUND_EVENT, InboundMessage, Quoted, QuoteKind, to_quoted
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
