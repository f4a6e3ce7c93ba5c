"""Rows behind the chat page: the browsers of people, and what was said in a chat of a page or a terminal.

Plain functions over a connection. `channels.web` decides who may sign out which browser.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from channels.messages import INBOUND_EVENT, Address, InboundMessage
from gateway.store.outbox import Action, MediaRef, OutboxPart, PartState, to_row
from gateway.store.people import AuditRow, record
from gateway.store.rows import Rows
from gateway.store.tables.people import web_devices
from gateway.store.tables.traffic import IN_OWN_VIEWS, REDACTED, inbox, outbox

KEPT_FOR = timedelta(days=400)
"""As long as browsers keep a cookie at most (RFC 6265bis, 5.5)."""

MOST_NAMED_CHARS = 200  # of the browsers, in the audit


@dataclass(frozen=True, slots=True)
class WebDevice:
    """A browser with a person's chat page."""

    tenant: str
    chat: str
    device: str
    browser: str
    came_at: datetime
    seen_at: datetime
    out_at: datetime | None = None  # signed out; None: it may come


DEVICES = Rows(web_devices, WebDevice)


def note_seen(connection: sa.Connection, tenant: str, chat: str, device: str, browser: str, now: datetime) -> None:
    """Record that a browser was here; forget those that were not for as long as a cookie is kept."""
    if not DEVICES.add(connection, WebDevice(tenant, chat, device, browser, now, now)):
        seen = {"seen_at": now, "browser": browser}
        DEVICES.patch(connection, seen, tenant=tenant, chat=chat, device=device)
    DEVICES.delete(connection, DEVICES.c.seen_at < now - KEPT_FOR)


def list_devices(connection: sa.Connection, tenant: str, chat: str) -> list[WebDevice]:
    """Return the browsers of a chat that may come, seen last first."""
    return DEVICES.find(connection, tenant=tenant, chat=chat, out_at=None, order=DEVICES.c.seen_at.desc())


def signed_out(connection: sa.Connection, tenant: str) -> list[tuple[str, str]]:
    """Return chat and device of each that may come no more."""
    found = DEVICES.find(connection, DEVICES.c.out_at.is_not(None), tenant=tenant)
    return [(each.chat, each.device) for each in found]


def sign_out(connection: sa.Connection, tenant: str, chat: str, devices: Sequence[str], now: datetime) -> list[str]:
    """Let these browsers of a chat, and cookies that name none, come no more; return which they were."""
    note_seen(connection, tenant, chat, "", "", now)
    theirs: dict[str, Any] = {"tenant": tenant, "chat": chat, "device": ["", *devices], "out_at": None}
    found = DEVICES.find(connection, **theirs)
    DEVICES.patch(connection, {"out_at": now}, **theirs)
    names = "; ".join(each.browser for each in found if each.browser)[:MOST_NAMED_CHARS]
    record(connection, tenant, AuditRow(now, f"web:{chat}", "device_removed", f"web:{chat}", names))
    return [each.device for each in found]


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A part of ours as it stands on the page."""

    message_id: str
    part: OutboxPart
    sent_at: datetime  # the first time that it said something


def said_in(connection: sa.Connection, tenant: str, address: Address, most: int) -> list[InboundMessage]:
    """Return the person's newest messages, oldest first, each once and in its last words."""
    here = (
        inbox.c.channel == address.channel,
        inbox.c.account == address.account,
        inbox.c.chat == address.chat,
        inbox.c.tenant_id == tenant,
    )
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
        IN_OWN_VIEWS,
        outbox.c.tenant_id == tenant,
        outbox.c.channel == address.channel,
        outbox.c.account == address.account,
        outbox.c.chat == address.chat,
        outbox.c.platform_id == message_id,
    )
    rows = connection.execute(query.order_by(outbox.c.id.desc())).all()
    media = next((part.media for row in rows if (part := to_row(row).part).media), ())
    return media[number] if number < len(media) else None


def sent_to(connection: sa.Connection, tenant: str, address: Address, most: int) -> list[ShownPart]:
    """Return the newest parts that were sent, oldest first, each once and as it was edited last.

    Not an answer that still grows.
    """
    query = sa.select(outbox).where(
        IN_OWN_VIEWS,
        outbox.c.tenant_id == tenant,
        outbox.c.channel == address.channel,
        outbox.c.account == address.account,
        outbox.c.chat == address.chat,
        outbox.c.state == PartState.SENT,
        outbox.c.platform_id.is_not(None),
    )
    rows = connection.execute(query.order_by(outbox.c.id.desc()).limit(most)).all()
    found: dict[str, ShownPart] = {}
    for row in reversed(rows):
        part = to_row(row).part
        if part.action is Action.DELETE:
            found.pop(row.platform_id, None)
        elif part.action is not Action.PLACEHOLDER and (part.rendered.text or part.media):
            first = found.get(row.platform_id)
            found[row.platform_id] = ShownPart(row.platform_id, part, first.sent_at if first else row.done_at)
    return list(found.values())
