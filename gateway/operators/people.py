"""Actions about people: approve, deny, block, set roles, revoke access, delete, export, and the audit log.

Each change is one commit with its audit row and the message to the person. No answer, log line or error contains a
code.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from math import ceil

from channels.console.limits import ACCOUNT, CHANNEL, SENDER
from channels.messages import Address
from gateway.access import linking, pairing, ranks, tickets, words
from gateway.access.config import Role
from gateway.access.linking import LinkWhy
from gateway.access.pairing import Approved, NotApproved, Why
from gateway.access.ranks import Rank
from gateway.errors import GatewayError
from gateway.operators.actions import ActionCall, OperationRefused, action, action_in_commit
from gateway.operators.base import OperatorsBase
from gateway.operators.finding import Candidate, find_if_any, find_one, of_person, of_request
from gateway.operators.models import (
    AccountName,
    AuditEntry,
    AuditLog,
    AuditQuery,
    BlockWish,
    CodeEntry,
    DeniedRequest,
    Erasing,
    ForgottenPerson,
    FoundUsers,
    GroupChange,
    KnownPerson,
    OperatorMessage,
    PairingRequests,
    RoleChange,
    SentMessage,
    User,
    Users,
)
from gateway.operators.process import AccessChange
from gateway.operators.shown_people import lookalikes, search_words, to_requests, to_user
from gateway.safety.names import shown_name
from gateway.store import chats, erasure, groups, inbox, people
from gateway.store.causes import Notice
from gateway.store.engine import Connection
from gateway.store.erasure import ErasureAsked, Extent, newest_row
from gateway.store.groups import Group
from gateway.store.people import Newcomer, Person
from gateway.store.reports import AuditFilter, audit_log
from gateway.store.tables.base import new_id
from gateway.store.tickets import TICKETS, Ticket, TicketKind, TicketState
from gateway.texts import HARNESS

MOST_FOUND = 100  # people on one page
CANONICAL_SENDER = re.compile(r"[a-z][a-z0-9_]*:\S{1,128}")


class PeopleActions(OperatorsBase):
    """The actions about people of one tenant, or of all."""

    @action(Rank.OPERATOR)
    async def list_requests(self, _call: ActionCall) -> PairingRequests:
        """Return the pending pairing requests, the most likely first, without codes."""
        pending = await self.store.read(pairing.pending)
        known = await self.read_people() if pending else []
        return PairingRequests(requests=to_requests(pending, known, self.clock()))

    @action(Rank.OPERATOR)
    async def list_users(self, _call: ActionCall) -> Users:
        """Return all known people, oldest first."""
        known = await self.read_people()
        names = lookalikes(known)
        return Users(users=tuple(to_user(person, names) for person in known))

    @action(Rank.OPERATOR)
    async def find_users(self, _call: ActionCall, text: str, page: int = 1) -> FoundUsers:
        """Return a page of the people who match a text, the newest first, and the number of all matches."""
        known, wanted = await self.read_people(), text.strip().casefold()
        found = [person for person in known if not wanted or wanted in search_words(person)]
        names = lookalikes(known)
        before = (page - 1) * MOST_FOUND
        shown = tuple(to_user(person, names) for person in found[::-1][before : before + MOST_FOUND])
        return FoundUsers(users=shown, before=before, count=len(found))

    @action(Rank.OPERATOR)
    async def read_audit(self, _call: ActionCall, wanted: AuditQuery) -> AuditLog:
        """Return the latest audit entries, newest first.

        Raises:
            OperationRefused: several people fit a name.
        """
        known = await self.read_people()
        by, about = (_names_in_audit(who, known) for who in (wanted.by, wanted.about))
        filtered = AuditFilter(by, about, wanted.action, wanted.since, wanted.limit)
        rows = await self.store.read(partial(audit_log, wanted=filtered))
        ids = {id_ for row in rows for id_ in (row.actor, row.subject)}
        names = dict(await self.store.read(partial(people.names_of, user_ids=ids)))
        for person in known:
            names |= dict.fromkeys(ids & person.identities, person.display_name)
        return AuditLog(
            changes=tuple(
                AuditEntry(
                    at=row.at,
                    by=row.actor,
                    by_name=shown_name(names.get(row.actor, "")),
                    action=row.action,
                    subject=row.subject,
                    subject_name=shown_name(names.get(row.subject, "")),
                    detail=row.detail,
                )
                for row in rows
            )
        )

    @action(Rank.OPERATOR, audit="pairing_approved")
    async def approve(self, call: ActionCall, given: CodeEntry) -> User:
        """Approve the person to whom the bot showed this code.

        Raises:
            OperationRefused: the code is unknown, used or expired, or the approver is locked out.
        """
        if not given.code.strip():
            raise OperationRefused(
                "give the code that the bot showed the person; `tenk pairing list` shows open requests"
            )
        key = self.key
        return await self._approve(
            call, lambda c, again: pairing.approve_code(c, key, given.code, call.by, call.now, repeated=again)
        )

    @action(Rank.OPERATOR, audit="pairing_approved")
    async def approve_request(self, call: ActionCall, number: str) -> User:
        """Approve a request, given by its id or at least the last four characters.

        Raises:
            OperationRefused: no request fits, or several do, or it is no longer pending.
        """
        id_ = (await self._pending(number)).id
        return await self._approve(
            call, lambda c, again: pairing.approve_request(c, id_, call.by, call.now, repeated=again)
        )

    async def _approve(self, call: ActionCall, decide: Callable[[Connection, bool], Approved | NotApproved]) -> User:
        ran: list[Approved] = []

        def job(connection: Connection) -> AccessChange | OperationRefused:
            done = ranks.refuse_to_approve(connection, call.by) or decide(connection, bool(ran))
            if isinstance(done, NotApproved):
                return _refusal(done, call.now)
            ran.append(done)
            said = words.welcome_text(done)
            self.process.say(connection, done.person, done.address, said, Notice("approved", done.request.id))
            row = self.process.take_up(connection, done.said, done.person, call.now)
            self.process.show_verdict(connection, done.request, "approved", call.by)
            return AccessChange(done.person, row)

        return await self._change(call, job)

    @action(Rank.OPERATOR, audit="pairing_denied")
    async def deny(self, call: ActionCall, number: str) -> DeniedRequest:
        """Deny a request without telling the person.

        Raises:
            OperationRefused: no request fits, or several do, or it is no longer pending.
        """
        id_ = (await self._pending(number)).id
        ran: list[Ticket] = []

        def job(connection: Connection) -> Ticket | OperationRefused:
            done = pairing.deny(connection, id_, call.by, call.now, repeated=bool(ran))
            if done is None:
                return _refusal(NotApproved(Why.UNKNOWN), call.now)
            ran.append(done)
            self.process.show_verdict(connection, done, "denied", call.by)
            return done

        denied = await call.commit(job)
        return DeniedRequest(request=id_, sender=denied.sender, name=denied.display_name)

    @action(Rank.OPERATOR, audit="person_blocked")
    async def block(self, call: ActionCall, wanted: BlockWish) -> User:
        """Block a person, also one who was never let in: a sender (`telegram:42`) need not be known.

        Raises:
            OperationRefused: the person is unknown, the only owner, or not below the actor.
        """
        if CANONICAL_SENDER.fullmatch(wanted.who):
            tenant, sender, name = self.store.home_tenant, wanted.who, wanted.who
        else:
            tenant, sender, name = await self._sender_of(wanted.who)

        def job(connection: Connection) -> AccessChange | OperationRefused:
            waiting = [
                asked for asked in pairing.pending(connection) if (asked.tenant, asked.sender) == (tenant, sender)
            ]
            called = waiting[0].display_name if waiting else name
            done = ranks.block_known(connection, tenant, sender, called, call.by, call.now)
            return self._show_blocked(connection, call, done, waiting)

        return await self._change(call, job)

    @action(Rank.OPERATOR, audit="person_blocked")
    async def block_request(self, call: ActionCall, number: str) -> User:
        """Block the person who made this pending request.

        Raises:
            OperationRefused: the request is no longer pending, or the person is not below the actor.
        """
        asked = await self._pending(number)

        def job(connection: Connection) -> AccessChange | OperationRefused:
            done = ranks.block_waiting(connection, asked.id, call.by, call.now)
            return self._show_blocked(connection, call, done, [asked])

        return await self._change(call, job)

    def _show_blocked(
        self, connection: Connection, call: ActionCall, done: Person | Why, waiting: Sequence[Ticket]
    ) -> AccessChange | OperationRefused:
        if isinstance(done, Why):
            return _refusal(NotApproved(done), call.now)
        for asked in waiting:
            self.process.show_verdict(connection, asked, "blocked", call.by)
        return AccessChange(done)

    @action(Rank.OPERATOR, audit="role_changed")
    async def set_role(self, call: ActionCall, who: str, wanted: RoleChange) -> User:
        """Set the role of a person, given by sender or user id. `member` also ends a block.

        Raises:
            OperationRefused: the person is unknown, the tenant would have no owner, or the old or new role is not
                below the actor's.
        """
        return await self._give_role(call, await self._person(who), Role(wanted.role))

    @action(Rank.OPERATOR, audit="role_changed")
    async def unblock(self, call: ActionCall, who: str) -> User:
        """End a person's block: they are a member again.

        Raises:
            OperationRefused: the person is unknown, or not blocked.
        """
        person = await self._person(who)
        if person.role != Role.BLOCKED:
            raise OperationRefused(f"{person.display_name} is not blocked")
        return await self._give_role(call, person, Role.MEMBER)

    async def _give_role(self, call: ActionCall, person: Person, role: Role) -> User:
        def job(connection: Connection) -> AccessChange | OperationRefused:
            return _to_change(ranks.give_role(connection, person.user_id, role, call.by, call.now), call.now)

        return await self._change(call, job)

    @action(Rank.OPERATOR, audit="access_revoked")
    async def revoke(self, call: ActionCall, who: str, wanted: AccountName) -> User:
        """Revoke the access of a person, given by sender or user id, to an account (`telegram:main`).

        Raises:
            OperationRefused: the person is unknown, or has no access there.
        """
        person, account = await self._person(who), wanted.account
        if account not in person.grants | person.policy_grants:
            accounts = ", ".join(sorted(person.grants | person.policy_grants)) or "none"
            raise OperationRefused("access.no_account", account=account, accounts=accounts)

        def job(connection: Connection) -> AccessChange | OperationRefused:
            return _to_change(ranks.revoke(connection, person, account, call.by, call.now), call.now)

        return await self._change(call, job)

    @action(Rank.OPERATOR, audit="message_sent")
    async def send_message(self, call: ActionCall, who: str, wanted: OperatorMessage) -> SentMessage:
        """Send a message to a person, given by sender or user id, in the direct chat in which they wrote last.

        Raises:
            OperationRefused: the person is unknown or blocked, or has no direct chat.
            GatewayError: the channel of the chat is not running.
        """
        person, cause = await self._person(who), Notice("operator", new_id())

        def job(connection: Connection) -> Address | OperationRefused:
            place = next(iter(chats.own_chats(connection, person.tenant, person.user_id)), None)
            if place is None or person.role == Role.BLOCKED:
                return OperationRefused("access.no_chat", name=person.display_name)
            self.process.say(connection, person, place, wanted.text, cause)
            call.record(connection, person.tenant, person.user_id)
            return place

        place = await call.commit(job)
        return SentMessage(account=f"{place.channel}:{place.account}", chat=place.chat)

    @action(Rank.OPERATOR, audit="people_unlinked")
    async def unlink(self, call: ActionCall, who: str) -> User:
        """Undo the link of a sender (`discord:2`) to a person, or a person's only link.

        Raises:
            OperationRefused: the person or link is unknown, or the person is not below the actor.
        """
        person = await self._person(who)
        held = await self.store.read(partial(linking.list_held, user_id=person.user_id))
        fitting = [link for link in held if who == link.other_sender] or held
        if len(fitting) != 1:
            senders = ", ".join(sorted(str(link.other_sender) for link in held)) or "none"
            raise OperationRefused("people.give_unlink", senders=senders)
        link = fitting[0]

        def job(connection: Connection) -> linking.Linked | OperationRefused:
            done = linking.undo(connection, link.id, call.by, call.now)
            if isinstance(done, LinkWhy):
                return _refusal(NotApproved(Why.NOT_BELOW), call.now)
            for side, where in linking.places(done):
                with suppress(GatewayError):  # the undo holds even if no message can be sent now
                    text = HARNESS.text(side.locale, "linking.undone_by")
                    self.process.say(
                        connection, side, where, text, Notice("unlinked", f"{link.id}:{side.user_id[-8:]}")
                    )
            return done

        done = await call.commit(job)
        for side, _ in linking.places(done):
            self.process.announce(AccessChange(side))
        return await self._to_user(done.joins)

    @action(Rank.OPERATOR, audit="browser_let_in")
    async def let_in_browser(self, call: ActionCall, chat: str) -> User:
        """Let a browser that no person is known by talk in the web chat as the actor.

        At the machine that is the person of `tenk chat`.
        """
        sender, tenant = f"web:{chat}", self.store.home_tenant

        def job(connection: Connection) -> AccessChange:
            actor = people.person_of(connection, call.by) or people.find_sender(connection, tenant, SENDER)
            if actor is None:
                here = Newcomer(tenant, SENDER, f"{CHANNEL}:{ACCOUNT}", "", Role.MEMBER, call.by)
                actor = people.enrol(connection, here, call.now)
            people.link(connection, tenant, sender, actor.user_id, call.now)
            call.record(connection, tenant, actor.user_id, sender)
            newcomer = Newcomer(tenant, sender, "web:main", "", Role.MEMBER, call.by)
            return AccessChange(people.enrol(connection, newcomer, call.now))

        return await self._change(call, job)

    @action(Rank.MACHINE, audit="forget_asked")
    async def forget(self, call: ActionCall, who: str, wanted: Erasing) -> ForgottenPerson:
        """Request the deletion of a person's talk or of everything about them; they are given by sender or id.

        Raises:
            OperationRefused: the person is unknown or the only owner.
        """
        person = await self.store.read(partial(find_person, who=who))
        only_owner = "this is the only owner: make another person an owner first (`tenk users role WHO owner`)"

        def job(connection: Connection) -> ErasureAsked | OperationRefused:
            if wanted.extent is Extent.EVERYTHING and people.is_only_owner(connection, person):
                return OperationRefused(only_owner)
            inbox.clear_person(connection, person.user_id, None, call.now, "tenk users forget", beside_id=0)
            call.record(connection, person.tenant, person.user_id, wanted.extent)
            return erasure.ask(
                connection, person, wanted.extent, newest_row(connection), call.now, call.now, self.process.people.mark
            )

        asked = await call.of_tenant(person.tenant).commit(job)
        self.process.announce(AccessChange(unparked=asked.unparked))
        if asked.forgotten:
            self.process.people.forget(person.user_id, asked.forgotten)
        return ForgottenPerson(**dict(_to_known(person)), extent=wanted.extent)

    @action(Rank.MACHINE, audit="data_exported")
    async def note_export(self, call: ActionCall, who: str) -> KnownPerson:
        """Record in the audit log that a person's data is exported, and return the person.

        Raises:
            OperationRefused: the person is unknown.
        """
        person = await self.store.read(partial(find_person, who=who))
        await call.of_tenant(person.tenant).commit(lambda c: call.record(c, person.tenant, person.user_id))
        return _to_known(person)

    @action_in_commit(Rank.OPERATOR, audit="group_changed")
    def change_group(self, call: ActionCall, connection: Connection, group: Group, wanted: GroupChange) -> Group:
        """Change a group's settings and return the changed group.

        Raises:
            NotAllowed: the actor is not an operator.
        """
        given = wanted.model_dump(exclude_none=True)
        changed = replace(group, **given)
        if changed != group:
            groups.GROUPS.save(connection, changed)
            where = f"{group.channel}:{group.account}:{group.chat}"
            call.record(connection, group.tenant, where, ", ".join(f"{name} {value}" for name, value in given.items()))
        return changed

    def take_up_group(self, connection: Connection, group_id: str, by: str, now: datetime) -> AccessChange:
        """Admit an operator's message from before the group was allowed, and close the question on the cards.

        This is part of the commit that allows the group; the caller announces the change after it.
        """
        said = tickets.taken_up(
            groups.take(connection, group_id, now - groups.KEPT_FOR), f"{group_id}:{int(now.timestamp())}"
        )
        person = None if said is None else people.find_sender(connection, said.tenant, said.sender_key)
        row = None
        if person is not None and person.role != Role.BLOCKED:
            row = self.process.take_up(connection, said, person, now)
        self.process.show_allowed(connection, group_id, by)
        return AccessChange(row=row)

    async def _change(self, call: ActionCall, job: Callable[[Connection], AccessChange | OperationRefused]) -> User:
        """Commit a decision about a person and return the changed person."""
        change = await call.commit(job)
        self.process.announce(change)
        assert change.person is not None, "the job changed a person"
        return await self._to_user(change.person)

    async def _to_user(self, person: Person) -> User:
        return to_user(person, lookalikes(await self.read_people()))

    async def _pending(self, number: str) -> Ticket:
        asked = await self.store.read(partial(TICKETS.get, id=number, kind=TicketKind.PAIRING))
        if asked is not None and asked.state is not TicketState.PENDING:
            raise _refusal(NotApproved(ranks.why_over(asked)), self.clock())
        pending = await self.store.read(pairing.pending)
        return find_one(number, map(of_request, pending))

    async def _person(self, who: str) -> Person:
        return find_one(who, map(of_person, await self.read_people()))

    async def _sender_of(self, who: str) -> tuple[str, str, str]:
        """Return tenant, sender and name of a known person, or of one who asked to be let in."""
        inside: list[Candidate[Person | Ticket]] = [of_person(each) for each in await self.read_people()]
        known = {sender for each in inside for sender in each.senders}
        asking = [each for each in await self.store.read(pairing.pending) if each.sender not in known]
        candidates = [*(each for each in inside if each.senders), *map(of_request, asking)]
        found = find_one(who, candidates)
        sender = found.sender if isinstance(found, Ticket) else min(found.identities)
        return found.tenant, sender, found.display_name


def _names_in_audit(who: str, known: Iterable[Person]) -> Collection[str]:
    """Return the names under which the audit log has a person; what is no known person is a name itself."""
    if not who or who in (ranks.BY_CLI, people.BY_POLICY):
        return (who,) if who else ()
    person = find_if_any(who, map(of_person, known))
    return (who,) if person is None else {person.user_id, *person.aliases, *person.identities}


def _to_change(done: Person | Why, now: datetime) -> AccessChange | OperationRefused:
    return AccessChange(done) if isinstance(done, Person) else _refusal(NotApproved(done), now)


def _refusal(refused: NotApproved, now: datetime) -> OperationRefused:
    left = timedelta(0) if refused.until is None else refused.until - now
    return OperationRefused(f"access.why_{refused.why.name.lower()}", minutes=max(1, ceil(left.total_seconds() / 60)))


def _to_known(person: Person) -> KnownPerson:
    return KnownPerson(
        user=person.user_id,
        tenant=person.tenant,
        name=person.display_name,
        role=person.role,
        senders=tuple(sorted(person.identities)),
    )


def find_person(connection: Connection, who: str) -> Person:
    """Return the person that an operator names.

    Raises:
        OperationRefused: there is none, or there are several.
    """
    return find_one(who, map(of_person, people.everybody(connection)))
