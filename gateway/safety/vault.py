"""Secrets at rest: AES-256-GCM under a key that is outside the database, bound to whose secret it is and what for.

What is sealed names the key that it needs, so that several hold while one takes the place of another. Which rows hold
secrets is the store's matter, when keys change `gateway.ops.key_rotation`'s.
"""

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.errors import GatewayError
from gateway.safety.private_files import SECRETS_KEY, read_private, write_private

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
NONCE_BYTES = 12

_MARK = "sealed1:"
KEY_ID_AT, KEY_ID_CHARS = len(_MARK), 8
"""Where in a sealed text the id of its key stands."""


class CannotOpen(Exception):
    """The secret is another's, was changed, or its key is not here; says nothing of it."""


@dataclass(frozen=True, slots=True)
class SecretOf:
    """Whose secret it is and what for: opened as anything else, it does not open."""

    tenant: str
    user: str  # a user's id, or a canonical sender where nobody is known yet
    purpose: str


class Vault:
    """Seals with the newest key, opens with any."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        """`keys` are of 32 bytes each, at least one, the newest last."""
        self._keys = {id_of(key): key for key in keys}
        self._newest = id_of(keys[-1])

    @classmethod
    def fresh(cls) -> "Vault":
        """One whose key nobody else has, and which is gone with it."""
        return cls([os.urandom(KEY_BYTES)])

    @property
    def mark(self) -> str:
        """What everything begins with that is sealed with the newest key."""
        return f"{_MARK}{self._newest}:"

    @property
    def key_texts(self) -> Sequence[str]:
        """The keys as their file has them, to be taken out of texts."""
        return [base64.b64encode(key).decode() for key in self._keys.values()]

    def take_key(self, key: bytes) -> None:
        """Seal with this key from now on; the others go on opening."""
        self._keys[id_of(key)] = key
        self._newest = id_of(key)

    def seal(self, secret: str, whose: SecretOf) -> str:
        """The secret as it may be stored: text, another each time."""
        nonce = os.urandom(NONCE_BYTES)
        plain = secret.encode("utf-8", "surrogatepass")
        sealed = nonce + _cipher(self._keys[self._newest]).encrypt(nonce, plain, _bound_to(self._newest, whose))
        return self.mark + base64.urlsafe_b64encode(sealed).decode()

    def open(self, sealed: str, whose: SecretOf) -> str:
        """The secret again.

        Raises:
            CannotOpen: see there.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415  as in _cipher

        key_id, _, written = sealed.removeprefix(_MARK).partition(":")
        key = self._keys.get(key_id)
        if not is_sealed(sealed) or key is None:
            raise CannotOpen("the key of this secret is not here")
        try:
            raw = base64.b64decode(written.encode(), altchars=b"-_", validate=True)
            plain = _cipher(key).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], _bound_to(key_id, whose))
        except (InvalidTag, ValueError):
            raise CannotOpen("this secret is another's, or was changed") from None
        return plain.decode("utf-8", "surrogatepass")

    def reseal(self, stored: str, whose: SecretOf) -> str:
        """The same secret under the newest key, also of a text from before there were keys.

        Raises:
            CannotOpen: see there.
        """
        return self.seal(self.open(stored, whose) if is_sealed(stored) else stored, whose)


def _cipher(key: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  6 MiB, for those who have secrets

    return AESGCM(key)


def is_sealed(stored: str) -> bool:
    """Whether it is what a vault makes; else it is from before there were any."""
    return stored.startswith(_MARK)


def id_of(key: bytes) -> str:
    """By what sealed texts name their key; tells nothing of it."""
    return hashlib.blake2b(key, digest_size=4, person=b"tenk key id").hexdigest()


def _bound_to(key_id: str, whose: SecretOf) -> bytes:
    return json.dumps([key_id, whose.tenant, whose.user, whose.purpose]).encode()


# ---------------------------------------------------------------- where the keys are


def load_keys(home: Path, given: str | None = None) -> list[bytes]:
    """The keys of a home, the newest last: those `given` by the configuration, else those in `home/secrets.key`.

    Where there is no file it is made, mode 0600, durable before its key is used. The caller holds the home's lock.

    Raises:
        GatewayError: there are none that can be used; the message says why. A file is never replaced: what was
            sealed would be lost.
    """
    keys = read_keys(home, given)
    if not keys:
        keys = [os.urandom(KEY_BYTES)]
        keep_keys(home, keys)
    return keys


def read_keys(home: Path, given: str | None = None) -> list[bytes]:
    """As `load_keys`, and none where there are none yet.

    Raises:
        GatewayError: as there.
    """
    path = home / SECRETS_KEY
    if given is not None:
        return _parse(given.replace(",", " "), "the secret keys of the configuration")
    return _parse(read_private(path).decode("ascii", "replace"), str(path)) if path.exists() else []


def keep_keys(home: Path, keys: Sequence[bytes]) -> None:
    """Write the home's keys, the newest last.

    Raises:
        GatewayError: the file cannot be written; the one before stands.
    """
    write_private(home / SECRETS_KEY, "".join(f"{base64.b64encode(key).decode()}\n" for key in keys).encode())


def _parse(written: str, where: str) -> list[bytes]:
    try:
        keys = [base64.b64decode(each, validate=True) for each in written.split()]
    except ValueError:
        keys = []
    if not keys or any(len(key) != KEY_BYTES for key in keys):
        raise GatewayError(
            f"{where}: each key is {KEY_BYTES} bytes in base64, the newest last; restore them: without them what is "
            "secret in the database cannot be read (`openssl rand -base64 32` makes a new one)"
        )
    return keys
