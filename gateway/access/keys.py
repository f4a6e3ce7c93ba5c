"""The keys that access needs, one a purpose, all derived from the home's pairing key: none of them is ever in a table.

How the home's key is made and kept is `gateway.access.codes`' matter.
"""

import hashlib
import hmac
import os
from dataclasses import dataclass


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
