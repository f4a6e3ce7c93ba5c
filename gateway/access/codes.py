"""Pairing codes: derived from a request's id with a key outside the database, never stored, never logged.

Eight of 32 symbols are 40 bits; `tests/attacks/test_pairing.py` works out what they withstand. Each purpose has a key
of its own, derived from the home's key.
"""

import hashlib
import hmac
import os
from dataclasses import dataclass
from pathlib import Path

from gateway.errors import GatewayError
from gateway.safety.private_files import KEY, read_private, write_private

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Without 0, O, 1 and I, which people confuse."""

KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class CodeForm:
    """Format of the codes of one kind of ticket, and their derivation from the ticket's id."""

    name: str  # prefix of the reference that an outbox row stores instead of the code
    purpose: bytes
    chars: int
    group: int  # characters between two dashes

    @property
    def bullets(self) -> str:
        """Return the placeholder, as long as the code, that stored texts have instead of it."""
        return self.in_groups("•" * self.chars)

    def in_groups(self, code: str) -> str:
        """Return a code as people read it: ABCD-EFGH-JKLM-NPQR."""
        return "-".join(code[at : at + self.group] for at in range(0, self.chars, self.group))

    def derive(self, key: bytes, ticket_id: str) -> str:
        """Return the code of a ticket: the same every time, unknowable without the key."""
        digest = hmac.digest(key, self.purpose + ticket_id.encode(), hashlib.sha256)
        bits = int.from_bytes(digest[: -(-self.chars * 5 // 8)], "big")  # five bits a symbol
        return "".join(ALPHABET[bits >> 5 * place & 31] for place in range(self.chars))

    def ref(self, ticket_id: str) -> str:
        """Return the reference to a ticket's code."""
        return f"{self.name}:{ticket_id}"


REQUEST_CODE = CodeForm("pairing", b"tenk pairing code v1 ", 8, 8)
"""Codes of pairing requests and of links between users."""

INVITE_CODE = CodeForm("invite", b"tenk invite code v1 ", 16, 4)
CONSOLE_CODE = CodeForm("console", b"tenk console link v1 ", 32, 32)

CODE_CHARS, INVITE_CHARS = REQUEST_CODE.chars, INVITE_CODE.chars
BULLETS, INVITE_BULLETS, CONSOLE_BULLETS = REQUEST_CODE.bullets, INVITE_CODE.bullets, CONSOLE_CODE.bullets

_SEPARATORS = str.maketrans("", "", " -\t\n\r\N{EN DASH}\N{EM DASH}\N{NON-BREAKING HYPHEN}\N{NO-BREAK SPACE}")


def load_key(home: Path) -> bytes:
    """Return the key in `home/pairing.key`; make it with mode 0600 and fsync it if it is missing.

    The caller holds the home's lock.

    Raises:
        GatewayError: the file cannot be read or made, others may read it, or it has the wrong length. It is never
        replaced: a new key would silently invalidate every code that is out.
    """
    path = home / KEY
    if not path.exists():
        write_private(path, os.urandom(KEY_BYTES))
    key = read_private(path)
    if len(key) != KEY_BYTES:
        raise GatewayError(
            f"{path} is {len(key)} bytes, not the {KEY_BYTES} of a pairing key; restore it, or delete it: then "
            "the codes that are out are void, and their people have to write again"
        )
    return key


code_of = REQUEST_CODE.derive
invite_code_of = INVITE_CODE.derive  # with the key `AccessKeys.invites`
in_groups = INVITE_CODE.in_groups


def matches(key: bytes, request_id: str, code: str) -> bool:
    """Return True if this is the request's code; compare in constant time."""
    return hmac.compare_digest(code_of(key, request_id).encode(), code.encode("utf-8", "surrogatepass"))


def normalise(typed: str) -> str:
    """Return a code in the form that is compared: capitals, no spaces, no dashes. Other typing errors stay."""
    return typed.translate(_SEPARATORS).upper()


def find_flaw(code: str) -> str | None:
    """Return why this cannot be a code, or None if it has the form of one."""
    if set(code) & set("01OI"):
        return "codes have no 0, O, 1 or I; look at it again"
    if len(code) != CODE_CHARS or set(code) - set(ALPHABET):
        return f"a code has {CODE_CHARS} letters and digits"
    return None


secret_ref, invite_ref = REQUEST_CODE.ref, INVITE_CODE.ref


def reveal(key: bytes, ref: str, text: str) -> str:
    """Return the text to send: the code that the reference names replaces the placeholder."""
    name, _, ticket_id = ref.partition(":")
    for form in (REQUEST_CODE, INVITE_CODE, CONSOLE_CODE):
        if form.name == name:
            own_key = AccessKeys.derive_from(key).invites if form is INVITE_CODE else key
            return text.replace(form.bullets, form.in_groups(form.derive(own_key, ticket_id)))
    return text


@dataclass(frozen=True, slots=True, repr=False)
class AccessKeys:
    """Keys that sign buttons and hash invitation codes and the ids of erased people."""

    buttons: bytes
    invites: bytes
    forgotten: bytes

    @classmethod
    def derive_from(cls, home_key: bytes) -> "AccessKeys":
        """Derive the keys from the home's key; none reveals another."""
        purposes = (b"tenk button v1", b"tenk invite v1", b"tenk forgotten v1")
        return cls(*(_derive(home_key, purpose) for purpose in purposes))

    @classmethod
    def fresh(cls) -> "AccessKeys":
        """Return random keys, for which no existing button or invitation is valid."""
        return cls.derive_from(os.urandom(32))


def _derive(key: bytes, purpose: bytes) -> bytes:
    return hmac.digest(key, purpose, hashlib.sha256)
