"""Keeps what people were asked before a tool ran, what they said, and what of it they want remembered.

Plain functions over a connection. A question is answered once: whatever ends it first holds, and takes its turn out of
waiting in the same commit. Who may answer, and how they are asked, is decided elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from agent.consent import Consent
from gateway.store.dialect import insert_new
from gateway.store.people import ids_of
from gateway.store.tables.turns import approvals, remembered_tools, sessions, turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """One question about one call."""

    id: str  # UUIDv7
    tenant: str
    turn_id: str
    user_id: str  # whose word it needs
    call_key: str
    tool: str
    fingerprint: str  # of tool and arguments
    may_remember: bool
    numbered: bool  # it is answered by typing a number
    asked_at: datetime
    until: datetime  # nobody's word counts from here on
    state: Consent = Consent.PENDING


WORD_FOR = "word for "
"""Begins the detail of a message that answered a question; behind it stands the turn that asked."""


def ask(connection: sa.Connection, approval: Approval) -> None:
    """Record a question and let its turn wait. The same one again changes nothing."""
    values = {
        "id": approval.id, "tenant_id": approval.tenant, "turn_id": approval.turn_id, "user_id": approval.user_id,
        "call_key": approval.call_key, "tool": approval.tool, "fingerprint": approval.fingerprint,
        "may_remember": approval.may_remember, "numbered": approval.numbered, "state": approval.state,
        "asked_at": approval.asked_at, "until": approval.until,
    }  # fmt: skip
    if connection.execute(insert_new(connection, approvals), values).rowcount == 1:
        _set_parked(connection, approval.turn_id, approval.asked_at)


def by_id(connection: sa.Connection, id_: str) -> Approval | None:
    """The question of this id."""
    row = connection.execute(sa.select(approvals).where(approvals.c.id == id_)).first()
    return None if row is None else _read(row)


def newest(connection: sa.Connection, turn_id: str, call_key: str) -> Approval | None:
    """What was asked last about a call."""
    query = sa.select(approvals).where(approvals.c.turn_id == turn_id, approvals.c.call_key == call_key)
    row = connection.execute(query.order_by(approvals.c.id.desc()).limit(1)).first()
    return None if row is None else _read(row)


def is_denied(connection: sa.Connection, turn_id: str, fingerprint: str) -> bool:
    """Return whether the person has denied a call of this tool with these arguments in this turn."""
    asked = sa.select(approvals.c.id).where(approvals.c.turn_id == turn_id, approvals.c.state == Consent.DENIED)
    return connection.execute(asked.where(approvals.c.fingerprint == fingerprint)).first() is not None


def pending(connection: sa.Connection, turn_id: str) -> Approval | None:
    """What a parked turn waits for."""
    query = sa.select(approvals).where(approvals.c.turn_id == turn_id, approvals.c.state == Consent.PENDING)
    row = connection.execute(query).first()
    return None if row is None else _read(row)


def still_pending(connection: sa.Connection, turn_ids: Sequence[str]) -> set[str]:
    """Those of these turns that wait for an answer."""
    query = sa.select(approvals.c.turn_id).where(approvals.c.turn_id.in_(turn_ids))
    return set(connection.execute(query.where(approvals.c.state == Consent.PENDING)).scalars())


def waiting_time(connection: sa.Connection, turn_id: str) -> timedelta:
    """How long a turn has waited for its person's word, all told; what it waits for now is not in it."""
    asked = sa.select(approvals.c.asked_at, approvals.c.answered_at).where(approvals.c.turn_id == turn_id)
    over = connection.execute(asked.where(approvals.c.answered_at.is_not(None)))
    return sum((answered_at - asked_at for asked_at, answered_at in over), timedelta())


def settle(connection: sa.Connection, approval: Approval, state: Consent, now: datetime) -> bool:
    """End a question; False where it had ended. Its turn waits no more, and what is to be remembered is."""
    still = (approvals.c.id == approval.id, approvals.c.state == Consent.PENDING)
    ended = sa.update(approvals).where(*still).values(state=state, answered_at=now)
    if connection.execute(ended).rowcount == 0:
        return False
    _set_parked(connection, approval.turn_id, None)
    if state is Consent.REMEMBERED:
        mine = {"tenant_id": approval.tenant, "user_id": approval.user_id, "tool": approval.tool, "since": now}
        connection.execute(insert_new(connection, remembered_tools), mine)
    return True


def withdraw_session(connection: sa.Connection, tenant: str, key: str, now: datetime, user_id: str | None) -> list[str]:
    """End the questions of a session, of one person or of all; the turns that waited for them."""
    parked = (
        sa.select(turns.c.id)
        .join(sessions, sessions.c.id == turns.c.session_id)
        .where(turns.c.end_reason.is_(None), turns.c.parked_at.is_not(None))
        .where(sessions.c.tenant_id == tenant, sessions.c.key == key)
    )
    if user_id is not None:
        parked = parked.where(turns.c.user_id.in_(ids_of(user_id)))
    return _withdraw(connection, parked, now)


def withdraw_person(connection: sa.Connection, user_id: str, now: datetime) -> list[str]:
    """As `withdraw_session`, of one person wherever they were asked."""
    parked = sa.select(turns.c.id).where(turns.c.end_reason.is_(None), turns.c.parked_at.is_not(None))
    return _withdraw(connection, parked.where(turns.c.user_id == user_id), now)


def _withdraw(connection: sa.Connection, parked: "sa.Select[Any]", now: datetime) -> list[str]:
    ids = list(connection.execute(parked).scalars())
    for turn_id in ids:
        waits = pending(connection, turn_id)
        if waits is not None:
            settle(connection, waits, Consent.WITHDRAWN, now)
    return ids


def is_remembered(connection: sa.Connection, tenant: str, user_id: str, tool: str) -> bool:
    """Whether this person lets this tool run unasked."""
    mine = remembered_tools.c.tenant_id == tenant, remembered_tools.c.user_id.in_(ids_of(user_id))
    query = sa.select(remembered_tools.c.tool).where(*mine, remembered_tools.c.tool == tool)
    return connection.execute(query).first() is not None


def list_remembered(connection: sa.Connection, tenant: str, user_id: str) -> Sequence[str]:
    """The tools that this person lets run unasked, by name."""
    mine = remembered_tools.c.tenant_id == tenant, remembered_tools.c.user_id.in_(ids_of(user_id))
    return list(connection.execute(sa.select(remembered_tools.c.tool).where(*mine).order_by("tool")).scalars())


def forget(connection: sa.Connection, tenant: str, user_id: str, tool: str | None) -> int:
    """Remember a tool no more, or none (None); how many were."""
    gone = sa.delete(remembered_tools).where(
        remembered_tools.c.tenant_id == tenant, remembered_tools.c.user_id.in_(ids_of(user_id))
    )
    return connection.execute(gone if tool is None else gone.where(remembered_tools.c.tool == tool)).rowcount


def _set_parked(connection: sa.Connection, turn_id: str, at: datetime | None) -> None:
    connection.execute(sa.update(turns).where(turns.c.id == turn_id).values(parked_at=at))


def _read(row: "sa.Row[tuple[object, ...]]") -> Approval:
    values = dict(row._mapping)  # noqa: SLF001  the documented way to a row's columns by name
    values["tenant"], values["state"] = values.pop("tenant_id"), Consent(values.pop("state"))
    values.pop("answered_at")
    return Approval(**values)
