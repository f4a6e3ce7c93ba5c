"""The keys that access needs, one a purpose, all derived from the home's pairing key: none of them is ever in a table.

How the home's key is made and kept is `gateway.access.codes`' matter.
"""

import hashlib
import hmac
import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, repr=False)
class AccessKeys:
    """What signs buttons and what hides invitations."""

    buttons: bytes
    invites: bytes

    @classmethod
    def derive_from(cls, home_key: bytes) -> "AccessKeys":
        """The same from the same key; one says nothing of another."""
        return cls(_derive(home_key, b"tenk button v1"), _derive(home_key, b"tenk invite v1"))

    @classmethod
    def fresh(cls) -> "AccessKeys":
        """Keys that nothing was ever made with: no button and no invitation holds."""
        return cls.derive_from(os.urandom(32))


def _derive(key: bytes, purpose: bytes) -> bytes:
    return hmac.digest(key, purpose, hashlib.sha256)
