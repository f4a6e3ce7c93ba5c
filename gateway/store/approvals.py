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
from agent.permission_rules import Verdict
from gateway.store import session_rules, standing_buttons
from gateway.store.people import ids_of
from gateway.store.rows import Rows
from gateway.store.session_rules import SessionRule
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
    about: str = ""  # the arguments, shortened
    may_remember: bool
    numbered: bool  # it is answered by typing a number
    asked_at: datetime
    until: datetime  # nobody's word counts from here on
    state: Consent = Consent.PENDING
    answered_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RememberedTool:
    """A tool that a person lets run unasked."""

    tenant: str
    user_id: str
    tool: str
    since: datetime


APPROVALS = Rows(approvals, Approval)
REMEMBERED = Rows(remembered_tools, RememberedTool)

WORD_FOR = "word for "
"""Begins the detail of a message that answered a question; behind it stands the turn that asked."""


def ask(connection: sa.Connection, approval: Approval) -> None:
    """Record a question and let its turn wait. The same one again changes nothing."""
    if APPROVALS.add(connection, approval):
        set_parked(connection, approval.turn_id, approval.asked_at)


def by_id(connection: sa.Connection, id_: str) -> Approval | None:
    """Return the question of this id."""
    return APPROVALS.get(connection, id=id_)


def newest(connection: sa.Connection, turn_id: str, call_key: str) -> Approval | None:
    """Return what was asked last about a call."""
    return APPROVALS.get(connection, turn_id=turn_id, call_key=call_key, order=approvals.c.id.desc())


def pending(connection: sa.Connection, turn_id: str) -> Approval | None:
    """Return what a parked turn waits for."""
    return APPROVALS.get(connection, turn_id=turn_id, state=Consent.PENDING)


def still_pending(connection: sa.Connection, turn_ids: Sequence[str]) -> set[str]:
    """Return those of these turns that wait for an answer."""
    return {asked.turn_id for asked in APPROVALS.find(connection, turn_id=list(turn_ids), state=Consent.PENDING)}


def waiting_time(connection: sa.Connection, turn_id: str) -> timedelta:
    """Return how long a turn has waited for its person's answers; without what it waits for now."""
    asked = APPROVALS.find(connection, turn_id=turn_id)
    return sum((each.answered_at - each.asked_at for each in asked if each.answered_at is not None), timedelta())


def settle(connection: sa.Connection, approval: Approval, state: Consent, now: datetime) -> bool:
    """End a question and its turn's wait, and remember what is to be; return False if it had ended."""
    ended = {"state": state, "answered_at": now}
    if not APPROVALS.patch(connection, ended, id=approval.id, state=Consent.PENDING):
        return False
    set_parked(connection, approval.turn_id, None)
    standing_buttons.end_question(connection, approval.turn_id, now)
    if state is Consent.REMEMBERED:
        REMEMBERED.add(connection, RememberedTool(approval.tenant, approval.user_id, approval.tool, now))
    if state is Consent.DENIED:
        _deny_in_session(connection, approval, now)
    return True


def _deny_in_session(connection: sa.Connection, approval: Approval, now: datetime) -> None:
    """Deny the same call for the rest of the conversation."""
    session_id = connection.execute(sa.select(turns.c.session_id).where(turns.c.id == approval.turn_id)).scalar()
    if session_id is not None:
        denied = SessionRule(
            tenant=approval.tenant,
            session_id=session_id,
            user_id=approval.user_id,
            verdict=Verdict.DENY,
            rule=approval.tool,
            fingerprint=approval.fingerprint,
            about=approval.about,
            since=now,
        )
        session_rules.put(connection, denied)


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
    """Return whether this person lets this tool run unasked."""
    return REMEMBERED.count(connection, tenant=tenant, user_id=ids_of(user_id), tool=tool) > 0


def list_remembered(connection: sa.Connection, tenant: str, user_id: str) -> Sequence[str]:
    """Return the tools that this person lets run unasked, by name."""
    mine = REMEMBERED.find(connection, tenant=tenant, user_id=ids_of(user_id), order=remembered_tools.c.tool)
    return [each.tool for each in mine]


def forget(connection: sa.Connection, tenant: str, user_id: str, tool: str) -> None:
    """Ask again before this tool runs for this person."""
    REMEMBERED.delete(connection, tenant=tenant, user_id=ids_of(user_id), tool=tool)


def set_parked(connection: sa.Connection, turn_id: str, at: datetime | None) -> None:
    """Let a turn wait from this instant on; None: it waits no more."""
    connection.execute(sa.update(turns).where(turns.c.id == turn_id).values(parked_at=at))
