"""Credentials as JSON, our own and those of other programs: parsing and renewing. Pure."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from agent.credentials import Credential, CredentialKind
from agent.models.credentials import is_showable

SECRETS = ("access_token", "accessToken", "access", "token", "key", "api_key", "apiKey")
REFRESHING = ("refresh_token", "refreshToken", "refresh")
EXPIRING = ("expires_at", "expiresAt", "expires")
"""Field names that programs use, in order of preference."""

MS_FROM = 1e11
"""Larger numbers are milliseconds: as seconds they would be after the year 5138."""

MAX_CHARS = 100_000


@dataclass(frozen=True, slots=True, repr=False)
class KeptCredential:
    """Credential with the object it was read from, which is changed only where needed."""

    credential: Credential
    raw: Mapping[str, Any]
    mark: object = None  # identifies the entry in its store


def read_kept(text: str, kind_of: Callable[[str], CredentialKind], path: str = "") -> KeptCredential | None:
    """Return the credential in a JSON object, or at `path` in it; text that is not JSON is the key itself.

    Return None if there is none that a header can hold. `kind_of` gives the kind if it is not stated.
    """
    try:
        whole = json.loads(text[:MAX_CHARS])
    except (ValueError, RecursionError):
        bare = text.strip()
        usable = bool(bare) and not path and bare[:1] not in "{[" and is_showable(bare)
        return KeptCredential(Credential(bare, kind_of(bare)), {}) if usable else None
    found = object_at(whole, path)
    return None if found is None else _from_object(found, kind_of)


def object_at(whole: Any, path: str) -> dict[str, Any] | None:
    """Return the object at names joined by dots, the last of which may be its secret's; None if there is none."""
    *above, last = path.split(".")
    for name in above:
        whole = whole.get(name) if isinstance(whole, dict) else None
    if path and not (isinstance(whole, dict) and last in SECRETS and isinstance(whole.get(last), str)):
        whole = whole.get(last) if isinstance(whole, dict) else None
    return whole if isinstance(whole, dict) else None


def _from_object(raw: dict[str, Any], kind_of: Callable[[str], CredentialKind]) -> KeptCredential | None:
    secret = _first_text(raw, SECRETS)
    if not secret or not is_showable(secret):
        return None
    said = raw.get("type")
    kind = CredentialKind(said) if said in tuple(CredentialKind) else kind_of(secret)
    refresh = _first_text(raw, REFRESHING)
    return KeptCredential(Credential(secret, kind, _instant(raw.get(_name(raw, EXPIRING))), refresh), raw)


def renewed_object(raw: Mapping[str, Any], new: Credential) -> dict[str, Any]:
    """Return the object with a renewed credential, in its own field names and units."""
    had = raw.get(_name(raw, EXPIRING))
    changed = {_name(raw, SECRETS): new.secret, _name(raw, REFRESHING): new.refresh_token}
    at = None if new.expires_at is None else new.expires_at.timestamp()
    if at is not None and isinstance(had, int | float) and had >= MS_FROM:
        at *= 1000
    return {"type": new.kind.value, **raw, **changed, _name(raw, EXPIRING): None if at is None else int(at)}


def dump(credential: Credential) -> str:
    """Return a credential in our own format."""
    return json.dumps(renewed_object({}, credential))


def _name(raw: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((name for name in names if name in raw), names[0])


def _first_text(raw: Mapping[str, Any], names: tuple[str, ...]) -> str:
    found = raw.get(_name(raw, names))
    return found.strip() if isinstance(found, str) else ""


def _instant(written: object) -> datetime | None:
    """Return an instant given in seconds or milliseconds since 1970, or None."""
    try:
        number = float(written) if isinstance(written, int | float | str) else math.nan
        return datetime.fromtimestamp(number / 1000 if number >= MS_FROM else number, UTC)
    except (ValueError, OverflowError, OSError):
        return None
