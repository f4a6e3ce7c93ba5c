"""API keys: shown once, stored as a digest, limited by scopes and revocable.

A key is `tenk-ID-SECRET`, with a secret of 16 random bytes. A key made for a person speaks as that person. Any other
key has users of its own, one for each `user` that the program names (`api:ID:USER`).
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
    """Scopes of an API key."""

    CHAT = "chat"  # talk, and read what the key's own users said
    READ = "read"  # read all users, requests, sessions, deliveries and usage
    OPERATE = "operate"  # decide requests, roles and deliveries
    SYSTEM = "system"  # do so for any tenant, by the header X-Tenant-Id; only the machine's operator makes such keys


def make_key(
    name: str, scopes: frozenset[str], user_id: str | None, by: str, now: datetime, tenant: str = DEFAULT_TENANT
) -> tuple[ApiKey, str]:
    """Return a new key and its text, which is not stored."""
    id_ = base64.b32encode(os.urandom(ID_BYTES)).decode().lower()
    text = f"tenk-{id_}-{os.urandom(SECRET_BYTES).hex()}"
    return ApiKey(id_, tenant, name, digest_of(text), scopes, user_id, now, by), text


def digest_of(text: str) -> str:
    """Return the digest that the store keeps of a key."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def id_of(text: str) -> str:
    """Return the id that a key names, or "" if the text is not a key."""
    found = _KEY.fullmatch(text)
    return "" if found is None else found[1]


def opens(key: ApiKey | None, text: str) -> bool:
    """Return True if the text is this key and the key is not revoked; compare in constant time, also without a key."""
    known = "" if key is None else key.digest
    same = hmac.compare_digest(digest_of(text), known or digest_of(""))
    return same and key is not None and key.revoked_at is None


async def scopes_at(store: Store, address: Address) -> frozenset[str] | None:
    """Return the scopes of the API key that speaks at an address: none once it is revoked, None without a key."""
    named = key_id_at(address)
    if named is None:
        return None
    id_ = named.partition(".")[0]  # after the dot: the tenant that a system key acts for
    key = await store.of(None).read(partial(KEYS.get, id=id_))
    return frozenset() if key is None or key.revoked_at is not None else key.scopes
