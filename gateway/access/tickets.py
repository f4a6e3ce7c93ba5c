"""Tickets: pairing requests, invitations, links between users, OAuth states, console links and their sessions.

Each kind has a policy; issuing, comparing codes, bounding guesses, settling and expiring are the same for all.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from channels.messages import INBOUND_EVENT, CommandInvoked, InboundEvent, InboundMessage
from gateway.access import codes
from gateway.access.codes import BULLETS
from gateway.store import tickets
from gateway.store.people import AuditRow, Connection, record
from gateway.store.tenancy import whose_rows
from gateway.store.tickets import GUESSES, TICKETS, Guess, Ticket, TicketKind, TicketState


@dataclass(frozen=True, slots=True)
class TicketPolicy:
    """Policy of one kind of ticket."""

    valid: timedelta
    kept: timedelta  # after it ended
    guesses_overall: int | None = None  # wrong codes an hour in a tenant; None: no bound
    most_open: int | None = None  # of one account, or of one person if it is 1; None: no bound
    keeps_approved: bool = False  # approved tickets are records of identity and are not deleted


POLICIES = {
    TicketKind.PAIRING: TicketPolicy(
        timedelta(minutes=60), timedelta(days=30), guesses_overall=20, most_open=500, keeps_approved=True
    ),
    TicketKind.INVITE: TicketPolicy(timedelta(days=7), timedelta(days=90)),
    TicketKind.FOUNDING: TicketPolicy(timedelta(hours=1), timedelta(days=90), most_open=1),
    TicketKind.LINK: TicketPolicy(timedelta(minutes=10), timedelta(days=90), most_open=1, keeps_approved=True),
    TicketKind.OAUTH: TicketPolicy(timedelta(minutes=10), timedelta(days=1), most_open=1),
    TicketKind.CONSOLE: TicketPolicy(timedelta(minutes=10), timedelta(days=1)),
    TicketKind.CONSOLE_SESSION: TicketPolicy(timedelta(days=7), timedelta(days=1)),
}

GUESSES_EACH = 5
EACH_WINDOW = timedelta(minutes=15)
LOCKED_FOR = timedelta(hours=1)
"""Five wrong codes of one person within the window lock them out for this long."""

OVERALL_WINDOW = timedelta(hours=1)
"""Window for the wrong codes of all approvers in a tenant. A common bound on guests would let one lock out others."""

CLOCK_SLACK = timedelta(minutes=1)
"""A ticket created later than this from now shows that the clock was set back; it is not valid any more."""


def issue(connection: Connection, ticket: Ticket, audit: AuditRow | None = None) -> Ticket:
    """Store a ticket with its audit row; if only one of its kind may be open, end the earlier one."""
    if POLICIES[ticket.kind].most_open == 1:
        same = {"kind": ticket.kind, "tenant": ticket.tenant, "user_id": ticket.user_id, "provider": ticket.provider}
        TICKETS.patch(
            connection,
            _end_values(TicketState.DISPLACED, "a later one", ticket.created_at),
            state=tickets.WAITING,
            **same,
        )
    TICKETS.add(connection, ticket)
    if audit is not None:
        record(connection, ticket.tenant, audit)
    return ticket


def settle(
    connection: Connection,
    /,
    ticket_id: str,
    state: TicketState,
    by: str,
    now: datetime,
    was: TicketState = TicketState.PENDING,
    **values: Any,
) -> bool:
    """End a ticket in one conditional statement; return False if its state has changed."""
    return TICKETS.patch(connection, _end_values(state, by, now) | values, id=ticket_id, state=was) == 1


def _end_values(state: TicketState, by: str, now: datetime) -> dict[str, Any]:
    return {"state": state, "ended_at": now, "ended_by": by[:160], "kept": None, "sealed": None}


def find_fitting(key: bytes, code: str, known: Iterable[Ticket]) -> Ticket | None:
    """Return the ticket with this code; compare all of them, so that the time reveals nothing."""
    found = [ticket for ticket in known if codes.matches(key, ticket.id, code)]
    return found[0] if found else None


def expire(connection: Connection, now: datetime) -> int:
    """Mark expired tickets; return their number. Called each minute, on start, and before each decision."""
    return tickets.expire(connection, now, now + CLOCK_SLACK)


def forget(connection: Connection, now: datetime) -> None:
    """Delete tickets that ended long ago, and wrong guesses; the audit log keeps the decisions."""
    for kind, policy in POLICIES.items():
        kept = (*tickets.WAITING, TicketState.APPROVED) if policy.keeps_approved else tickets.WAITING
        tickets.forget(connection, kind, [state for state in TicketState if state not in kept], now - policy.kept)


def count_guess(connection: Connection, kind: TicketKind, who: str, now: datetime, tenant: str | None = None) -> None:
    """Count a wrong code. A job repeated after an outage may count it twice, which is the safe side."""
    GUESSES.add(connection, Guess(tenant or whose_rows(), kind, who, now))


def locked_until(
    connection: Connection, kind: TicketKind, who: str, now: datetime, tenant: str | None = None
) -> datetime | None:
    """Return until when this person is locked out, or None.

    Guesses are rows, so a restart does not reset them. A guess with a later time counts as well, in case the clock was
    set back.
    """
    same = {"kind": kind} if tenant is None else {"kind": kind, "tenant": tenant}
    since, at = now - LOCKED_FOR - EACH_WINDOW, GUESSES.c.at
    own = [guess.at for guess in GUESSES.find(connection, at > since, who=who, order=at, **same)]
    ends = [
        last + LOCKED_FOR
        for first, last in zip(own, own[GUESSES_EACH - 1 :], strict=False)
        if last - first <= EACH_WINDOW and now < last + LOCKED_FOR
    ]
    if (most := POLICIES[kind].guesses_overall) is not None:
        overall = [guess.at for guess in GUESSES.find(connection, at > now - OVERALL_WINDOW, order=at, **same)]
        ends += [overall[-most] + OVERALL_WINDOW] if len(overall) >= most else []
    return max(ends, default=None)


MAX_TEXT_CHARS = 4096
MAX_KEPT_CHARS = 32_768
MAX_ATTACHMENTS = 10

_GREETING = re.compile(r"/(?:start|name)\b", re.IGNORECASE)


def to_keep(event: InboundMessage | CommandInvoked) -> str | None:
    """Return the event as JSON, or None for `/start`, `/name` and messages without content."""
    if isinstance(event, CommandInvoked):
        if event.name in {"start", "name"} or event.arguments == BULLETS:
            return None
        kept: InboundEvent = replace(event, arguments=event.arguments[:MAX_TEXT_CHARS], route=None)
        return _dump(kept)
    if _GREETING.match(event.text) or event.text == BULLETS or not (event.text.strip() or event.attachments):
        return None
    files = event.attachments[:MAX_ATTACHMENTS]
    said = replace(event, text=event.text[:MAX_TEXT_CHARS], attachments=files, edited=False)
    return _dump(said) or (_dump(replace(said, attachments=())) if said.text else None)


def taken_up(kept: str | None, request_id: str) -> InboundEvent | None:
    """Load the stored event, with an id derived from the request so that it is taken in once."""
    if kept is None:
        return None
    try:
        return replace(INBOUND_EVENT.validate_json(kept), event_id=f"kept:{request_id}")
    except ValidationError:  # written by an older version; the person may say it again
        return None


def is_about(kept: str | None, message_id: str) -> bool:
    """Return True if this message is the stored one."""
    event = taken_up(kept, "")
    return isinstance(event, InboundMessage) and event.message_id == message_id


def _dump(event: InboundEvent) -> str | None:
    try:
        dumped = INBOUND_EVENT.dump_json(event).decode()
    except PydanticSerializationError:  # a lone surrogate in a name cannot be stored
        return None
    return dumped if len(dumped) <= MAX_KEPT_CHARS else None
