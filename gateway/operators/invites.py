"""Actions about invitations. Only the answer to making one contains its code; it is not stored or logged."""

from datetime import datetime, timedelta
from functools import partial

from gateway.access import codes, invites, ranks, tickets
from gateway.access.codes import AccessKeys
from gateway.access.config import Role
from gateway.access.invites import LONGEST, Terms
from gateway.access.ranks import Rank
from gateway.operators.actions import LEAST_NUMBER_CHARS, ActionCall, OperationRefused, action
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
    async def list_invites(self, _call: ActionCall) -> Invites:
        """Return the invitations of the last months, newest first, without codes."""
        now, known = self.clock(), await self.store.read(_load_invites)
        return Invites(invites=tuple(_to_invite(invite, now) for invite in known))

    async def invite(self, by: str, wanted: InviteTerms) -> MadeInvite:
        """Make an invitation for one person and return it with its code.

        Raises:
            OperationRefused: the role does not exist or is not below the actor's, or the lifetime is out of bounds.
        """
        if wanted.role not in GIVEN_ROLES:
            roles = ", ".join(GIVEN_ROLES)
            raise OperationRefused(f"{wanted.role!r} is not a role for an invitation; choose one of: {roles}")
        return await self.invite_by(by, Terms(Role(wanted.role), _lifetime(wanted.days)))

    async def invite_with_links(self, by: str, wanted: InviteTerms) -> MadeInvite:
        """Make an invitation and return it with a link to each of the tenant's bots."""
        made = await self.invite(by, wanted)
        links = await self.process.bot_links(made.code, self.store.home_tenant)
        return made.model_copy(update={"ways": tuple(links)})

    @action(Rank.OPERATOR, audit="invite_made")
    async def invite_by(self, call: ActionCall, terms: Terms) -> MadeInvite:
        """Make an invitation from validated terms.

        Raises:
            OperationRefused: the role is not below the actor's.
        """
        invite = invites.make_invite(
            AccessKeys.derive_from(self.key).invites, terms, call.by, call.now, self.store.home_tenant
        )

        def job(connection: Connection) -> OperationRefused | None:
            if not ranks.may_touch(connection, call.by, invite.role):
                return OperationRefused("an invitation can only give a role below your own")
            invites.add(connection, invite)
            return None

        await call.commit(job)
        code = codes.invite_code_of(AccessKeys.derive_from(self.key).invites, invite.id)
        return MadeInvite(**dict(_to_invite(invite, call.now)), code=codes.in_groups(code))

    @action(Rank.OPERATOR, audit="invite_revoked")
    async def revoke_invite(self, call: ActionCall, number: str) -> RevokedInvite:
        """Revoke a pending invitation, given by its id or at least the last four characters.

        Raises:
            OperationRefused: no invitation fits, or several do, or it is used or expired.
        """
        invite = await self._one(number)

        def job(connection: Connection) -> OperationRefused | None:
            if not ranks.may_touch(connection, call.by, invite.role):
                return OperationRefused("to revoke an invitation you need a role above the one it gives")
            if not tickets.settle(connection, invite.id, TicketState.REVOKED, call.by, call.now):
                return OperationRefused("it was used already, or it has expired; see `tenk invite list`")
            call.record(connection, invite.tenant, invite.id, invite.role)
            return None

        await call.commit(job)
        return RevokedInvite(invite=invite.id)

    async def _one(self, number: str) -> Ticket:
        wanted = number.strip().lower()
        known = await self.store.read(partial(TICKETS.find, kind=invites.KINDS, tenant=self.store.home_tenant))
        found = [invite for invite in known if len(wanted) >= LEAST_NUMBER_CHARS and invite.id.endswith(wanted)]
        if len(found) != 1:
            problem = "fits more than one" if found else "is not an"
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
        raise OperationRefused(f"an invitation can last from a minute to {LONGEST.days} days, not {days:g}")
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
