"""What an operator does about people: one set of operations for the control socket, the CLI alone and chat commands.

Each is one commit: the change, its audit row and what is said to the person. Whether the caller is an operator is the
caller's to know. A code is never part of an answer, a log line or an error.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import TypeVar

import structlog
from pydantic import JsonValue

from channels.messages import DEFAULT_TENANT, Address
from gateway.access import pairing, words
from gateway.access.pairing import Approved, NotApproved, Why
from gateway.access.roles import Role
from gateway.errors import GatewayError
from gateway.store import pairing as rows
from gateway.store import people
from gateway.store.engine import Store
from gateway.store.pairing import Request
from gateway.store.people import Connection, Person

T = TypeVar("T")

LEAST_NUMBER_CHARS = 4

Say = Callable[[Connection, Address, str, str], None]
"""Put a message into the outbox: connection, where, Markdown, cause. The same cause again adds nothing."""

CANONICAL_SENDER = re.compile(r"[a-z][a-z0-9_]*:\S{1,128}")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class AccessChange:
    """What an operation committed."""

    person: Person | None = None  # as they are now
    told: Address | None = None  # where something waits to be said


class OperationRefused(GatewayError):
    """Nothing was changed; the message says why and what to do."""


def _nobody_listens(_: AccessChange) -> None:
    """For a store without a running gateway."""


class AccessOperations:
    """The operations over one store. `changed` is called after each commit, in commit order, in the event loop."""

    def __init__(
        self,
        store: Store,
        key: bytes,
        say: Say,
        clock: Callable[[], datetime],
        changed: Callable[[AccessChange], None] = _nobody_listens,
    ) -> None:
        """A running gateway passes a `changed` that updates its snapshot and wakes the lane."""
        self._store = store
        self._key = key
        self._say = say
        self._clock = clock
        self._changed = changed

    async def list_requests(self) -> list[JsonValue]:
        """Who waits, oldest first: number, sender, name, account, age. Never a code: the person has it."""
        now = self._clock()
        pending = await self._store.read(rows.pending)
        return [_shown(one, now) for one in pending if now < one.expires_at]

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
        self, job: Callable[[Connection, bool], Approved | NotApproved], by: str, now: datetime
    ) -> dict[str, JsonValue]:
        ran: list[Approved] = []

        def whole(connection: Connection) -> Approved | NotApproved:
            done = job(connection, bool(ran))
            if isinstance(done, Approved):
                ran.append(done)
                self._say(connection, done.address, words.welcome_text(done), f"approved:{done.request.id}")
            return done

        def after(done: Approved | NotApproved) -> None:
            if isinstance(done, Approved):
                self._changed(AccessChange(done.person, done.address))

        done = await self._store.write(whole, after)
        if isinstance(done, NotApproved):
            log.warning("pairing_refused", why=done.why, approver=by)
            raise OperationRefused(words.refusal(done, now))
        log.info("pairing_approved", request_id=done.request.id, user_id=done.person.user_id, approver=by)
        return _person_shown(done.person)

    async def deny(self, number: str, by: str) -> dict[str, JsonValue]:
        """Turn a request down, in silence.

        Raises:
            OperationRefused: no such request, more than one, or it is pending no more.
        """
        now = self._clock()
        request_id = (await self._pending(number)).id
        ran: list[Request] = []

        def whole(connection: Connection) -> Request | None:
            done = pairing.deny(connection, request_id, by[:128], now, repeated=bool(ran))
            ran.extend([done] if done else [])
            return done

        denied = await self._store.write(whole)
        if denied is None:
            raise OperationRefused(words.refusal(NotApproved(Why.UNKNOWN), now))
        log.info("pairing_denied", request_id=denied.id, approver=by)
        return {"request": denied.id, "sender": denied.sender}

    async def block(self, who: str, by: str, tenant: str = DEFAULT_TENANT) -> dict[str, JsonValue]:
        """Silence for a person, given as a request's number, a sender (`telegram:42`) or a user id.

        Raises:
            OperationRefused: nobody is known by that, or it is the only owner.
        """
        now = self._clock()
        if CANONICAL_SENDER.fullmatch(who):
            sender, name = who, who
        else:
            tenant, sender, name = await self._sender_of(who)
        return await self._change(lambda c: _block(c, tenant, sender, name, by[:128], now), "person_blocked", by)

    async def set_role(self, who: str, role: str, by: str) -> dict[str, JsonValue]:
        """Give a person, by sender or user id, another role; `member` also ends a block.

        Raises:
            OperationRefused: no such person or role, or it would leave the tenant without an owner.
        """
        if role not in tuple(Role):
            raise OperationRefused(f"{role!r} is no role; there are: {', '.join(Role)}")
        now = self._clock()
        person = await self._person(who)
        job = lambda c: _set_role(c, person.user_id, Role(role), by[:128], now)  # noqa: E731  shorter than its def
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
            raise OperationRefused(f"{account!r} is no account that takes them; there are: {accounts}")
        job = lambda c: _revoke(c, person, account, by[:128], now)  # noqa: E731  shorter than its def
        return await self._change(job, "access_revoked", by)

    async def audit(self) -> list[JsonValue]:
        """The latest changes of who may do what, newest first."""
        return [
            {"at": at.isoformat(), "by": by, "action": action, "subject": subject, "detail": detail}
            for at, by, action, subject, detail in map(astuple, await self._store.read(people.audit_log))
        ]

    async def users(self) -> list[JsonValue]:
        """Everybody known, in the order they came."""
        return [_person_shown(person) for person in await self._store.read(people.everybody)]

    async def _change(self, job: Callable[[Connection], Person | None], event: str, by: str) -> dict[str, JsonValue]:
        def after(person: Person | None) -> None:
            if person is not None:
                self._changed(AccessChange(person))

        person = await self._store.write(job, after)
        if person is None:
            raise OperationRefused("that is the only owner; make somebody else an owner first")
        log.info(event, user_id=person.user_id, role=person.role, approver=by)
        return _person_shown(person)

    async def _pending(self, number: str) -> Request:
        pending = await self._store.read(rows.pending)
        return _one_of(number, [(one.id, one) for one in pending], "request")

    async def _person(self, who: str) -> Person:
        known = await self._store.read(people.everybody)
        found = [person for person in known if who in person.identities]
        if len(found) == 1:
            return found[0]
        return _one_of(who, [(person.user_id, person) for person in known], "user")

    async def _sender_of(self, who: str) -> tuple[str, str, str]:
        """Tenant, sender and name for a request's number or a user id."""
        pending = await self._store.read(rows.pending)
        known = await self._store.read(people.everybody)
        asking = [(one.id, (one.tenant, one.sender, one.display_name)) for one in pending]
        inside = [(p.user_id, (p.tenant, min(p.identities), p.display_name)) for p in known if p.identities]
        return _one_of(who, asking + inside, "request or user")


def _block(connection: Connection, tenant: str, sender: str, name: str, by: str, now: datetime) -> Person | None:
    known = people.find_sender(connection, tenant, sender)
    if known is not None and _last_owner(connection, known):
        return None
    return pairing.block(connection, tenant, sender, name, by, now)


def _set_role(connection: Connection, user_id: str, role: Role, by: str, now: datetime) -> Person | None:
    person = people.person_of(connection, user_id)
    if person is None or (role is not Role.OWNER and _last_owner(connection, person)):
        return None
    people.set_role(connection, person, role, by, now)
    return people.person_of(connection, user_id)


def _revoke(connection: Connection, person: Person, account: str, by: str, now: datetime) -> Person | None:
    people.revoke(connection, person, account, by, now)
    return people.person_of(connection, person.user_id)


def _last_owner(connection: Connection, person: Person) -> bool:
    return person.role == Role.OWNER and not people.has_owner(connection, person.tenant, beside=person.user_id)


def _one_of(number: str, candidates: Sequence[tuple[str, T]], what: str) -> T:
    """The one whose id is, or ends with, this."""
    wanted = number.strip().lower()
    ending = wanted if len(wanted) >= LEAST_NUMBER_CHARS else "no id ends like this"
    found = [one for id_, one in candidates if id_ == wanted or id_.endswith(ending)]
    if len(found) != 1:
        problem = "fits more than one" if found else "is no"
        raise OperationRefused(f"{number!r} {problem} {what}; `tenk pairing list` and `tenk users` show the numbers")
    return found[0]


def _shown(one: Request, now: datetime) -> JsonValue:
    return {
        "request": one.id,
        "sender": one.sender,
        "name": one.display_name,
        "account": f"{one.channel}:{one.account}",
        "asked_at": one.created_at.isoformat(),
        "age_s": max(0, int((now - one.created_at) / timedelta(seconds=1))),
        "expires_at": one.expires_at.isoformat(),
    }


def _person_shown(person: Person) -> dict[str, JsonValue]:
    return {
        "user": person.user_id,
        "tenant": person.tenant,
        "name": person.display_name,
        "role": person.role,
        "senders": list[JsonValue](sorted(person.identities)),
        "accounts": list[JsonValue](sorted(person.grants | person.policy_grants)),
        "timezone": person.timezone,
    }
