"""Rotation of the keys that encrypt secrets in the store, in batches and without downtime.

A key is dropped from the key file only when no secret in the store needs it.
"""

import asyncio
import os
from pathlib import Path
from typing import Self

import structlog
from pydantic import SecretStr

from gateway.operators.models import RotatedKeys
from gateway.safety.private_files import SECRETS_KEY
from gateway.safety.vault import KEY_BYTES, Vault, id_of, keep_keys, load_keys
from gateway.store import credentials, reply_routes
from gateway.store.engine import Store

AT_ONCE = 200
"""Secrets that one commit re-encrypts."""

SECRETS = (reply_routes.reseal_some, credentials.reseal_some)
"""For each table with secrets, the job that re-encrypts a batch after a row id."""

log = structlog.get_logger()


class KeyRotation:
    """The encryption keys of a home, and their rotation."""

    def __init__(self, store: Store, home: Path, given: SecretStr | None = None) -> None:
        """Load the keys from the configuration if given, else from the home, whose lock the caller holds.

        Raises:
            GatewayError: the keys cannot be used.
        """
        self._store = store
        self._home = home
        self._is_ours = given is None  # else the operator manages them
        self._keys = load_keys(home, None if given is None else given.get_secret_value())
        self._rotating = asyncio.Lock()  # or one rotation could drop a key that another still uses
        self.vault = Vault(self._keys)

    async def begin(self) -> Self:
        """Re-encrypt at the start what an interrupted rotation left."""
        await self.reseal()
        return self

    async def reseal(self) -> tuple[int, int]:
        """Re-encrypt secrets with the newest key. Return how many it sealed, and how many cannot be decrypted."""
        sealed = lost = 0
        for some in SECRETS:
            after = 0
            while True:
                done = await self._store.commit(some, self.vault, after, AT_ONCE)
                sealed, lost = sealed + done.sealed, lost + done.lost
                if done.last is None:
                    break
                after = done.last
        if sealed or lost:
            log.info("secrets_sealed", count=sealed, lost=lost)
        if lost:
            log.error("secrets_lost", count=lost, mend=f"their key is gone: restore {SECRETS_KEY} and start again")
        return sealed, lost

    async def rotate(self) -> RotatedKeys:
        """Make a new key, unless the operator manages the keys, and re-encrypt all secrets with the newest.

        Raises:
            GatewayError: the new key cannot be stored; nothing was changed.
        """
        async with self._rotating:
            return await self._rotate()

    async def _rotate(self) -> RotatedKeys:
        if self._is_ours:
            fresh = os.urandom(KEY_BYTES)
            keep_keys(self._home, [*self._keys, fresh])
            self._keys.append(fresh)
            self.vault.take_key(fresh)
        sealed, lost = await self.reseal()
        if self._is_ours and not lost:
            keep_keys(self._home, self._keys[-1:])
        next_step = _next_step(self._is_ours, lost)
        return RotatedKeys(sealed=sealed, lost=lost, key=id_of(self._keys[-1]), next=next_step)


def _next_step(is_ours: bool, lost: int) -> str:
    if lost:
        return "The older keys are kept, in case the missing one is restored."
    if is_ours:
        return f"The older keys are removed from {SECRETS_KEY}. An earlier backup needs the {SECRETS_KEY} of its time."
    return "Remove the older keys from the configuration. For a new key, add it at the end, restart, and rotate again."
