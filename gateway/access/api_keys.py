"""API keys: made once, shown once, known by their digest alone, taken back at once. What each opens is its scopes.

A key is `tenk-ID-SECRET`, the secret 16 random bytes. Who speaks with it is a person of its own, one for each `user`
that the program names (`api:ID:USER`), or, where it was made for somebody who is there already, that person.
"""

import base64
import hashlib
import hmac
import os
import re
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from functools import partial

import structlog
from pydantic import JsonValue

from channels.api.adapter import key_id_at
from channels.messages import DEFAULT_TENANT, Address
from gateway.access.listing import key_shown
from gateway.access.operations import OperationRefused
from gateway.store import people
from gateway.store.api_keys import KEYS, ApiKey
from gateway.store.engine import Store
from gateway.store.people import AuditRow, Connection, Person, shown_name

SECRET_BYTES = 16
ID_BYTES = 5

OWNER_USER = "owner"
"""The sender of a key that was made for one person."""

MAX_NAME_CHARS = 64
MAX_KEYS = 1_000

_KEY = re.compile(r"tenk-([a-z2-7]{8})-([0-9a-f]{32})", re.ASCII)

log = structlog.get_logger()


class Scope(StrEnum):
    """What a key opens."""

    CHAT = "chat"  # to talk, and to read what its own people said and keep
    READ = "read"  # to look at everybody's: users, requests, sessions, deliveries, usage
    OPERATE = "operate"  # to decide: requests, roles, deliveries
    SYSTEM = "system"  # to do so for any tenant, by the header X-Tenant-Id: only the machine's operator makes such


def make_key(
    name: str, scopes: frozenset[str], user_id: str | None, by: str, now: datetime, tenant: str = DEFAULT_TENANT
) -> tuple[ApiKey, str]:
    """A new key, and its text, which nobody can read again."""
    id_ = base64.b32encode(os.urandom(ID_BYTES)).decode().lower()
    text = f"tenk-{id_}-{os.urandom(SECRET_BYTES).hex()}"
    return ApiKey(id_, tenant, name, digest_of(text), scopes, user_id, now, by), text


def digest_of(text: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def id_of(text: str) -> str:
    """The id that a key names; "" where it is none."""
    found = _KEY.fullmatch(text)
    return "" if found is None else found[1]


def opens(key: ApiKey | None, text: str) -> bool:
    """Whether this text is that key and it holds; as slow for a key there is not."""
    known = "" if key is None else key.digest
    same = hmac.compare_digest(digest_of(text), known or digest_of(""))
    return same and key is not None and key.revoked_at is None


async def scopes_at(store: Store, address: Address) -> frozenset[str] | None:
    """Return the scopes of the API key that speaks at an address: none once it is revoked, None without a key."""
    named = key_id_at(address)
    if named is None:
        return None
    id_ = named.partition(".")[0]  # behind the dot stands the tenant that a system's key acts for
    key = await store.of(None).read(partial(KEYS.get, id=id_))
    return frozenset() if key is None or key.revoked_at is not None else key.scopes


class KeyOperations:
    """What an operator does about keys: one commit each."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        changed: Callable[[Person], None] = lambda _person: None,
    ) -> None:
        """`changed` is called after a commit that changed a person, with them as they are now."""
        self._store = store
        self._clock = clock
        self._changed = changed

    async def create(self, name: str, scopes: str, who: str, by: str) -> dict[str, JsonValue]:
        """A key with these scopes (with blanks between), told this once; `who` is whom it speaks for, "" nobody.

        Raises:
            OperationRefused: no such scope or person, a name that is none, or too many keys.
        """
        wanted, name = _scopes_of(scopes), shown_name(name.strip())[:MAX_NAME_CHARS]
        if not name:
            raise OperationRefused("give the key a name, so that it is known what to revoke")
        now = self._clock()
        person = await self._person(who) if who else None
        key, text = make_key(name, wanted, None if person is None else person.user_id, by, now, self._store.home_tenant)
        changed = await self._store.commit(_add, key, now)
        if isinstance(changed, Person):
            self._changed(changed)
        elif changed is None:
            raise OperationRefused(f"there are {MAX_KEYS} keys already; revoke what nobody uses")
        log.info("api_key_created", key_id=key.id, name=name, scopes=sorted(wanted), approver=by)
        return {**key_shown(key), "key": text}

    async def revoke(self, id_: str, by: str) -> dict[str, JsonValue]:
        """Let a key open nothing more, from the next request on.

        Raises:
            OperationRefused: there is none of this id, or it is revoked.
        """
        now = self._clock()
        key = await self._store.read(partial(KEYS.get, id=id_.strip().lower()))
        if key is None:
            raise OperationRefused(f"{id_!r} is no key; `tenk keys list` shows their ids")

        def job(connection: Connection) -> bool:
            revoked = KEYS.patch(connection, {"revoked_at": now}, id=key.id, revoked_at=None) == 1
            if revoked:
                people.record(connection, key.tenant, AuditRow(now, by, "api_key_revoked", key.id, key.name))
            return revoked

        if not await self._store.commit(job):
            raise OperationRefused(f"the key {key.id} is revoked already")
        log.info("api_key_revoked", key_id=key.id, approver=by)
        return {"id": key.id, "name": key.name}

    async def _person(self, who: str) -> Person:
        known = await self._store.of(self._store.home_tenant).read(people.everybody)
        found = [person for person in known if who in person.identities or who == person.user_id]
        if len(found) != 1:
            raise OperationRefused(f"{who!r} is nobody; `tenk users list` shows senders, like telegram:42")
        return found[0]


def _scopes_of(text: str) -> frozenset[str]:
    scopes = frozenset(text.split())
    unknown = sorted(scopes - set(Scope))
    if unknown or not scopes:
        raise OperationRefused(f"{' '.join(unknown) or 'nothing'} is no scope; there are: {', '.join(Scope)}")
    return scopes


def _add(connection: Connection, key: ApiKey, now: datetime) -> Person | bool | None:
    """The person it speaks for as they are now, True where it speaks for nobody, None where there are too many."""
    if KEYS.count(connection, tenant=key.tenant) >= MAX_KEYS:
        return None
    if KEYS.add(connection, key):  # a job may run twice
        people.record(
            connection,
            key.tenant,
            AuditRow(now, key.created_by, "api_key_created", key.id, " ".join(sorted(key.scopes))),
        )
    if key.user_id is None:
        return True
    people.link(connection, key.tenant, f"api:{key.id}:{OWNER_USER}", key.user_id, now)
    return people.person_of(connection, key.user_id)
