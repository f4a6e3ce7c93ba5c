"""Trust: the digests that operators have pinned, and the things that need one."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from gateway.store.engine import Store
from gateway.store.trusted import TRUSTED, TrustKind

LOOK_S = 5.0
"""Seconds between two looks for what other processes of a cluster have changed."""


SHOWN_DIGEST_CHARS = 12
"""Characters of a digest that operators see."""


class TrustState(StrEnum):
    """The standing of a thing that needs trust."""

    TRUSTED = "trusted"
    WAITING = "waiting"  # no operator has trusted it
    CHANGED = "changed"  # it is not as it was when an operator trusted it


@dataclass(frozen=True, slots=True)
class TrustSubject:
    """One thing that runs only if an operator trusts it."""

    kind: TrustKind
    name: str
    """Unique for its kind and tenant: a skill's name, a file's path."""
    digest: str
    """SHA-256 of all that it consists of, hex."""
    runs: str
    """One line: what it would run or add."""

    @property
    def key(self) -> str:
        """Return what operators type: skill:scales."""
        return f"{self.kind}:{self.name}"


class Trust:
    """Snapshot of what the operators of all tenants trust."""

    def __init__(self, store: Store) -> None:
        """Trust nothing until `load`."""
        self._store = store
        self._pinned: Mapping[tuple[str, TrustKind, str], str] = {}
        self._changed = asyncio.Event()
        self.changes = 0
        """Number of changes so far."""

    async def load(self) -> None:
        """Read the rows, and wake those who wait for a change if there is one."""
        rows = await self._store.read(TRUSTED.find)
        pinned = {(row.tenant, row.kind, row.name): row.digest for row in rows}
        if pinned != self._pinned:
            self._pinned = pinned
            self.changes += 1
            self._changed.set()
            self._changed = asyncio.Event()

    def of(self, tenant: str) -> "TenantTrust":
        """Return one tenant's part."""
        return TenantTrust(self, tenant)

    async def until_changed(self) -> None:
        """Wait until an operator trusts or distrusts a thing of any tenant."""
        await self._changed.wait()

    def digest_of(self, tenant: str, kind: TrustKind, name: str) -> str | None:
        """Return the pinned digest; None: no operator trusts it."""
        return self._pinned.get((tenant, kind, name))


@dataclass(frozen=True, slots=True)
class TenantTrust:
    """Snapshot of what the operators of one tenant trust."""

    whole: Trust
    tenant: str

    def is_trusted(self, kind: TrustKind, name: str, digest: str) -> bool:
        """Return True if an operator trusts this thing as it is now."""
        return self.whole.digest_of(self.tenant, kind, name) == digest

    def state_of(self, subject: TrustSubject) -> TrustState:
        if self.is_trusted(subject.kind, subject.name, subject.digest):
            return TrustState.TRUSTED
        pinned = self.whole.digest_of(self.tenant, subject.kind, subject.name)
        return TrustState.WAITING if pinned is None else TrustState.CHANGED

    async def until_changed(self) -> None:
        """Wait until an operator trusts or distrusts a thing of any tenant."""
        await self.whole.until_changed()
