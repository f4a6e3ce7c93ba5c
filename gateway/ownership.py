"""What this process owns, asked in memory: shards of sessions, accounts to read and to send for, chores.

What it says may be out of date; the store has the last word, by the epochs that are given here. How it comes to own
something is `membership`'s matter.
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
"""The lease of what one process does for all: schedules, retention, erasures, alerts, the watch of caps."""

EVERYTHING = Lease("", SOLE)

IN = "in"
"""Topic: something waits in the shard of this number."""

OUT = "out"
"""Topic: something is to be said by this account."""

LEASES = "leases"
"""Topic: something was handed back."""

POLL_S = 1.0
"""How often a process that waits for a topic looks into the store without being told."""

LOOK_AGAIN_S = 0.5
"""What runs out by itself is noticed within this."""

NOT_OURS = -1
"""An epoch that no shard ever has."""


def in_name(account: str) -> str:
    """Return the name of the lease to read for an account ("telegram:main"), by all its connections."""
    return f"in {account}"


def out_name(account: str) -> str:
    """Return the name of the lease to send for an account."""
    return f"out {account}"


class Ownership:
    """One process alone: it owns everything, by one epoch."""

    is_shared = False

    def __init__(self, epoch: int = SOLE) -> None:
        self._epoch = epoch
        self.fenced = 0  # writes that were refused

    def fence_of(self, session_key: str) -> Fence:
        """What a session's turns are written with; of a session that is another's it is refused."""
        return Fence(shard_of(session_key), self._epoch)

    def stands(self, fence: Fence) -> bool:
        """Whether a fence is still good, as far as is known here."""
        return fence.epoch == self._epoch

    def lease(self, name: str) -> Lease | None:
        """A lease, as it is held now; None: it is not."""
        return EVERYTHING

    def sends(self, where: Address) -> Lease | None:
        """Return what entitles to send there; None: another process does. To connected people each process shows."""
        if not self.is_shared or where.channel in OWN_VIEWS:
            return EVERYTHING
        return self.lease(out_name(f"{where.channel}:{where.account}"))

    def tell(self, topic: str, name: object) -> None:
        """Wake whoever has something to do: see `gateway.cluster.wakeups`; there is nobody else."""

    def note_fenced(self) -> None:
        """A write was refused: somebody else owns it by now."""
        self.fenced += 1

    async def until_changed(self) -> None:
        """Wait until something else may be owned."""
        await asyncio.Event().wait()

    async def until_held(self, name: str) -> Lease:
        """Wait until a lease is held; it."""
        while (lease := self.lease(name)) is None:
            await self.until_changed()
        return lease

    async def until_lost(self, lease: Lease) -> None:
        """Wait until a lease is not held any more, or anew."""
        while self.lease(lease.name) == lease:
            await self.until_changed()

    def last_lease_to_send(self, where: Address) -> Lease | None:
        """Return the lease to send there as it was known last: it may have run out. None: another process has it."""
        return EVERYTHING

    def last_leases_to_send(self) -> frozenset[Lease]:
        """Return every lease to send as it was known last."""
        return frozenset([EVERYTHING])

    async def confirm(self, lease: Lease) -> None:
        """Wait until a lease that ran out is renewed; raise Fenced if another process has it."""


class SharedOwnership(Ownership):
    """One process of several: it owns what it was given last, until that runs out by its own steady clock."""

    is_shared = True

    def __init__(self, now_s: Callable[[], float], tell: Callable[[str, object], None]) -> None:
        """Nothing is owned yet; `now_s` also counts while the process is paused, `tell` wakes the others."""
        self._tell = tell
        super().__init__(NOT_OURS)
        self._changed = asyncio.Event()
        self._now_s = now_s
        self._until_s = float("-inf")
        self._shards: Mapping[int, int] = {}
        self._names: Mapping[str, int] = {}
        self._parting: Collection[str] = ()

    def tell(self, topic: str, name: object) -> None:
        """As of the other."""
        self._tell(topic, name)

    def update(self, done: Round, until_s: float) -> tuple[Mapping[int, int], Collection[int]]:
        """Own this, and for so long; which shards were gained with that, and which lost."""
        before, self._shards, self._names, self._until_s = self._shards, done.shards, done.names, until_s
        gained = {shard: epoch for shard, epoch in done.shards.items() if before.get(shard) != epoch}
        lost = [shard for shard, epoch in before.items() if done.shards.get(shard) != epoch]
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        return gained, lost

    @property
    def shards(self) -> Mapping[int, int]:
        """What was owned when that was known last."""
        return self._shards

    def part_with(self, names: Collection[str]) -> None:
        """Begin nothing more under these leases, which are to be handed back once nothing goes on under them."""
        self._parting = frozenset(names)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    @property
    def names(self) -> Mapping[str, int]:
        """The named leases that were held when that was known last."""
        return self._names

    def fence_of(self, session_key: str) -> Fence:
        """As of the other."""
        shard = shard_of(session_key)
        return Fence(shard, self._shards.get(shard, NOT_OURS))

    def stands(self, fence: Fence) -> bool:
        """As of the other."""
        return self._now_s() < self._until_s and self._shards.get(fence.shard) == fence.epoch

    def lease(self, name: str) -> Lease | None:
        """As of the other."""
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
        """As of the other; also when something may have run out."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_AGAIN_S):
                await self._changed.wait()
