"""API keys: made once, shown once, known by their digest alone, taken back at once. What each opens is its scopes.

A key is `tenk-ID-SECRET`, the secret 16 random bytes. Who speaks with it is a person of its own, one for each `user`
that the program names (`api:ID:USER`), or, where it was made for somebody who is there already, that person.
"""

import base64
import hashlib
import hmac
import os
import re
from datetime import datetime
from enum import StrEnum
from functools import partial

import structlog

from channels.api.adapter import key_id_at
from channels.messages import DEFAULT_TENANT, Address
from gateway.store.api_keys import KEYS, ApiKey
from gateway.store.engine import Store

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
