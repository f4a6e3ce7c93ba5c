"""Operators make invitations, list them and take them back, each with its audit row.

A code is part of one answer, that of making it, and of nothing that is kept or logged.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

import structlog
from pydantic import JsonValue

from gateway.access import codes, invites, listing, ranks, tickets
from gateway.access.invites import LONGEST, Terms
from gateway.access.operations import LEAST_NUMBER_CHARS, OperationRefused
from gateway.access.roles import Role
from gateway.store import people
from gateway.store.engine import Store
from gateway.store.people import AuditRow, Connection
from gateway.store.tickets import TICKETS, Ticket, TicketState

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
        invite = invites.make_invite(self._key, terms, by, now, self._store.home_tenant)

        def job(connection: Connection) -> bool:
            may = ranks.may_touch(connection, by, invite.role)
            if may:
                invites.add(connection, invite)
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
        known = await self._store.read(partial(TICKETS.find, kind=invites.KINDS, tenant=self._store.home_tenant))
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
