"""Invitations: a code that lets one person in at once. Functions over a connection, and what operators do with them.

Sixteen of 32 symbols are 80 bits, because strangers may try them; an overall bound on wrong tries would be a lever to
shut invited people out, so each stranger has one of their own.
"""

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

import structlog
from pydantic import JsonValue

from channels.messages import DEFAULT_TENANT, CommandInvoked, InboundEvent, InboundMessage
from gateway.access import codes, listing, pairing, ranks, tickets
from gateway.access.config import Role
from gateway.access.operations import LEAST_NUMBER_CHARS, OperationRefused
from gateway.access.pairing import Approved
from gateway.access.tickets import CLOCK_SLACK, POLICIES
from gateway.store import people
from gateway.store.engine import Store
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
    """The code that an event gives, if it has the form of one: alone, or behind /start, /`talk` and the like."""
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
    """The event as it may be kept: bullets for the code it gives."""
    if isinstance(event, InboundMessage):
        return replace(event, text=_command_of(event.text, talk) + codes.BULLETS)
    return replace(event, arguments=codes.BULLETS) if isinstance(event, CommandInvoked) else event


def _command_of(text: str, talk: str) -> str:
    """The command that a code stands behind, with the space after it; "" where there is none."""
    given = _GIVEN.match(text[:_LONGEST_TYPED])
    return given[0] if given is not None and given[1].lower() in {*_COMMANDS, talk} else ""


def code_mac(key: bytes, code: str) -> str:
    """What stands in the table in the code's stead."""
    return hmac.digest(key, code.encode(), hashlib.sha256).hex()


@dataclass(frozen=True, slots=True)
class Terms:
    """What an invitation gives, and for how long."""

    role: Role = Role.MEMBER
    valid: timedelta = POLICIES[TicketKind.INVITE].valid
    kind: TicketKind = TicketKind.INVITE


FOUNDING = Terms(Role.OWNER, POLICIES[TicketKind.FOUNDING].valid, TicketKind.FOUNDING)
"""It holds only while the tenant has no owner."""


def make_invite(key: bytes, terms: Terms, by: str, now: datetime, tenant: str = DEFAULT_TENANT) -> Ticket:
    """Return a new invitation, its code derived from its id; it holds once it is added."""
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
    """Keep an invitation, with its audit row; of those to be the first owner only the last one holds."""
    what = "the first owner" if invite.kind is TicketKind.FOUNDING else invite.role
    audit = AuditRow(invite.created_at, invite.created_by, "invite_made", invite.id, f"as {what}")
    tickets.issue(connection, invite, audit)


def _find(connection: Connection, key: bytes, tenant: str, code: str) -> Ticket | None:
    return TICKETS.get(connection, kind=KINDS, tenant=tenant, code_mac=code_mac(key, code))


def is_live(connection: Connection, key: bytes, tenant: str, code: str, now: datetime) -> bool:
    """Return whether somebody could come in with this code."""
    invite = _find(connection, key, tenant, code)
    return invite is not None and _holds(connection, invite, now)


def redeem(
    connection: Connection, key: bytes, code: str, event: InboundMessage | CommandInvoked, now: datetime
) -> Approved | None:
    """Let in who gives this code, once; return None if it holds no more, or too many wrong ones came from them.

    A wrong one is counted, in this same transaction. Somebody who is blocked uses none up.
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


log = structlog.get_logger()

GIVEN_ROLES = (Role.MEMBER, Role.OPERATOR, Role.OWNER)


class InviteOperations:
    """The operations over one store."""

    def __init__(self, store: Store, key: bytes, clock: Callable[[], datetime]) -> None:
        """`key` is `AccessKeys.invites`."""
        self._store = store
        self._key = key
        self._clock = clock

    async def make(self, role: str, days: str, by: str) -> dict[str, JsonValue]:
        """An invitation for one person, and its code, told this once.

        Raises:
            OperationRefused: no such role, or not one below whoever does it; days that are none.
        """
        if role not in GIVEN_ROLES:
            raise OperationRefused(f"{role!r} is no role that an invitation gives; there are: {', '.join(GIVEN_ROLES)}")
        return await self.make_for(Terms(Role(role), _lifetime(days)), by)

    async def make_for(self, terms: Terms, by: str) -> dict[str, JsonValue]:
        """As `make`, by terms that are known to be good.

        Raises:
            OperationRefused: the role is not below whoever does it.
        """
        now = self._clock()
        invite = make_invite(self._key, terms, by, now, self._store.home_tenant)

        def job(connection: Connection) -> bool:
            may = ranks.may_touch(connection, by, invite.role)
            if may:
                add(connection, invite)
            return may

        if not await self._store.commit(job):
            raise OperationRefused("an invitation gives a role below that of whoever makes it")
        log.info("invite_made", invite_id=invite.id, role=invite.role, approver=by)
        return {
            **listing.invite_shown(invite, now),
            "code": codes.in_groups(codes.invite_code_of(self._key, invite.id)),
        }

    async def revoke(self, number: str, by: str) -> dict[str, JsonValue]:
        """Take back an invitation that waits; the number may be cut to its last four characters or more.

        Raises:
            OperationRefused: no such invitation, more than one, or somebody used it, or it is over.
        """
        invite, now = await self._one(number), self._clock()

        def job(connection: Connection) -> str | None:
            if not ranks.may_touch(connection, by, invite.role):
                return "only somebody above the role it gives takes an invitation back"
            if not tickets.settle(connection, invite.id, TicketState.REVOKED, by, now):
                return "somebody used it already, or it is over; `tenk invite list` has more"
            people.record(connection, invite.tenant, AuditRow(now, by, "invite_revoked", invite.id, invite.role))
            return None

        refused = await self._store.commit(job)
        if refused is not None:
            raise OperationRefused(refused)
        log.info("invite_revoked", invite_id=invite.id, approver=by)
        return {"invite": invite.id}

    async def _one(self, number: str) -> Ticket:
        wanted = number.strip().lower()
        known = await self._store.read(partial(TICKETS.find, kind=KINDS, tenant=self._store.home_tenant))
        found = [invite for invite in known if len(wanted) >= LEAST_NUMBER_CHARS and invite.id.endswith(wanted)]
        if len(found) != 1:
            problem = "fits more than one" if found else "is no"
            raise OperationRefused(f"{number!r} {problem} invitation; `tenk invite list` shows the numbers")
        return found[0]


def _lifetime(days: str) -> timedelta:
    try:
        lifetime = timedelta(days=float(days))
    except (ValueError, OverflowError):
        lifetime = timedelta(0)
    if not timedelta(minutes=1) <= lifetime <= LONGEST:
        raise OperationRefused(f"an invitation holds for a minute to {LONGEST.days} days, not {days!r}")
    return lifetime
