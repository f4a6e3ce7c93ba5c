"""Invitations as rows, and wrong tries of them. What the rules are is decided in `gateway.access.invites`.

No code is ever in a table: the HMAC of it is, whose key is outside the database.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from gateway.store.dialect import insert_new
from gateway.store.people import Connection
from gateway.store.tables.people import invite_guesses, invites


@dataclass(frozen=True, slots=True)
class Invite:
    """One person, whoever comes with its code first, is let in at once."""

    id: str
    tenant: str
    code_mac: str  # hex
    role: str  # a gateway.access.roles.Role
    founding: bool  # it holds only while the tenant has no owner
    created_at: datetime
    created_by: str  # user id or "cli"
    expires_at: datetime  # the first moment it no longer holds
    used_at: datetime | None = None
    used_by: str | None = None  # canonical sender
    revoked_at: datetime | None = None


_rows = invites.c


def add(connection: Connection, invite: Invite) -> None:
    """Keep a new invitation."""
    connection.execute(
        insert_new(connection, invites),
        {
            "id": invite.id, "tenant_id": invite.tenant, "code_mac": invite.code_mac, "role": invite.role,
            "founding": invite.founding, "created_at": invite.created_at, "created_by": invite.created_by,
            "expires_at": invite.expires_at, "used_at": None, "used_by": None, "revoked_at": None,
        },
    )  # fmt: skip


def find(connection: Connection, tenant: str, code_mac: str) -> Invite | None:
    """The invitation with this code, whatever became of it."""
    query = sa.select(invites).where(_rows.code_mac == code_mac, _rows.tenant_id == tenant)
    return next(iter(_read(connection.execute(query))), None)


def load_invites(connection: Connection, tenant: str, limit: int = 1000) -> list[Invite]:
    """A tenant's invitations, newest first."""
    query = sa.select(invites).where(_rows.tenant_id == tenant).order_by(_rows.created_at.desc(), _rows.id.desc())
    return _read(connection.execute(query.limit(limit)))


def use(connection: Connection, invite_id: str, sender: str, now: datetime) -> bool:
    """Use an invitation up, in one conditional statement; False where it holds no more."""
    done = connection.execute(
        sa.update(invites)
        .where(_rows.id == invite_id, *_holds(), _rows.expires_at > now)
        .values(used_at=now, used_by=sender)
    )
    return done.rowcount == 1


def revoke(connection: Connection, invite_id: str, now: datetime) -> bool:
    """Take back an invitation nobody has used; False where somebody has, or it was taken back before."""
    done = connection.execute(sa.update(invites).where(_rows.id == invite_id, *_holds()).values(revoked_at=now))
    return done.rowcount == 1


def revoke_founding(connection: Connection, tenant: str, now: datetime) -> None:
    """Take back every invitation to be the first owner."""
    founding = (_rows.tenant_id == tenant, _rows.founding, *_holds())
    connection.execute(sa.update(invites).where(*founding).values(revoked_at=now))


def end_expired(connection: Connection, now: datetime) -> None:
    """Take back what ran out."""
    connection.execute(sa.update(invites).where(*_holds(), _rows.expires_at <= now).values(revoked_at=now))


def forget(connection: Connection, before: datetime) -> None:
    """Delete invitations that ended before then, and wrong tries; the audit log keeps who was let in by what."""
    connection.execute(sa.delete(invites).where(_rows.expires_at < before))
    connection.execute(sa.delete(invite_guesses).where(invite_guesses.c.at < before))


def add_guess(connection: Connection, tenant: str, sender: str, at: datetime) -> None:
    """Count a wrong try of a stranger's."""
    connection.execute(sa.insert(invite_guesses), {"tenant_id": tenant, "sender": sender, "at": at})


def guesses_since(connection: Connection, tenant: str, sender: str, since: datetime) -> list[datetime]:
    """When a stranger tried wrong codes since then, in order."""
    own = (invite_guesses.c.sender == sender, invite_guesses.c.tenant_id == tenant, invite_guesses.c.at > since)
    return list(connection.execute(sa.select(invite_guesses.c.at).where(*own).order_by(invite_guesses.c.at)).scalars())


def _holds() -> tuple[sa.ColumnElement[bool], ...]:
    return _rows.used_at.is_(None), _rows.revoked_at.is_(None)


def _read(rows: Iterable[Any]) -> list[Invite]:
    return [
        Invite(
            id=row.id,
            tenant=row.tenant_id,
            code_mac=row.code_mac,
            role=row.role,
            founding=row.founding,
            created_at=row.created_at,
            created_by=row.created_by,
            expires_at=row.expires_at,
            used_at=row.used_at,
            used_by=row.used_by,
            revoked_at=row.revoked_at,
        )
        for row in rows
    ]
