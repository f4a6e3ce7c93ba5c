"""Logins to the console: by an API key, or by a link that works once.

Links and sessions are tickets (`gateway.access.tickets`), so that a session survives a restart and every process knows
it. The store has only the digests of their secrets.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from channels.bounded_dict import BoundedDict
from channels.messages import DEFAULT_TENANT
from channels.rate import TokenBucket
from gateway.access import ranks, tickets
from gateway.access.api_keys import Scope, digest_of, id_of, opens
from gateway.access.codes import CONSOLE_CODE
from gateway.access.ranks import BY_CLI, BY_KEY, Rank
from gateway.access.tickets import POLICIES
from gateway.store import people
from gateway.store.api_keys import KEYS
from gateway.store.engine import Connection, Store
from gateway.store.tables.base import new_id
from gateway.store.tickets import TICKETS, Ticket, TicketKind, TicketState

SESSION_VALID = POLICIES[TicketKind.CONSOLE_SESSION].valid
MOST_ADDRESSES = 4_096

TRIES = 5
TRY_EVERY_S = 30.0
"""Seconds between login attempts of one address after the first `TRIES`."""


@dataclass(frozen=True, slots=True)
class ConsoleVisitor:
    """A logged-in visitor with their current rights."""

    by: str  # an actor of `gateway.access.ranks`: "cli", "key:ID", or a user's id
    name: str  # of the person or key; "" for this machine
    locale: str | None  # chosen or from the platform; None: use the browser's
    acts: bool  # False: read only
    tenant: str | None  # the only visible tenant; None: all

    @property
    def sees_all(self) -> bool:
        """Return True if the visitor may see the installation's configuration and log."""
        return self.tenant in (None, DEFAULT_TENANT)

    @property
    def kind(self) -> str:
        """Return the kind of visitor: cli, key or user."""
        return "cli" if self.by == BY_CLI else "key" if self.by.startswith(BY_KEY) else "user"


class ConsoleLogins:
    """The console's login links and sessions."""

    def __init__(self, store: Store, key: bytes, clock: Callable[[], datetime], steady_s: Callable[[], float]) -> None:
        """Keep the store, the home's key, an aware UTC clock, and a monotonic clock in seconds."""
        self._store = store
        self._key = key
        self._clock = clock
        self._steady_s = steady_s
        self._tries: BoundedDict[str, TokenBucket] = BoundedDict(MOST_ADDRESSES)

    async def make_token(self, by: str) -> tuple[str, str]:
        """Return a secret that opens one session for this actor within ten minutes, and its ref.

        The store keeps only the secret's digest; a stored message with the link has the ref instead.
        """
        id_ = new_id()
        token = CONSOLE_CODE.derive(self._key, id_)
        await self._issue(TicketKind.CONSOLE, id_, token, by)
        return token, CONSOLE_CODE.ref(id_)

    async def _issue(self, kind: TicketKind, id_: str, token: str, by: str) -> None:
        now = self._clock()
        ticket = Ticket(
            id=id_,
            tenant=self._store.home_tenant,
            kind=kind,
            user_id=by,
            code_mac=digest_of(token),
            created_at=now,
            expires_at=now + POLICIES[kind].valid,
        )
        await self._store.commit(tickets.issue, ticket)

    def wait_s(self, address: str) -> float:
        """Count a login attempt of this address. Return 0.0, or the seconds until the next one is allowed."""
        bucket = self._tries.get(address)
        if bucket is None:
            bucket = self._tries[address] = TokenBucket(TRIES, self._steady_s())
        bucket.fill(self._steady_s(), TRIES, 1 / TRY_EVERY_S)
        return bucket.acquire(1, 1 / TRY_EVERY_S)

    async def open_with(self, secret: str) -> str | None:
        """Open a session with a link's secret or an API key. Return its token, or None if neither is valid."""
        mine = partial(TICKETS.get, kind=TicketKind.CONSOLE, code_mac=digest_of(secret))
        link = await self._store.read(mine)
        if link is not None:
            used = await self._store.commit(tickets.settle, link.id, TicketState.APPROVED, link.user_id, self._clock())
            return await self._open(link.user_id) if used and self._clock() < link.expires_at else None
        id_ = id_of(secret.strip())
        key = await self._store.read(partial(KEYS.get, id=id_)) if id_ else None
        if not opens(key, secret.strip()) or key is None or not key.scopes & {Scope.READ, Scope.OPERATE}:
            return None
        return await self._open(f"{BY_KEY}{key.id}")

    async def _open(self, by: str) -> str:
        token = secrets.token_urlsafe(32)
        await self._issue(TicketKind.CONSOLE_SESSION, new_id(), token, by)
        return token

    async def visitor(self, token: str) -> ConsoleVisitor | None:
        """Return the visitor of a session, or None. Read their rights each time, as they may change."""
        return await self._store.read(partial(_read_visitor, token=token, now=self._clock()))

    async def leave(self, token: str) -> None:
        """End the session."""
        held = {"kind": TicketKind.CONSOLE_SESSION, "code_mac": digest_of(token), "state": TicketState.PENDING}
        ended = {"state": TicketState.REVOKED, "ended_at": self._clock(), "ended_by": "sign-out"}
        await self._store.commit(lambda connection: TICKETS.patch(connection, ended, **held))


def _read_visitor(connection: Connection, token: str, now: datetime) -> ConsoleVisitor | None:
    held = TICKETS.get(connection, kind=TicketKind.CONSOLE_SESSION, code_mac=digest_of(token))
    if held is None or held.state is not TicketState.PENDING or now >= held.expires_at:
        return None
    found = _read_rights(connection, held.user_id)
    return None if found is None else ConsoleVisitor(held.user_id, *found)


def _read_rights(connection: Connection, by: str) -> tuple[str, str | None, bool, str | None] | None:
    """Return an actor's name, locale, right to act, and tenant; None if they may not see the console."""
    if by == BY_CLI:
        return "", None, True, None
    if by.startswith(BY_KEY):
        key = KEYS.get(connection, id=by.removeprefix(BY_KEY))
        if key is None or key.revoked_at is not None:
            return None
        return key.name, None, Scope.OPERATE in key.scopes, None if Scope.SYSTEM in key.scopes else key.tenant
    person, rank = people.person_of(connection, by), ranks.of(connection, by)
    if person is None or rank < Rank.OPERATOR:
        return None
    return person.display_name, person.locale, True, person.tenant
