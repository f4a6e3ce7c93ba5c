"""Pairing codes: derived from a request's id with a key outside the database, never kept, never logged.

Eight of 32 symbols are 40 bits; `tests/attacks/test_pairing.py` works out what they withstand. When a code holds is
decided in `gateway.access.pairing`. Each purpose has a key of its own, derived from the home's, and none is in a table.
"""

import hashlib
import hmac
import os
from dataclasses import dataclass
from pathlib import Path

from gateway.errors import GatewayError
from gateway.safety.private_files import KEY, read_private, write_private

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
"""No 0, O, 1 or I: they are mistaken for each other."""

CODE_CHARS = 8
KEY_BYTES = 32

BULLETS = "•" * CODE_CHARS
"""Stands for the code in every text that is kept. As long as a code in any unit, so that entities stay in place."""

INVITE_CHARS = 16

INVITE_BULLETS = "-".join(["•" * 4] * (INVITE_CHARS // 4))
"""The same for an invitation's code."""

CONSOLE_BULLETS = "•" * 32
"""The same for the secret of a link that opens the console."""

_REF = "pairing:"
_CONSOLE_REF = "console:"
_INVITE_REF = "invite:"
_PURPOSE = b"tenk pairing code v1 "
_INVITE_PURPOSE = b"tenk invite code v1 "
_CONSOLE_PURPOSE = b"tenk console link v1 "
_SEPARATORS = str.maketrans("", "", " -\t\n\r\N{EN DASH}\N{EM DASH}\N{NON-BREAKING HYPHEN}\N{NO-BREAK SPACE}")


def load_key(home: Path) -> bytes:
    """The key in `home/pairing.key`; made, mode 0600, durable before it is used, where there is none.

    The caller holds the home's lock.

    Raises:
        GatewayError: the file cannot be read or made, others may read it, or it is no key. It is never replaced: a
            new key would turn every code that is out into a wrong one without anybody knowing.
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


def code_of(key: bytes, request_id: str) -> str:
    """The code of a request: the same every time, unknowable without the key."""
    digest = hmac.digest(key, _PURPOSE + request_id.encode(), hashlib.sha256)
    return _in_symbols(digest, CODE_CHARS)


def invite_code_of(key: bytes, invite_id: str) -> str:
    """The code of an invitation, by `AccessKeys.invites`."""
    return _in_symbols(hmac.digest(key, _INVITE_PURPOSE + invite_id.encode(), hashlib.sha256), INVITE_CHARS)


def console_code_of(key: bytes, ref: str) -> str:
    """The secret of a link to the console, by the home's key."""
    return _in_symbols(hmac.digest(key, _CONSOLE_PURPOSE + ref.encode(), hashlib.sha256), len(CONSOLE_BULLETS))


def _in_symbols(digest: bytes, chars: int) -> str:
    """Five bits a symbol."""
    bits = int.from_bytes(digest[: -(-chars * 5 // 8)], "big")
    return "".join(ALPHABET[bits >> 5 * place & 31] for place in range(chars))


def in_groups(code: str) -> str:
    """An invitation's code as people read it: ABCD-EFGH-JKLM-NPQR."""
    return "-".join(code[at : at + 4] for at in range(0, INVITE_CHARS, 4))


def matches(key: bytes, request_id: str, code: str) -> bool:
    """Whether this is the request's code, in a time that tells nothing of how nearly it is."""
    return hmac.compare_digest(code_of(key, request_id).encode(), code.encode("utf-8", "surrogatepass"))


def normalise(typed: str) -> str:
    """A code as it is compared: capitals, no spaces, no dashes. Nothing else is forgiven: no O for 0, no I for 1."""
    return typed.translate(_SEPARATORS).upper()


def find_flaw(code: str) -> str | None:
    """What is wrong with a normalised code that can be nobody's; None for one that could be."""
    if set(code) & set("01OI"):
        return "codes have no 0, O, 1 or I; look at it again"
    if len(code) != CODE_CHARS or set(code) - set(ALPHABET):
        return f"a code has {CODE_CHARS} letters and digits"
    return None


def secret_ref(request_id: str) -> str:
    """What an outbox row carries in the code's stead."""
    return _REF + request_id


def invite_ref(invite_id: str) -> str:
    """The same for an invitation's code."""
    return _INVITE_REF + invite_id


def console_ref(ticket_id: str) -> str:
    """The same for the secret of a link to the console."""
    return _CONSOLE_REF + ticket_id


def reveal(key: bytes, ref: str, text: str) -> str:
    """The text as it is sent: the bullets replaced by the code `ref` means. A ref of another kind changes nothing."""
    if ref.startswith(_INVITE_REF):
        code = invite_code_of(AccessKeys.derive_from(key).invites, ref.removeprefix(_INVITE_REF))
        return text.replace(INVITE_BULLETS, in_groups(code))
    if ref.startswith(_CONSOLE_REF):
        return text.replace(CONSOLE_BULLETS, console_code_of(key, ref))
    return text.replace(BULLETS, code_of(key, ref.removeprefix(_REF))) if ref.startswith(_REF) else text


@dataclass(frozen=True, slots=True, repr=False)
class AccessKeys:
    """What signs buttons, and what hides invitations and people who were forgotten."""

    buttons: bytes
    invites: bytes
    forgotten: bytes

    @classmethod
    def derive_from(cls, home_key: bytes) -> "AccessKeys":
        """The same from the same key; one says nothing of another."""
        purposes = (b"tenk button v1", b"tenk invite v1", b"tenk forgotten v1")
        return cls(*(_derive(home_key, purpose) for purpose in purposes))

    @classmethod
    def fresh(cls) -> "AccessKeys":
        """Keys that nothing was ever made with: no button and no invitation holds."""
        return cls.derive_from(os.urandom(32))


def _derive(key: bytes, purpose: bytes) -> bytes:
    return hmac.digest(key, purpose, hashlib.sha256)
