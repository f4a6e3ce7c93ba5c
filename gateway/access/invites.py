"""Invitations: single-use codes that let people in at once.

A code has 16 of 32 symbols, 80 bits, because strangers can guess. Wrong guesses are bounded per stranger: with a bound
over all of them, one attacker could lock out invited people.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from channels.messages import DEFAULT_TENANT, CommandInvoked, InboundEvent, InboundMessage
from gateway.access import codes, pairing, tickets
from gateway.access.config import Role
from gateway.access.pairing import Approved
from gateway.access.tickets import CLOCK_SLACK, POLICIES
from gateway.store import people
from gateway.store.people import AuditRow, Connection
from gateway.store.tables.base import new_id
from gateway.store.tickets import TICKETS, Ticket, TicketKind, TicketState

CODE_CHARS = codes.INVITE_CHARS
KINDS = (TicketKind.INVITE, TicketKind.FOUNDING)
LONGEST = timedelta(days=366)

_GIVEN = re.compile(r"/(\w{1,32})(?:@\w{1,64})?\s+")
_COMMANDS = frozenset({"start", "pair", "join", "invite"})
_LONGEST_TYPED = 80


def code_in(event: InboundEvent, talk: str) -> str | None:
    """Return the invitation code of an event, alone or after a command like /start or /`talk`, or None."""
    match event:
        case InboundMessage(text=text):
            typed = text[len(_command_of(text, talk)) :]
        case CommandInvoked(name=name, arguments=arguments) if name in {*_COMMANDS, talk}:
            typed = arguments
        case _:
            return None
    if len(typed) > _LONGEST_TYPED:
        return None
    code = codes.normalise(typed)
    return code if len(code) == CODE_CHARS and set(code) <= set(codes.ALPHABET) else None


def without_code(event: InboundEvent, talk: str) -> InboundEvent:
    """Return the event with bullets in place of its code, so that it can be stored."""
    if isinstance(event, InboundMessage):
        return replace(event, text=_command_of(event.text, talk) + codes.BULLETS)
    return replace(event, arguments=codes.BULLETS) if isinstance(event, CommandInvoked) else event


def _command_of(text: str, talk: str) -> str:
    """Return the command before a code, with its space; "" if there is none."""
    given = _GIVEN.match(text[:_LONGEST_TYPED])
    return given[0] if given is not None and given[1].lower() in {*_COMMANDS, talk} else ""


def code_mac(key: bytes, code: str) -> str:
    """Return the keyed digest that the table stores instead of the code."""
    return hmac.digest(key, code.encode(), hashlib.sha256).hex()


@dataclass(frozen=True, slots=True)
class Terms:
    """Role, validity and kind of a new invitation."""

    role: Role = Role.MEMBER
    valid: timedelta = POLICIES[TicketKind.INVITE].valid
    kind: TicketKind = TicketKind.INVITE


FOUNDING = Terms(Role.OWNER, POLICIES[TicketKind.FOUNDING].valid, TicketKind.FOUNDING)
"""Valid only while the tenant has no owner."""


def make_invite(key: bytes, terms: Terms, by: str, now: datetime, tenant: str = DEFAULT_TENANT) -> Ticket:
    """Return a new invitation, its code derived from its id; the caller stores it with `add`."""
    id_ = new_id()
    return Ticket(
        id=id_,
        tenant=tenant,
        kind=terms.kind,
        code_mac=code_mac(key, codes.invite_code_of(key, id_)),
        role=terms.role,
        created_at=now,
        created_by=by[:128],
        expires_at=now + terms.valid,
    )


def add(connection: Connection, invite: Ticket) -> None:
    """Store an invitation with its audit row; a new founding invitation replaces the earlier one."""
    what = "the first owner" if invite.kind is TicketKind.FOUNDING else invite.role
    audit = AuditRow(invite.created_at, invite.created_by, "invite_made", invite.id, f"as {what}")
    tickets.issue(connection, invite, audit)


def _find(connection: Connection, key: bytes, tenant: str, code: str) -> Ticket | None:
    return TICKETS.get(connection, kind=KINDS, tenant=tenant, code_mac=code_mac(key, code))


def is_live(connection: Connection, key: bytes, tenant: str, code: str, now: datetime) -> bool:
    """Return True if this code would let its sender in now."""
    invite = _find(connection, key, tenant, code)
    return invite is not None and _holds(connection, invite, now)


def redeem(
    connection: Connection, key: bytes, code: str, event: InboundMessage | CommandInvoked, now: datetime
) -> Approved | None:
    """Use an invitation and let its sender in; return None if it is not valid or the sender is locked out.

    A wrong code is counted in this transaction. A blocked sender does not use up the invitation.
    """
    known = people.find_sender(connection, event.tenant, event.sender_key)
    blocked = known is not None and known.role == Role.BLOCKED
    if blocked or tickets.locked_until(connection, TicketKind.INVITE, event.sender_key, now, event.tenant) is not None:
        return None
    invite = _find(connection, key, event.tenant, code)
    if invite is None:
        tickets.count_guess(connection, TicketKind.INVITE, event.sender_key, now, event.tenant)
        return None
    if not _holds(connection, invite, now):
        return None
    if not tickets.settle(connection, invite.id, TicketState.APPROVED, event.sender_key, now):
        return None
    return pairing.let_in_invited(connection, event, Role(invite.role), f"invite:{invite.id}", now)


def _holds(connection: Connection, invite: Ticket, now: datetime) -> bool:
    in_time = invite.created_at - CLOCK_SLACK <= now < invite.expires_at
    if invite.state is not TicketState.PENDING or not in_time:
        return False
    return not (invite.kind is TicketKind.FOUNDING and people.has_owner(connection, invite.tenant))
