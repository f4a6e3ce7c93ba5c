"""Ownership of shards, accounts and chores by this process, in memory.

It may be out of date; the store checks the epochs given here. `membership` acquires leases.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress

from agent.errors import Fenced
from channels.base import OWN_VIEWS
from channels.messages import Address
from gateway.store.journal import Fence, shard_of
from gateway.store.leases import SOLE, Lease, Round

CHORES = "chores"
"""Lease of the shared chores: schedules, retention, erasures, alerts, watching caps."""

EVERYTHING = Lease("", SOLE)

IN = "in"
"""Topic: rows wait in the shard of this number."""

OUT = "out"
"""Topic: this account has messages to send."""

LEASES = "leases"
"""Topic: a lease was handed back."""

POLL_S = 1.0
"""Seconds between reads of the store by a process that waits for a topic."""

LOOK_AGAIN_S = 0.5
"""Seconds within which an expired lease is noticed."""

NOT_OURS = -1
"""Epoch that no shard ever has."""


def in_name(account: str) -> str:
    """Return the name of the lease to read for an account ("telegram:main"), by all its connections."""
    return f"in {account}"


def out_name(account: str) -> str:
    """Return the name of the lease to send for an account."""
    return f"out {account}"


class Ownership:
    """Ownership of a lone process: everything, with one epoch."""

    is_shared = False

    def __init__(self, epoch: int = SOLE) -> None:
        self._epoch = epoch
        self.fenced = 0  # refused writes

    def fence_of(self, session_key: str) -> Fence:
        """Return the fence for a session's writes; the store refuses it if another process owns the session."""
        return Fence(shard_of(session_key), self._epoch)

    def stands(self, fence: Fence) -> bool:
        """Return True if a fence is valid, as far as is known here."""
        return fence.epoch == self._epoch

    def lease(self, name: str) -> Lease | None:
        """Return a held lease, or None."""
        return EVERYTHING

    def sends(self, where: Address) -> Lease | None:
        """Return the lease to send there, or None if another process sends. Every process sends to its own connected
        people.
        """
        if not self.is_shared or where.channel in OWN_VIEWS:
            return EVERYTHING
        return self.lease(out_name(f"{where.channel}:{where.account}"))

    def tell(self, topic: str, name: object) -> None:
        """Wake other processes; a lone process has none."""

    def note_fenced(self) -> None:
        """Count a write that was refused because another process owns its session."""
        self.fenced += 1

    async def until_changed(self) -> None:
        """Wait until the owned leases may have changed."""
        await asyncio.Event().wait()

    async def until_held(self, name: str) -> Lease:
        """Wait until a lease is held, and return it."""
        while (lease := self.lease(name)) is None:
            await self.until_changed()
        return lease

    async def until_lost(self, lease: Lease) -> None:
        """Wait until a lease is lost or renewed with another epoch."""
        while self.lease(lease.name) == lease:
            await self.until_changed()

    def last_lease_to_send(self, where: Address) -> Lease | None:
        """Return the last known lease to send there, expired or not; None: another process has it."""
        return EVERYTHING

    def last_leases_to_send(self) -> frozenset[Lease]:
        """Return all last known leases to send."""
        return frozenset([EVERYTHING])

    async def confirm(self, lease: Lease) -> None:
        """Wait until a lease that ran out is renewed; raise Fenced if another process has it."""


class SharedOwnership(Ownership):
    """Ownership of one process in a cluster: its last leases, until they expire by its steady clock."""

    is_shared = True

    def __init__(self, now_s: Callable[[], float], tell: Callable[[str, object], None]) -> None:
        """Take a clock that also counts while the process is paused, and the function that wakes the others."""
        self._tell = tell
        super().__init__(NOT_OURS)
        self._changed = asyncio.Event()
        self._now_s = now_s
        self._until_s = float("-inf")
        self._shards: Mapping[int, int] = {}
        self._names: Mapping[str, int] = {}
        self._parting: Collection[str] = ()

    def tell(self, topic: str, name: object) -> None:
        self._tell(topic, name)

    def update(self, done: Round, until_s: float) -> tuple[Mapping[int, int], Collection[int]]:
        """Replace the owned leases, valid until `until_s`; return the gained and the lost shards."""
        before, self._shards, self._names, self._until_s = self._shards, done.shards, done.names, until_s
        gained = {shard: epoch for shard, epoch in done.shards.items() if before.get(shard) != epoch}
        lost = [shard for shard, epoch in before.items() if done.shards.get(shard) != epoch]
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        return gained, lost

    @property
    def shards(self) -> Mapping[int, int]:
        """Return the last known shards, with their epochs."""
        return self._shards

    def part_with(self, names: Collection[str]) -> None:
        """Start nothing new under these leases; they are handed back once their work is done."""
        self._parting = frozenset(names)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    @property
    def names(self) -> Mapping[str, int]:
        """Return the last known named leases."""
        return self._names

    def fence_of(self, session_key: str) -> Fence:
        shard = shard_of(session_key)
        return Fence(shard, self._shards.get(shard, NOT_OURS))

    def stands(self, fence: Fence) -> bool:
        return self._now_s() < self._until_s and self._shards.get(fence.shard) == fence.epoch

    def lease(self, name: str) -> Lease | None:
        return None if self._now_s() >= self._until_s else self._last(name)

    def _last(self, name: str) -> Lease | None:
        epoch = None if name in self._parting else self._names.get(name)
        return None if epoch is None else Lease(name, epoch)

    def last_lease_to_send(self, where: Address) -> Lease | None:
        """Return the lease to send there, whether or not it has run out."""
        return self._last(out_name(f"{where.channel}:{where.account}"))

    def last_leases_to_send(self) -> frozenset[Lease]:
        """Return every lease to send, whether or not it has run out."""
        return frozenset(lease for name in self._names if name.startswith("out ") and (lease := self._last(name)))

    async def confirm(self, lease: Lease) -> None:
        """Wait until the next round of leases if this one ran out; raise Fenced if that round lost it."""
        while self._names.get(lease.name) == lease.epoch and self._now_s() >= self._until_s:
            await self.until_changed()
        if self._names.get(lease.name) != lease.epoch:
            raise Fenced(f"{lease.name} is not held by epoch {lease.epoch} any more")

    async def until_changed(self) -> None:
        """Wait until the owned leases may have changed or expired."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_AGAIN_S):
                await self._changed.wait()
