"""Who has the console open: by a key, or by a link that holds once. Pure but for the store that is asked who they are.

Links are tickets (`gateway.access.tickets`). Sessions live in memory: a restart closes every console, and who had one
asks for a new link.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
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

SESSION_VALID = timedelta(hours=12)
MOST_SESSIONS = 128
MOST_ADDRESSES = 4_096

TRIES = 5
TRY_EVERY_S = 30.0
"""Wrong keys and links of one address: so many at once, then one in so many seconds."""


@dataclass(frozen=True, slots=True)
class ConsoleVisitor:
    """Somebody who may look, as they are at this moment."""

    by: str  # an actor of `gateway.access.ranks`: "cli", "key:ID", or a user's id
    name: str  # a person's, or a key's; "" for this machine
    locale: str | None  # that they chose, or their platform told; None: their browser's holds
    acts: bool  # else they only look
    tenant: str | None  # whose they see alone; None: everybody's
    token: str  # of their session, for leaving

    @property
    def sees_all(self) -> bool:
        """Whether they see what is the installation's: its configuration, its log."""
        return self.tenant in (None, DEFAULT_TENANT)

    @property
    def kind(self) -> str:
        """Who they are: cli, key or user."""
        return "cli" if self.by == BY_CLI else "key" if self.by.startswith(BY_KEY) else "user"


@dataclass(frozen=True, slots=True)
class _Held:
    by: str
    until: datetime


class ConsoleDoors:
    """Links that were given out, and sessions that were opened."""

    def __init__(self, store: Store, key: bytes, clock: Callable[[], datetime], steady_s: Callable[[], float]) -> None:
        """`key` is the home's, `clock` aware UTC, `steady_s` a monotonic clock in seconds."""
        self._store = store
        self._key = key
        self._clock = clock
        self._steady_s = steady_s
        self._sessions: BoundedDict[str, _Held] = BoundedDict(MOST_SESSIONS)
        self._tries: BoundedDict[str, TokenBucket] = BoundedDict(MOST_ADDRESSES)

    async def make_token(self, by: str) -> tuple[str, str]:
        """Return a secret that opens one session for this actor, once, within ten minutes, and its ref.

        Only its digest is kept; a message that brings it stands in the store with the ref alone.
        """
        now, id_ = self._clock(), new_id()
        token = CONSOLE_CODE.derive(self._key, id_)
        ticket = Ticket(
            id=id_,
            tenant=self._store.home_tenant,
            kind=TicketKind.CONSOLE,
            user_id=by,
            code_mac=digest_of(token),
            created_at=now,
            expires_at=now + POLICIES[TicketKind.CONSOLE].valid,
        )
        await self._store.commit(tickets.issue, ticket)
        return token, CONSOLE_CODE.ref(id_)

    def wait_s(self, address: str) -> float:
        """Seconds until this address may try again; a try is counted where it may."""
        bucket = self._tries.get(address)
        if bucket is None:
            bucket = self._tries[address] = TokenBucket(TRIES, self._steady_s())
        bucket.fill(self._steady_s(), TRIES, 1 / TRY_EVERY_S)
        return bucket.acquire(1, 1 / TRY_EVERY_S)

    async def open_with(self, secret: str) -> str | None:
        """The token of a new session for a link's secret or an API key; None where it is neither."""
        mine = partial(TICKETS.get, kind=TicketKind.CONSOLE, code_mac=digest_of(secret))
        link = await self._store.read(mine)
        if link is not None:
            used = await self._store.commit(tickets.settle, link.id, TicketState.APPROVED, link.user_id, self._clock())
            return self._open(link.user_id) if used and self._clock() < link.expires_at else None
        id_ = id_of(secret.strip())
        key = await self._store.read(partial(KEYS.get, id=id_)) if id_ else None
        if not opens(key, secret.strip()) or key is None or not key.scopes & {Scope.READ, Scope.OPERATE}:
            return None
        return self._open(f"{BY_KEY}{key.id}")

    def _open(self, by: str) -> str:
        token = secrets.token_urlsafe(32)
        self._sessions[digest_of(token)] = _Held(by, self._clock() + SESSION_VALID)
        return token

    async def visitor(self, token: str) -> ConsoleVisitor | None:
        """Whose session this is, asked anew each time: a key may have been revoked, a role changed, meanwhile."""
        held = self._sessions.get(digest_of(token))
        if held is None or self._clock() >= held.until:
            return None
        found = await self._store.read(partial(_as_they_are, by=held.by))
        return None if found is None else ConsoleVisitor(held.by, *found, token)

    def leave(self, token: str) -> None:
        """The session is over."""
        self._sessions.pop(digest_of(token), None)


def _as_they_are(connection: Connection, by: str) -> tuple[str, str | None, bool, str | None] | None:
    """An actor's name and language, whether they act, and their tenant; None where they may not even look."""
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
    return person.display_name, person.locale, rank >= Rank.OWNER, person.tenant
