"""Credentials as JSON, the gateway's own and other programs', read and brought up to date. Pure."""

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
"""Names under which programs keep these; the first that is there counts."""

MS_FROM = 1e11
"""From here on an instant is in milliseconds: as seconds it would be the year 5138."""

MAX_CHARS = 100_000


@dataclass(frozen=True, slots=True, repr=False)
class KeptCredential:
    """A credential and the object that it was read from, which is written back changed only where it has to be."""

    credential: Credential
    raw: Mapping[str, Any]
    mark: object = None  # by what its place knows it again


def read_kept(text: str, kind_of: Callable[[str], CredentialKind], path: str = "") -> KeptCredential | None:
    """The credential in a JSON object, or in the one at `path` inside; a text that is no JSON is a key itself.

    None where there is none that a header could hold. `kind_of` tells the kind of one that does not say.
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
    """The object with a renewed credential: under the names and in the unit that it had."""
    had = raw.get(_name(raw, EXPIRING))
    changed = {_name(raw, SECRETS): new.secret, _name(raw, REFRESHING): new.refresh_token}
    at = None if new.expires_at is None else new.expires_at.timestamp()
    if at is not None and isinstance(had, int | float) and had >= MS_FROM:
        at *= 1000
    return {"type": new.kind.value, **raw, **changed, _name(raw, EXPIRING): None if at is None else int(at)}


def dump(credential: Credential) -> str:
    """As the gateway keeps it."""
    return json.dumps(renewed_object({}, credential))


def _name(raw: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((name for name in names if name in raw), names[0])


def _first_text(raw: Mapping[str, Any], names: tuple[str, ...]) -> str:
    found = raw.get(_name(raw, names))
    return found.strip() if isinstance(found, str) else ""


def _instant(written: object) -> datetime | None:
    """Seconds or milliseconds since 1970, as a number or its digits; None where it is neither."""
    try:
        number = float(written) if isinstance(written, int | float | str) else math.nan
        return datetime.fromtimestamp(number / 1000 if number >= MS_FROM else number, UTC)
    except (ValueError, OverflowError, OSError):
        return None
