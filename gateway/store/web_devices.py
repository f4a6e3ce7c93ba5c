"""The browsers of people on the chat page, as rows: when each was seen last, and which are signed out.

Plain functions over a connection. Who may sign out which is `channels.web`'s matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from gateway.store.dialect import insert_into
from gateway.store.people import AuditRow, record
from gateway.store.tables.people import web_devices

KEPT_FOR = timedelta(days=400)
"""As long as browsers keep a cookie at most (RFC 6265bis, 5.5)."""

MOST_NAMED_CHARS = 200  # of the browsers, in the audit

_row = web_devices.c


@dataclass(frozen=True, slots=True)
class WebDevice:
    """A browser that may come."""

    device: str
    browser: str
    seen_at: datetime


def note_seen(connection: sa.Connection, tenant: str, chat: str, device: str, browser: str, now: datetime) -> None:
    """It was here; those that were not for as long as a cookie is kept are forgotten."""
    row = {"tenant_id": tenant, "chat": chat, "device": device, "browser": browser, "came_at": now, "seen_at": now}
    insert = insert_into(connection, web_devices).values(row)
    index = ["tenant_id", "chat", "device"]
    connection.execute(insert.on_conflict_do_update(index_elements=index, set_={"seen_at": now, "browser": browser}))
    connection.execute(sa.delete(web_devices).where(_row.seen_at < now - KEPT_FOR))


def list_devices(connection: sa.Connection, tenant: str, chat: str) -> list[WebDevice]:
    """Those of a chat that may come, seen last first."""
    theirs = sa.select(web_devices).where(_row.tenant_id == tenant, _row.chat == chat, _row.out_at.is_(None))
    rows = connection.execute(theirs.order_by(_row.seen_at.desc()))
    return [WebDevice(row.device, row.browser, row.seen_at) for row in rows]


def sign_out(connection: sa.Connection, tenant: str, chat: str, devices: Sequence[str], now: datetime) -> list[str]:
    """Let these of a chat come no more, nor what holds a cookie that names none; kept in the audit. Which it were."""
    note_seen(connection, tenant, chat, "", "", now)
    theirs = _row.tenant_id == tenant, _row.chat == chat, _row.device.in_(["", *devices]), _row.out_at.is_(None)
    out = sa.update(web_devices).where(*theirs).values(out_at=now).returning(_row.device, _row.browser)
    found = connection.execute(out).all()
    names = "; ".join(row.browser for row in found if row.browser)[:MOST_NAMED_CHARS]
    record(connection, tenant, AuditRow(now, f"web:{chat}", "device_removed", f"web:{chat}", names))
    return [row.device for row in found]


def signed_out(connection: sa.Connection, tenant: str) -> list[tuple[str, str]]:
    """Chat and device of each that may come no more."""
    out = sa.select(_row.chat, _row.device).where(_row.tenant_id == tenant, _row.out_at.is_not(None))
    return [(row.chat, row.device) for row in connection.execute(out)]


def forget(connection: sa.Connection, chats: Sequence[str]) -> None:
    """Nothing is kept of the browsers of these chats."""
    connection.execute(sa.delete(web_devices).where(_row.chat.in_(chats)))
