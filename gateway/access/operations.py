"""Operators decide about people by one set of operations: the control socket, the CLI alone and commands share it.

Each is one commit: the change, its audit row and what is said to the person. Who does it is "cli" or a user id, and
within the commit that has to be an operator, above whomever it is about. A code is never part of an answer, a log line
or an error.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from math import ceil
from typing import TypeVar

import structlog
from pydantic import JsonValue

from channels.messages import Address, InboundEvent
from gateway.access import linking, listing, pairing, ranks, tickets, words
from gateway.access.config import Role
from gateway.access.linking import Linked, LinkWhy
from gateway.access.listing import AccessLists
from gateway.access.listing import OperationRefused as OperationRefused  # noqa: PLC0414  mypy knows by it that others have it from here
from gateway.access.pairing import Approved, NotApproved, Why
from gateway.errors import GatewayError
from gateway.store import groups, people
from gateway.store.engine import Store
from gateway.store.inbox import InboxRow
from gateway.store.people import Connection, Person
from gateway.store.tickets import TICKETS, Ticket, TicketKind, TicketState
from gateway.texts import HARNESS

T = TypeVar("T")

LEAST_NUMBER_CHARS = 4

Say = Callable[[Connection, Person, Address, str, str], None]
"""Put a message for somebody into the outbox: connection, they, where, Markdown, cause. The same cause again adds none.

Raises GatewayError where nothing can be said there now.
"""

TakeUp = Callable[[Connection, InboundEvent | None, Person, datetime], InboxRow | None]
"""Take in what somebody said while they waited; the row, None where nothing is kept or it was taken in before."""

ShowVerdict = Callable[[Connection, Ticket, str, str], Sequence[Address]]
"""Put what became of a request (approved, denied, blocked), and by whom, where owners were asked; where that is."""

ShowAllowed = Callable[[Connection, str, str], Sequence[Address]]
"""Put who allowed the group of this id in the place of what asked whether it may be; where that is."""

CANONICAL_SENDER = re.compile(r"[a-z][a-z0-9_]*:\S{1,128}")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class AccessChange:
    """What an operation committed."""

    person: Person | None = None  # as they are now
    told: Sequence[Address] = ()  # where something waits to be said
    row: InboxRow | None = None  # what they had said before, taken in


def _nobody_listens(_: AccessChange) -> None:
    """For a store without a running gateway."""


def _nothing_kept(_: Connection, __: InboundEvent | None, ___: Person, ____: datetime) -> None:
    """For callers that know no inbox."""


def _no_group_cards(_: Connection, __: str, ___: str) -> Sequence[Address]:
    """For callers that asked nobody about a group."""
    return ()


def _no_cards(_: Connection, __: Ticket, ___: str, ____: str) -> Sequence[Address]:
    """For callers that asked no owner."""
    return ()


@dataclass(frozen=True, slots=True)
class AccessDeps:
    """What the operations reach beside the rules; by default nothing of it is there."""

    take_up: TakeUp = _nothing_kept
    verdict: ShowVerdict = _no_cards
    allowed: ShowAllowed = _no_group_cards
    everybody: Callable[[], Sequence[Person]] | None = None  # in a running gateway's memory; None: the store is asked


_ALONE = AccessDeps()


class AccessOperations(AccessLists):
    """The operations over one store. `changed` is called after each commit, in commit order, in the event loop."""

    _store: Store

    def __init__(
        self,
        store: Store,
        key: bytes,
        say: Say,
        clock: Callable[[], datetime],
        changed: Callable[[AccessChange], None] = _nobody_listens,
        deps: AccessDeps = _ALONE,
    ) -> None:
        """A running gateway passes a `changed` that updates its snapshot and wakes the lane."""
        super().__init__(store, clock, deps.everybody)
        self._store = store
        self._key = key
        self._say = say
        self._changed = changed
        self._take_up = deps.take_up
        self._verdict = deps.verdict
        self._show_allowed = deps.allowed

    async def approve(self, code: str, by: str) -> dict[str, JsonValue]:
        """Let in whose code this is.

        Raises:
            OperationRefused: nobody's code, used, run out, or the approver is locked out.
        """
        if not code.strip():
            raise OperationRefused("give the code that the person was shown; `tenk pairing list` has who waits")
        now = self._clock()
        return await self._approve(
            lambda c, again: pairing.approve_code(c, self._key, code, by[:128], now, repeated=again), by, now
        )

    async def approve_request(self, number: str, by: str) -> dict[str, JsonValue]:
        """Let in who made this request; the number may be cut to its last four characters or more.

        Raises:
            OperationRefused: no such request, more than one, or it is pending no more.
        """
        now = self._clock()
        request_id = (await self._pending(number)).id
        return await self._approve(
            lambda c, again: pairing.approve_request(c, request_id, by[:128], now, repeated=again), by, now
        )

    async def _approve(
        self, decide: Callable[[Connection, bool], Approved | NotApproved], by: str, now: datetime
    ) -> dict[str, JsonValue]:
        ran: list[Approved] = []

        def job(connection: Connection) -> AccessChange | NotApproved:
            done = ranks.refuse_to_approve(connection, by) or decide(connection, bool(ran))
            if isinstance(done, NotApproved):
                return done
            ran.append(done)
            said = words.welcome_text(done)
            self._say(connection, done.person, done.address, said, f"approved:{done.request.id}")
            row = self._take_up(connection, done.said, done.person, now)
            cards = self._verdict(connection, done.request, "approved", by)
            return AccessChange(done.person, (done.address, *cards), row)

        return await self._change(job, "pairing_approved", by)

    def take_up_group(self, connection: Connection, group_id: str, by: str) -> AccessChange:
        """Take up what an operator said in a group before it was allowed, and close the question whether it may be.

        Part of the commit that allows the group; `announce` the change after it.
        """
        now = self._clock()
        kept_said = groups.take(connection, group_id, now - groups.KEPT_FOR)
        said = tickets.taken_up(kept_said, f"{group_id}:{int(now.timestamp())}")
        person = None if said is None else people.find_sender(connection, said.tenant, said.sender_key)
        row = None
        if person is not None and person.role != Role.BLOCKED:
            row = self._take_up(connection, said, person, now)
        return AccessChange(told=self._show_allowed(connection, group_id, by), row=row)

    def announce(self, change: AccessChange) -> None:
        """Tell the running gateway of a change that is committed."""
        self._changed(change)

    async def deny(self, number: str, by: str) -> dict[str, JsonValue]:
        """Turn a request down, in silence.

        Raises:
            OperationRefused: no such request, more than one, or it is pending no more.
        """
        now = self._clock()
        request_id = (await self._pending(number)).id
        ran: list[Ticket] = []

        def job(connection: Connection) -> AccessChange | NotApproved:
            if not ranks.may_decide(connection, by):
                return NotApproved(Why.NOT_ALLOWED)
            done = pairing.deny(connection, request_id, by[:128], now, repeated=bool(ran))
            if done is None:
                return NotApproved(Why.UNKNOWN)
            ran.append(done)
            return AccessChange(told=self._verdict(connection, done, "denied", by))

        await self._commit(job, "pairing_denied", by)
        log.info("pairing_denied", request_id=request_id, approver=by)
        return {"request": request_id, "sender": ran[-1].sender, "name": ran[-1].display_name}

    async def block(self, who: str, by: str) -> dict[str, JsonValue]:
        """Silence for a person, given as a request's number, a sender (`telegram:42`) or a user id.

        Raises:
            OperationRefused: nobody is known by that, it is the only owner, or not below whoever does it.
        """
        now = self._clock()
        if CANONICAL_SENDER.fullmatch(who):
            tenant, sender, name = self._store.home_tenant, who, who
        else:
            tenant, sender, name = await self._sender_of(who)

        def job(connection: Connection) -> AccessChange | NotApproved:
            waiting = [
                asked for asked in pairing.pending(connection) if (asked.tenant, asked.sender) == (tenant, sender)
            ]
            called = waiting[0].display_name if waiting else name
            done = ranks.block_known(connection, tenant, sender, called, by[:128], now)
            return self._show_blocked(connection, done, waiting, by)

        return await self._change(job, "person_blocked", by)

    async def block_request(self, request_id: str, by: str) -> dict[str, JsonValue]:
        """Silence for whoever made this request, while it is pending.

        Raises:
            OperationRefused: it is pending no more, or its person is not below whoever does it.
        """
        asked, now = await self._pending(request_id), self._clock()

        def job(connection: Connection) -> AccessChange | NotApproved:
            done = ranks.block_waiting(connection, asked.id, by[:128], now)
            return self._show_blocked(connection, done, [asked], by)

        return await self._change(job, "person_blocked", by)

    def _show_blocked(
        self, connection: Connection, done: Person | Why, waiting: Sequence[Ticket], by: str
    ) -> AccessChange | NotApproved:
        """Show what became of the requests of somebody who is blocked."""
        if isinstance(done, Why):
            return NotApproved(done)
        return AccessChange(
            done, [where for asked in waiting for where in self._verdict(connection, asked, "blocked", by)]
        )

    async def set_role(self, who: str, role: str, by: str) -> dict[str, JsonValue]:
        """Give a person, by sender or user id, another role; `member` also ends a block.

        Raises:
            OperationRefused: no such person or role, it would leave the tenant without an owner, or what they are or
                shall be is not below whoever does it.
        """
        if role not in tuple(Role):
            raise OperationRefused("access.no_role", role=role, roles=", ".join(Role))
        now = self._clock()
        person = await self._person(who)

        def job(connection: Connection) -> AccessChange | NotApproved:
            return _to_change(ranks.give_role(connection, person.user_id, Role(role), by[:128], now))

        return await self._change(job, "role_changed", by)

    async def revoke(self, who: str, account: str, by: str) -> dict[str, JsonValue]:
        """Take back what let a person, by sender or user id, into an account (`telegram:main`).

        Raises:
            OperationRefused: no such person, or nothing let them in there.
        """
        now = self._clock()
        person = await self._person(who)
        if account not in person.grants | person.policy_grants:
            accounts = ", ".join(sorted(person.grants | person.policy_grants)) or "none"
            raise OperationRefused("access.no_account", account=account, accounts=accounts)

        def job(connection: Connection) -> AccessChange | NotApproved:
            return _to_change(ranks.revoke(connection, person, account, by[:128], now))

        return await self._change(job, "access_revoked", by)

    async def unlink(self, who: str, by: str) -> dict[str, JsonValue]:
        """Undo the link by which a sender (`discord:2`) joined a person, or the only one of a person's.

        Raises:
            OperationRefused: no such person or link, or it is of somebody not below whoever does it.
        """
        person, now = await self._person(who), self._clock()
        held = await self._store.read(partial(linking.list_held, user_id=person.user_id))
        fitting = [link for link in held if who == link.other_sender] or held
        if len(fitting) != 1:
            senders = ", ".join(sorted(str(link.other_sender) for link in held)) or "nobody"
            raise OperationRefused("people.give_unlink", senders=senders)
        link = fitting[0]

        def job(connection: Connection) -> Linked | LinkWhy:
            done = linking.undo(connection, link.id, by[:128], now)
            for person, where in linking.places(done):
                with suppress(GatewayError):  # it holds also where nobody can be told now
                    text = HARNESS.text(person.locale, "linking.undone_by")
                    self._say(connection, person, where, text, f"unlinked:{link.id}:{person.user_id[-8:]}")
            return done

        done = await self._store.commit(job)
        if isinstance(done, LinkWhy):
            raise _refusal(NotApproved(Why.NOT_BELOW), now)
        for person, where in linking.places(done):
            self._changed(AccessChange(person, (where,)))
        log.info("people_unlinked", user_id=done.stays.user_id, parted=done.joins.user_id, approver=by)
        return await self._to_json(done.joins)

    async def _to_json(self, person: Person) -> dict[str, JsonValue]:
        return listing.person_shown(person, listing.lookalikes(await self._read_people()))

    async def _change(
        self, job: Callable[[Connection], AccessChange | NotApproved], event: str, by: str
    ) -> dict[str, JsonValue]:
        """Commit a decision about a person; return them as they are now."""
        person = (await self._commit(job, event, by)).person
        assert person is not None, "the job changed somebody"
        log.info(event, user_id=person.user_id, role=person.role, approver=by)
        return await self._to_json(person)

    async def _commit(
        self, job: Callable[[Connection], AccessChange | NotApproved], event: str, by: str
    ) -> AccessChange:
        done = await self._store.commit(job)
        if isinstance(done, NotApproved):
            log.warning("access_change_refused", change=event, why=done.why, approver=by)
            raise _refusal(done, self._clock())
        self._changed(done)
        return done

    async def _pending(self, number: str) -> Ticket:
        asked = await self._store.read(partial(TICKETS.get, id=number, kind=TicketKind.PAIRING))
        if asked is not None and asked.state is not TicketState.PENDING:
            raise _refusal(NotApproved(ranks.why_over(asked)), self._clock())
        pending = await self._store.read(pairing.pending)
        return _one_of(number, [(request.id, request) for request in pending], "request")

    async def _person(self, who: str) -> Person:
        known = await self._read_people()
        found = [person for person in known if who in person.identities]
        if len(found) == 1:
            return found[0]
        return _one_of(who, [(person.user_id, person) for person in known], "user")

    async def _sender_of(self, who: str) -> tuple[str, str, str]:
        """Tenant, sender and name for a request's number or a user id."""
        pending = await self._store.read(pairing.pending)
        known = await self._read_people()
        asking = [(request.id, (request.tenant, request.sender, request.display_name)) for request in pending]
        inside = [(p.user_id, (p.tenant, min(p.identities), p.display_name)) for p in known if p.identities]
        return _one_of(who, asking + inside, "request_or_user")


def _to_change(done: Person | Why) -> AccessChange | NotApproved:
    return AccessChange(done) if isinstance(done, Person) else NotApproved(done)


def _refusal(refused: NotApproved, now: datetime) -> OperationRefused:
    """What whoever decided is told."""
    left = timedelta(0) if refused.until is None else refused.until - now
    return OperationRefused(f"access.why_{refused.why.name.lower()}", minutes=max(1, ceil(left.total_seconds() / 60)))


def _one_of(number: str, candidates: Sequence[tuple[str, T]], what: str) -> T:
    """The one whose id is, or ends with, this."""
    wanted = number.strip().lower()
    ending = wanted if len(wanted) >= LEAST_NUMBER_CHARS else "no id ends like this"
    found = [value for id_, value in candidates if id_ == wanted or id_.endswith(ending)]
    if len(found) != 1:
        raise OperationRefused("access.number_twice" if found else f"access.no_{what}", number=number)
    return found[0]
