"""Actions about invitations. A code is part of one answer, that of making it, and of nothing that is kept or logged."""

from datetime import datetime, timedelta
from functools import partial

from gateway.access import codes, invites, ranks, tickets
from gateway.access.codes import AccessKeys
from gateway.access.config import Role
from gateway.access.invites import LONGEST, Terms
from gateway.access.ranks import Rank
from gateway.operators.actions import LEAST_NUMBER_CHARS, Deed, OperationRefused, action
from gateway.operators.base import OperatorsBase
from gateway.operators.models import Invite, Invites, InviteTerms, MadeInvite, RevokedInvite
from gateway.store.engine import Connection
from gateway.store.tenancy import whose_rows
from gateway.store.tickets import TICKETS, Ticket, TicketKind, TicketState

GIVEN_ROLES = (Role.MEMBER, Role.OPERATOR, Role.OWNER)
MOST_INVITES = 1_000


class InviteActions(OperatorsBase):
    """The actions about invitations of one tenant, or of all."""

    @action(Rank.OPERATOR)
    async def list_invites(self, _deed: Deed) -> Invites:
        """Return every invitation of the last months, newest first; never a code."""
        now, known = self.clock(), await self.store.read(_load_invites)
        return Invites(invites=tuple(_to_invite(invite, now) for invite in known))

    async def invite(self, by: str, wanted: InviteTerms) -> MadeInvite:
        """Make an invitation for one person; its code is told this once.

        Raises:
            OperationRefused: no such role, or not one below the actor's; a lifetime out of bounds.
        """
        if wanted.role not in GIVEN_ROLES:
            roles = ", ".join(GIVEN_ROLES)
            raise OperationRefused(f"{wanted.role!r} is no role that an invitation gives; there are: {roles}")
        return await self.invite_by(by, Terms(Role(wanted.role), _lifetime(wanted.days)))

    async def invite_with_links(self, by: str, wanted: InviteTerms) -> MadeInvite:
        """Make an invitation, and return it with a link to each of the tenant's bots."""
        made = await self.invite(by, wanted)
        ways = await self.process.bot_links(made.code, self.store.home_tenant)
        return made.model_copy(update={"ways": tuple(ways)})

    @action(Rank.OPERATOR, audit="invite_made")
    async def invite_by(self, deed: Deed, terms: Terms) -> MadeInvite:
        """Make an invitation by terms that are known to be good.

        Raises:
            OperationRefused: the role is not below the actor's.
        """
        invite = invites.make_invite(
            AccessKeys.derive_from(self.key).invites, terms, deed.by, deed.now, self.store.home_tenant
        )

        def job(connection: Connection) -> OperationRefused | None:
            if not ranks.may_touch(connection, deed.by, invite.role):
                return OperationRefused("an invitation gives a role below that of whoever makes it")
            invites.add(connection, invite)
            return None

        await deed.commit(job)
        code = codes.invite_code_of(AccessKeys.derive_from(self.key).invites, invite.id)
        return MadeInvite(**dict(_to_invite(invite, deed.now)), code=codes.in_groups(code))

    @action(Rank.OPERATOR, audit="invite_revoked")
    async def revoke_invite(self, deed: Deed, number: str) -> RevokedInvite:
        """Take back an invitation that waits; the number may be cut to its last four characters or more.

        Raises:
            OperationRefused: no such invitation, more than one, or it was used or is over.
        """
        invite = await self._one(number)

        def job(connection: Connection) -> OperationRefused | None:
            if not ranks.may_touch(connection, deed.by, invite.role):
                return OperationRefused("only somebody above the role it gives takes an invitation back")
            if not tickets.settle(connection, invite.id, TicketState.REVOKED, deed.by, deed.now):
                return OperationRefused("somebody used it already, or it is over; `tenk invite list` has more")
            deed.record(connection, invite.tenant, invite.id, invite.role)
            return None

        await deed.commit(job)
        return RevokedInvite(invite=invite.id)

    async def _one(self, number: str) -> Ticket:
        wanted = number.strip().lower()
        known = await self.store.read(partial(TICKETS.find, kind=invites.KINDS, tenant=self.store.home_tenant))
        found = [invite for invite in known if len(wanted) >= LEAST_NUMBER_CHARS and invite.id.endswith(wanted)]
        if len(found) != 1:
            problem = "fits more than one" if found else "is no"
            raise OperationRefused(f"{number!r} {problem} invitation; `tenk invite list` shows the numbers")
        return found[0]


def _load_invites(connection: Connection) -> list[Ticket]:
    kinds, newest = (TicketKind.INVITE, TicketKind.FOUNDING), (TICKETS.c.created_at.desc(), TICKETS.c.id.desc())
    return TICKETS.find(connection, kind=kinds, tenant=whose_rows(), order=newest, limit=MOST_INVITES)


def _lifetime(days: float) -> timedelta:
    try:
        lifetime = timedelta(days=days)
    except (ValueError, OverflowError):
        lifetime = timedelta(0)
    if not timedelta(minutes=1) <= lifetime <= LONGEST:
        raise OperationRefused(f"an invitation holds for a minute to {LONGEST.days} days, not {days:g}")
    return lifetime


def _to_invite(invite: Ticket, now: datetime) -> Invite:
    return Invite(
        invite=invite.id,
        role=invite.role,
        state=_state(invite, now),
        made_at=invite.created_at,
        made_by=invite.created_by,
        expires_at=invite.expires_at,
        used_by=invite.ended_by if invite.state is TicketState.APPROVED else None,
    )


def _state(invite: Ticket, now: datetime) -> str:
    if invite.state is TicketState.PENDING:
        return "waits" if now < invite.expires_at else "expired"
    return {TicketState.APPROVED: "used", TicketState.EXPIRED: "expired"}.get(invite.state, "revoked")
