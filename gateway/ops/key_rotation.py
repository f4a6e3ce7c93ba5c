"""Secrets of the store are brought under the newest key, some at a time, beside everything else that goes on.

A key is dropped only when nothing in the store needs it any more; until the process ends it still opens what is in
memory.
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
"""Secrets that one commit encrypts anew: 3 ms or so."""

SECRETS = (reply_routes.reseal_some, credentials.reseal_some)
"""Each table with secrets: brings some behind a place under the newest key."""

log = structlog.get_logger()


class KeyRotation:
    """The keys of a home, and what is sealed with them."""

    def __init__(self, store: Store, home: Path, given: SecretStr | None = None) -> None:
        """With the keys that the configuration gives, or else those of the home, whose lock the caller holds.

        Raises:
            GatewayError: they cannot be used.
        """
        self._store = store
        self._home = home
        self._is_ours = given is None  # else the operator keeps them
        self._keys = load_keys(home, None if given is None else given.get_secret_value())
        self._alone = asyncio.Lock()  # or one rotation could drop the key that another still brings rows under
        self.vault = Vault(self._keys)

    async def begin(self) -> Self:
        """As `reseal`, at a start."""
        await self.reseal()
        return self

    async def reseal(self) -> tuple[int, int]:
        """Seal with the newest key whatever is not; how many there were, and how many nobody can read any more."""
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
        """Make a new key if the home's file keeps them, and encrypt every secret under the newest.

        Raises:
            GatewayError: the new key cannot be kept; nothing was changed.
        """
        async with self._alone:
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
        return "The older keys are kept, for when theirs comes back."
    if is_ours:
        return f"The older keys are gone from {SECRETS_KEY}; a backup made before needs the {SECRETS_KEY} of its time."
    return "Take the older keys out of the configuration; for a new one add it as the last, restart, and rotate again."
