"""The browsers of people on the chat page, as rows: when each was seen last, and which are signed out.

Plain functions over a connection. Who may sign out which is `channels.web`'s matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from gateway.store.people import AuditRow, record
from gateway.store.rows import Rows
from gateway.store.tables.people import web_devices

KEPT_FOR = timedelta(days=400)
"""As long as browsers keep a cookie at most (RFC 6265bis, 5.5)."""

MOST_NAMED_CHARS = 200  # of the browsers, in the audit


@dataclass(frozen=True, slots=True)
class WebDevice:
    """A browser of somebody's chat page."""

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
