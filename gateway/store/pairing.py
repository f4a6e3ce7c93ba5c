"""Pairing requests and wrong guesses, as rows. What the rules are is decided in `gateway.access.pairing`.

No code is ever in a table: a request's id is all that is kept of it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from gateway.store.dialect import insert_new
from gateway.store.people import Connection
from gateway.store.tables.people import pairing_guesses, pairing_requests
from gateway.store.tenancy import whose_rows


class PairingState(StrEnum):
    """Where a request stands; only a pending one can still become something else."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    DISPLACED = "displaced"  # it gave way to another stranger's


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """Somebody asks to be let into one account."""

    id: str
    tenant: str
    channel: str
    account: str
    sender: str  # canonical: telegram:42
    display_name: str
    chat: str
    locale: str | None
    state: PairingState
    created_at: datetime
    expires_at: datetime  # the first moment it no longer holds
    replied_at: datetime | None  # when the person was last told the code
    decided_at: datetime | None = None
    decided_by: str | None = None
    again: bool = False  # an earlier request of theirs gave way or ran out
    kept: str | None = None  # what they said last, an inbound event as JSON; only while it is pending


_rows = pairing_requests.c
_is_pending = _rows.state == sa.literal_column(f"'{PairingState.PENDING}'")
"""In so many words: SQLite uses the index of pending requests for no other."""


def add(connection: Connection, request: PairingRequest) -> None:
    """Keep a new request."""
    connection.execute(
        insert_new(connection, pairing_requests),
        {
            "id": request.id, "tenant_id": request.tenant, "channel": request.channel, "account": request.account,
            "sender": request.sender, "display_name": request.display_name, "chat": request.chat,
            "locale": request.locale, "state": request.state, "created_at": request.created_at,
            "expires_at": request.expires_at, "replied_at": request.replied_at, "decided_at": request.decided_at,
            "decided_by": request.decided_by, "again": request.again, "kept": request.kept,
        },
    )  # fmt: skip


def get(connection: Connection, request_id: str) -> PairingRequest | None:
    """The request with this id."""
    found = _read(connection.execute(sa.select(pairing_requests).where(_rows.id == request_id)))
    return found[0] if found else None


def pending(connection: Connection, channel: str | None = None, account: str | None = None) -> list[PairingRequest]:
    """Undecided requests, oldest first, of one account or of all."""
    query = sa.select(pairing_requests).where(_rows.state == PairingState.PENDING).order_by(_rows.created_at, _rows.id)
    if channel is not None:
        query = query.where(_rows.channel == channel, _rows.account == account)
    return _read(connection.execute(query))


def pending_count(connection: Connection, channel: str, account: str) -> int:
    """How many wait at one account."""
    query = sa.select(sa.func.count()).where(_rows.channel == channel, _rows.account == account)
    return int(connection.execute(query.where(_rows.state == PairingState.PENDING)).scalar_one())


_account = _rows.channel, _rows.account
PENDING_COUNTS = sa.select(*_account, sa.func.count()).where(_is_pending).group_by(*_account)


def pending_counts(connection: Connection) -> dict[str, int]:
    """How many wait, by `telegram:main`. A system query."""
    return {f"{channel}:{account}": count for channel, account, count in connection.execute(PENDING_COUNTS)}


def made_since(connection: Connection, channel: str, account: str, since: datetime) -> int:
    """How many asked at one account since then, whatever became of it."""
    query = sa.select(sa.func.count()).where(_rows.channel == channel, _rows.account == account)
    return int(connection.execute(query.where(_rows.created_at >= since)).scalar_one())


def next_to_give_way(connection: Connection, channel: str, account: str, *, again_only: bool) -> PairingRequest | None:
    """Who of those that wait at an account makes room: the oldest that asks again, else, if it may be, the oldest."""
    query = sa.select(pairing_requests).where(
        _rows.channel == channel, _rows.account == account, _rows.state == PairingState.PENDING
    )
    if again_only:
        query = query.where(_rows.again)
    found = _read(connection.execute(query.order_by(_rows.again.desc(), _rows.created_at, _rows.id).limit(1)))
    return found[0] if found else None


_keep = (
    sa.update(pairing_requests)
    .where(_rows.id == sa.bindparam("b_id"), _rows.state == PairingState.PENDING)
    .values(kept=sa.bindparam("b_said"))
)


def keep(connection: Connection, request_id: str, said: str | None) -> None:
    """Keep what a person who waits said, in place of what they said before; None: nothing."""
    connection.execute(_keep, {"b_id": request_id, "b_said": said})


def rename(connection: Connection, request_id: str, name: str) -> None:
    """Call a person who waits as they want to be called."""
    mine = sa.update(pairing_requests).where(_rows.id == request_id, _rows.state == PairingState.PENDING)
    connection.execute(mine.values(display_name=name))


def settled_since(connection: Connection, since: datetime, limit: int) -> list[PairingRequest]:
    """Requests made since then that are pending no more, newest first."""
    query = sa.select(pairing_requests).where(_rows.state != PairingState.PENDING, _rows.created_at >= since)
    return _read(connection.execute(query.order_by(_rows.created_at.desc()).limit(limit)))


_of_sender = (
    sa.select(pairing_requests)
    .where(
        _rows.tenant_id == sa.bindparam("b_tenant"), _rows.channel == sa.bindparam("b_channel"),
        _rows.account == sa.bindparam("b_account"), _rows.sender == sa.bindparam("b_sender"),
    )
    .order_by(_rows.created_at.desc(), _rows.id.desc())
    .limit(10)
)  # fmt: skip


def of_sender(connection: Connection, tenant: str, channel: str, account: str, sender: str) -> list[PairingRequest]:
    """A person's requests at one account, newest first, ten at most."""
    whose = {"b_tenant": tenant, "b_channel": channel, "b_account": account, "b_sender": sender}
    return _read(connection.execute(_of_sender, whose))


def mark_told(connection: Connection, request_id: str, now: datetime) -> None:
    """The person is told the code (again) now."""
    connection.execute(sa.update(pairing_requests).where(_rows.id == request_id).values(replied_at=now))


def settle(connection: Connection, request_id: str, state: PairingState, by: str, now: datetime) -> bool:
    """Decide a pending request, in one conditional statement; False where it was pending no more."""
    done = connection.execute(
        sa.update(pairing_requests)
        .where(_rows.id == request_id, _rows.state == PairingState.PENDING)
        .values(state=state, decided_at=now, decided_by=by[:128], kept=None)
    )
    return done.rowcount == 1


_expire = (
    sa.update(pairing_requests)
    .where(
        _is_pending,
        sa.or_(_rows.expires_at <= sa.bindparam("b_now"), _rows.created_at > sa.bindparam("b_latest")),
    )
    .values(state=PairingState.EXPIRED, decided_at=sa.bindparam("b_now"), decided_by="time", kept=None)
)


def expire(connection: Connection, now: datetime, latest_birth: datetime) -> int:
    """Record that requests ran out, or were born after `latest_birth`; how many did. It is never undone."""
    return connection.execute(_expire, {"b_now": now, "b_latest": latest_birth}).rowcount


def deny_all(connection: Connection, tenant: str, sender: str, by: str, now: datetime) -> int:
    """Deny whatever a person has pending, at any account; how many there were."""
    denied = connection.execute(
        sa.update(pairing_requests)
        .where(_rows.tenant_id == tenant, _rows.sender == sender, _rows.state == PairingState.PENDING)
        .values(state=PairingState.DENIED, decided_at=now, decided_by=by[:128], kept=None)
    )
    return denied.rowcount


def forget(connection: Connection, before: datetime) -> None:
    """Delete refused and lapsed requests and guesses from before then; the audit log keeps what was decided."""
    kept = (PairingState.PENDING, PairingState.APPROVED)
    connection.execute(sa.delete(pairing_requests).where(_rows.state.not_in(kept), _rows.created_at < before))
    connection.execute(sa.delete(pairing_guesses).where(pairing_guesses.c.at < before))


def add_guess(connection: Connection, approver: str, at: datetime) -> None:
    """Count a wrong code. A job repeated after an outage may count it twice: that errs on the strict side."""
    connection.execute(sa.insert(pairing_guesses), {"tenant_id": whose_rows(), "approver": approver, "at": at})


def guesses_since(connection: Connection, since: datetime, approver: str | None = None) -> list[datetime]:
    """When wrong codes were given since then, in order, by one approver or by all of the acting tenant."""
    query = sa.select(pairing_guesses.c.at).where(pairing_guesses.c.at > since).order_by(pairing_guesses.c.at)
    if approver is not None:
        query = query.where(pairing_guesses.c.approver == approver)
    return list(connection.execute(query).scalars())


def _read(rows: Iterable[Any]) -> list[PairingRequest]:
    return [
        PairingRequest(
            id=row.id,
            tenant=row.tenant_id,
            channel=row.channel,
            account=row.account,
            sender=row.sender,
            display_name=row.display_name,
            chat=row.chat,
            locale=row.locale,
            state=PairingState(row.state),
            created_at=row.created_at,
            expires_at=row.expires_at,
            replied_at=row.replied_at,
            decided_at=row.decided_at,
            decided_by=row.decided_by,
            again=row.again,
            kept=row.kept,
        )
        for row in rows
    ]


def find_approved(connection: Connection, tenant: str, senders: Collection[str]) -> list[PairingRequest]:
    """By which requests these senders were let in, oldest first: where to reach them directly."""
    query = sa.select(pairing_requests).where(
        _rows.tenant_id == tenant, _rows.sender.in_(senders), _rows.state == PairingState.APPROVED
    )
    return _read(connection.execute(query.order_by(_rows.created_at, _rows.id)))
