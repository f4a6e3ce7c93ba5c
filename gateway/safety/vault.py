"""Secrets at rest: AES-256-GCM with a key outside the database, bound to owner and purpose.

A sealed text names its key, so that old keys stay usable while new ones are introduced.
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
"""Place of the key's id in a sealed text."""


class CannotOpen(Exception):
    """Error: the secret belongs to another context, was changed, or its key is missing; the message reveals nothing."""


@dataclass(frozen=True, slots=True)
class SecretOf:
    """Owner and purpose of a secret; it opens in this context only."""

    tenant: str
    user: str  # a user id, or the sender's canonical id if there is no user yet
    purpose: str


class Vault:
    """Encryption with the newest key, decryption with any."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        """Take keys of 32 bytes each, at least one, the newest last."""
        self._keys = {id_of(key): key for key in keys}
        self._newest = id_of(keys[-1])

    @classmethod
    def fresh(cls) -> "Vault":
        """Return a vault with a random key that is never stored."""
        return cls([os.urandom(KEY_BYTES)])

    @property
    def mark(self) -> str:
        """Return the prefix of everything sealed with the newest key."""
        return f"{_MARK}{self._newest}:"

    @property
    def key_texts(self) -> Sequence[str]:
        """Return the keys as their file has them, to be redacted from texts."""
        return [base64.b64encode(key).decode() for key in self._keys.values()]

    def take_key(self, key: bytes) -> None:
        """Use this key for sealing from now on; the others still open."""
        self._keys[id_of(key)] = key
        self._newest = id_of(key)

    def seal(self, secret: str, whose: SecretOf) -> str:
        """Return the secret encrypted, as text that differs each time."""
        nonce = os.urandom(NONCE_BYTES)
        plain = secret.encode("utf-8", "surrogatepass")
        sealed = nonce + _cipher(self._keys[self._newest]).encrypt(nonce, plain, _bound_to(self._newest, whose))
        return self.mark + base64.urlsafe_b64encode(sealed).decode()

    def open(self, sealed: str, whose: SecretOf) -> str:
        """Return the decrypted secret.

        Raises:
            CannotOpen: it belongs to another context, was changed, or its key is missing.
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
        """Return the same secret sealed with the newest key; also of a text that was never sealed.

        Raises:
            CannotOpen: it belongs to another context, was changed, or its key is missing.
        """
        return self.seal(self.open(stored, whose) if is_sealed(stored) else stored, whose)


def _cipher(key: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  6 MiB, loaded only if there are secrets

    return AESGCM(key)


def is_sealed(stored: str) -> bool:
    """Return True if a vault made it; otherwise it is from before sealing."""
    return stored.startswith(_MARK)


def id_of(key: bytes) -> str:
    """Return the id that sealed texts use for a key; it reveals nothing about the key."""
    return hashlib.blake2b(key, digest_size=4, person=b"tenk key id").hexdigest()


def _bound_to(key_id: str, whose: SecretOf) -> bytes:
    return json.dumps([key_id, whose.tenant, whose.user, whose.purpose]).encode()


# ---------------------------------------------------------------- where the keys are


def load_keys(home: Path, given: str | None = None) -> list[bytes]:
    """Return the home's keys, the newest last: those `given` by the configuration, else those in `home/secrets.key`.

    A missing file is made with mode 0600 and fsynced. The caller holds the home's lock.

    Raises:
        GatewayError: the keys cannot be used. The file is never replaced: sealed secrets would be lost.
    """
    keys = read_keys(home, given)
    if not keys:
        keys = [os.urandom(KEY_BYTES)]
        keep_keys(home, keys)
    return keys


def read_keys(home: Path, given: str | None = None) -> list[bytes]:
    """Return the home's keys like `load_keys`, but an empty list if there are none yet.

    Raises:
        GatewayError: the keys cannot be used.
    """
    path = home / SECRETS_KEY
    if given is not None:
        return _parse(given.replace(",", " "), "the secret keys of the configuration")
    return _parse(read_private(path).decode("ascii", "replace"), str(path)) if path.exists() else []


def keep_keys(home: Path, keys: Sequence[bytes]) -> None:
    """Write the home's keys, the newest last.

    Raises:
        GatewayError: the file cannot be written; the old one stays.
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
