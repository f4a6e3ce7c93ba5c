"""What was said in a chat of the web page or a terminal, by the person and to them.

Plain functions over a connection.
"""

from dataclasses import dataclass, replace
from datetime import datetime

import sqlalchemy as sa

from channels.messages import INBOUND_EVENT, Address, InboundMessage
from gateway.store.outbox import Action, MediaRef, OutboxPart, PartState, to_row
from gateway.store.tables.traffic import IN_OWN_VIEWS, REDACTED, inbox, outbox


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A part of ours as it stands on the page."""

    message_id: str
    part: OutboxPart
    sent_at: datetime  # the first time that it said something


def said_in(connection: sa.Connection, tenant: str, address: Address, most: int) -> list[InboundMessage]:
    """Return the person's newest messages, oldest first, each once and in its last words."""
    here = (
        inbox.c.channel == address.channel, inbox.c.account == address.account, inbox.c.chat == address.chat,
        inbox.c.tenant_id == tenant,
    )  # fmt: skip
    query = sa.select(inbox.c.payload).where(*here, inbox.c.kind == "message", inbox.c.payload.not_in(["", REDACTED]))
    payloads = connection.execute(query.order_by(inbox.c.id.desc()).limit(most)).scalars().all()
    found: dict[str, InboundMessage] = {}
    for event in map(INBOUND_EVENT.validate_json, reversed(payloads)):
        if isinstance(event, InboundMessage):
            first = found.get(event.message_id, event)
            found[event.message_id] = replace(first, text=event.text, edited=event.edited)
    return list(found.values())


def sent_file(
    connection: sa.Connection, tenant: str, address: Address, message_id: str, number: int
) -> MediaRef | None:
    """Return a file of a message that was sent to a chat, by its place; None if there is none."""
    query = sa.select(outbox).where(
        IN_OWN_VIEWS, outbox.c.tenant_id == tenant, outbox.c.channel == address.channel,
        outbox.c.account == address.account, outbox.c.chat == address.chat, outbox.c.platform_id == message_id,
    )  # fmt: skip
    rows = connection.execute(query.order_by(outbox.c.id.desc())).all()
    media = next((part.media for row in rows if (part := to_row(row).part).media), ())
    return media[number] if number < len(media) else None


def sent_to(connection: sa.Connection, tenant: str, address: Address, most: int) -> list[ShownPart]:
    """Return the newest parts that were sent, oldest first, each once and as it was edited last.

    Not an answer that still grows. Only the newest message has its buttons, until the person answers.
    """
    query = sa.select(outbox).where(
        IN_OWN_VIEWS, outbox.c.tenant_id == tenant, outbox.c.channel == address.channel,
        outbox.c.account == address.account, outbox.c.chat == address.chat,
        outbox.c.state == PartState.SENT, outbox.c.platform_id.is_not(None),
    )  # fmt: skip
    rows = connection.execute(query.order_by(outbox.c.id.desc()).limit(most)).all()
    found: dict[str, ShownPart] = {}
    for row in reversed(rows):
        part = to_row(row).part
        if part.action is Action.DELETE:
            found.pop(row.platform_id, None)
        elif part.action is not Action.PLACEHOLDER and (part.rendered.text or part.media):
            first = found.get(row.platform_id)
            found[row.platform_id] = ShownPart(row.platform_id, part, first.sent_at if first else row.done_at)
    answered_at = connection.execute(
        sa.select(sa.func.max(inbox.c.received_at)).where(
            inbox.c.channel == address.channel, inbox.c.account == address.account, inbox.c.chat == address.chat,
            inbox.c.tenant_id == tenant, inbox.c.kind.in_(["message", "button", "command"]),
        )
    ).scalar()  # fmt: skip
    return [
        shown
        if not shown.part.buttons or answered_at is None or shown.sent_at > answered_at
        else replace(shown, part=replace(shown.part, buttons=()))
        for shown in found.values()
    ]
