"""Membership of a process in a cluster: joins, renews its leases, takes a fair share of free ones, and leaves.

The database's clock decides which leases have expired.
"""

import asyncio
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

import structlog

from channels.base import OWN_VIEWS
from channels.clocks import since_boot_s, steady_now
from gateway.cluster.wakeups import Wakeups
from gateway.errors import GatewayError, StoreUnavailable
from gateway.inbound.connections import ChannelAccount
from gateway.ownership import CHORES, LEASES, SharedOwnership, in_name, out_name
from gateway.store import leases
from gateway.store.engine import Connection
from gateway.store.leases import Member, Round
from gateway.store.postgres import PostgresLink
from gateway.store.tables.turns import SHARDS

log = structlog.get_logger()

LEASE_S = 3.0
"""Seconds that a lease lasts without renewal; sessions of a dead process wait this long."""

CLOCK_ASKED = 5

PATIENT_S = 1.0
"""Seconds after a database outage without taking leases, so that living processes can renew theirs."""

LATELY = timedelta(days=10_000)
"""Maximal age of expired leases that wait out an outage; leases that were released cleanly end in 1970."""

LOOK_S = 1.0
RETRY_S = 0.2


class OwnsShards(Protocol):
    """Owner of shards and leases, informed of each change in the event loop."""

    def gain_shards(self, shards: Mapping[int, int]) -> None:
        """Start working in these shards, each with its epoch."""
        ...

    def lose_shards(self, shards: Collection[int]) -> None:
        """Stop working in these shards: another process owns them."""
        ...

    def note_leases(self) -> None:
        """Check what to send and receive, because the held leases changed."""
        ...

    def list_idle(self) -> Collection[int]:
        """Return the owned shards without work."""
        ...

    def part_with(self, shards: Collection[int]) -> None:
        """Start nothing new in exactly these shards; they are handed over once they are idle."""
        ...

    def is_sending(self, account: str) -> bool:
        """Return True while something is on its way out by this account ("telegram:main")."""
        ...


class ClusterMembership:
    """Membership of this process."""

    def __init__(
        self,
        me: Member,
        link: PostgresLink,
        wakeups: Wakeups,
        owner: OwnsShards,
        now_s: Callable[[], float] = since_boot_s,
        follow: Callable[[datetime, timedelta], timedelta] = steady_now.follow,
    ) -> None:
        """Take the owner, which is told of each change.

        `now_s` also counts while the process or the machine is suspended; `follow` gets the server's clock and its
        uncertainty.
        """
        self.me = me
        self.wakeups = wakeups
        self._link = link
        self._accounts: Callable[[], Sequence[ChannelAccount]] = tuple
        self._now_s = now_s
        self._follow = follow
        self._off_s = 0.0  # offset of the machine's clock from the server's
        self.ownership = SharedOwnership(now_s, wakeups.tell)
        self._owner = owner
        self._nudged = asyncio.Event()
        self._leaving = False
        self._parting: frozenset[int] = frozenset()  # shards for other processes
        self._parting_accounts: frozenset[str] = frozenset()
        self._living = 0  # living processes in the last round
        self._owned_s = float("-inf")  # when all accounts had an owner, last
        self._seen_s = float("-inf")  # when the database answered, last
        self._patient_until_s = float("-inf")
        wakeups.on(LEASES, lambda _name: self._nudged.set())

    async def begin(self, accounts: Callable[[], Sequence[ChannelAccount]], now: datetime) -> int:
        """Join and take free leases; return the number of other processes. `accounts` are those configured here.

        Raises:
            GatewayError: the other processes have other keys.
            StoreUnavailable: the database does not answer.
        """

        def join(connection: Connection) -> list[leases.MemberStanding]:
            leases.forget_gone(connection)
            leases.join(connection, self.me, now, LEASE_S)
            return leases.standing(connection)

        self._accounts = accounts
        await self._ask_for_clock()
        known = await self._link.transact(join, LEASE_S * 3)
        self._seen_s = self._now_s()
        others = [each.member for each in known if each.lives and each.member.node != self.me.node]
        if stranger := next((other for other in others if other.key_mark != self.me.key_mark), None):
            await self._link.transact(partial(leases.leave, me=self.me), LEASE_S)
            raise GatewayError(
                f"this home has other keys than the gateway on {stranger.host} that works on the same database: copy "
                "pairing.key and secrets.key from its home to this one, then start again"
            )
        if differing := {other.version for other in others} - {self.me.version}:
            log.warning("versions_differ", ours=self.me.version, others=sorted(differing), mend="update them all")
        await self.look()
        log.info("cluster_joined", member=self.me.id, others=len(others))
        return len(others)

    async def run(self) -> None:
        """Renew and take leases until cancelled."""
        while True:
            pause_s = LOOK_S
            try:
                await self.look()
            except StoreUnavailable as error:
                log.warning("leases_not_renewed", error=str(error))
                pause_s = RETRY_S
            await self._rest(pause_s)

    async def look(self) -> None:
        """Run one round, and tell the owner what changed.

        Raises:
            StoreUnavailable: the leases may not have been renewed; they expire by themselves.
        """
        begun_s = self._now_s()
        wanted, shared = ([], []) if self._leaving else self._names(begun_s)
        given = self._parting.intersection(self._owner.list_idle())
        ask = leases.LeaseRequest(wanted, shared, given, self._names_to_give(), self.ownership.fenced)
        takes = None if self._leaving else self._patience(begun_s)
        look = partial(leases.look_round, me=self.me, ask=ask, lease_s=LEASE_S, takes=takes)
        done = await self._link.transact(look, LEASE_S)
        self._note(done, begun_s)
        self._part(done)
        self._part_accounts(done)
        self._seen_s = begun_s
        if not done.ownerless:
            self._owned_s = begun_s

    def _patience(self, now_s: float) -> timedelta:
        """Return how long expired leases are left alone: after an outage, because no process could renew."""
        if now_s - self._seen_s > LEASE_S:
            self._patient_until_s = now_s + PATIENT_S
        return LATELY if now_s < self._patient_until_s else timedelta(0)

    def _note(self, done: Round, begun_s: float) -> None:
        if done.at is not None:
            self._note_clock(done.at, self._now_s() - begun_s)
        before = dict(self.ownership.names)
        given = self._parting.difference(done.shards) or before.keys() - done.names.keys()
        if done.rejoined:
            mend = (
                "if another machine's home is a copy of this one, delete the file `node` in one of them and restart it"
            )
            log.warning("cluster_rejoined", member=self.me.id, mend=mend)
        gained, lost = self.ownership.update(done, begun_s + LEASE_S)
        if gained or lost:
            log.info("shards_changed", gained=len(gained), lost=len(lost), owned=len(done.shards))
        if lost:
            self._owner.lose_shards(lost)
        if before != dict(done.names):
            log.info("leases_changed", held=sorted(done.names))
            self._owner.note_leases()
            self._nudged.set()  # the process that receives for an account also asks to send
        if gained:
            self._owner.gain_shards(gained)
        if given:
            self.wakeups.tell(LEASES)

    def _part(self, done: Round) -> None:
        """Choose shards for other processes, with the same share of busy and idle ones."""
        share = 0 if self._leaving else leases.fair_share(SHARDS, done.living)
        kept = sorted(self._parting.intersection(done.shards))[: max(0, len(done.shards) - share)]
        wanted = max(0, len(done.shards) - share - len(kept))
        idle, others = set(self._owner.list_idle()), [*(done.shards.keys() - set(kept))]
        random.shuffle(others)
        at_work = [shard for shard in others if shard not in idle]
        first = at_work[: round(wanted * len(at_work) / max(1, len(others)))]
        chosen = dict.fromkeys([*first, *(shard for shard in others if shard in idle), *at_work])
        parting = frozenset([*kept, *[*chosen][:wanted]])
        if parting != self._parting:
            self._parting = parting
            self._owner.part_with(parting)

    def _part_accounts(self, done: Round) -> None:
        """Offer the accounts beyond a fair share, once whenever a process has joined."""
        shared = self._list_shared()
        held = [name for name in shared if in_name(name) in done.names and name not in self._parting_accounts]
        surplus = len(held) - leases.fair_share(len(shared), done.living)
        grown, self._living = done.living > self._living, done.living
        owned = {name.partition(" ")[2] for name in done.names}
        parting = self._parting_accounts & owned
        if grown and surplus > 0:
            parting |= frozenset(random.sample(held, surplus))
        if parting != self._parting_accounts:
            self._parting_accounts = parting
            self.ownership.part_with([name for account in parting for name in (in_name(account), out_name(account))])
            self._nudged.set()

    async def _ask_for_clock(self) -> None:
        """Set the offset from the server's clock, by the fastest of several queries."""
        answers = []
        for _ in range(CLOCK_ASKED):
            begun_s = since_boot_s()
            at = await self._link.transact(leases.server_now, LEASE_S * 3)
            answers.append((since_boot_s() - begun_s, since_boot_s(), at))
        took_s, then_s, at = min(answers)
        self._note_clock(at + timedelta(seconds=since_boot_s() - then_s), took_s)

    def _note_clock(self, at: datetime, within_s: float) -> None:
        off_s = -self._follow(at, timedelta(seconds=within_s)).total_seconds()
        if abs(off_s - self._off_s) > leases.CLOCKS_DIFFER_S:
            log.warning(
                "clock_differs", seconds=round(off_s, 1), mend="have this machine's clock and the database's set"
            )
            self._off_s = off_s

    def _names(self, now_s: float) -> tuple[list[str], list[str]]:
        """Return the leases to ask for, and the account leases of which to take a share."""
        accounts, held = self._list_shared(), self.ownership.names
        shared = [in_name(account) for account in accounts]
        kept = [name for name in accounts if in_name(name) in held and name not in self._parting_accounts]
        wanted = [CHORES, *map(out_name, kept)]
        if now_s - self._owned_s > LEASE_S:  # others had time to take their share
            wanted += shared
        return wanted, shared

    def _list_shared(self) -> list[str]:
        """Return the accounts that only one process serves."""
        return [each.name for each in self._accounts() if each.channel not in OWN_VIEWS]

    def _names_to_give(self) -> list[str]:
        """Return the leases for other processes under which nothing runs here any more."""
        quiet = [account for account in self._parting_accounts if not self._owner.is_sending(account)]
        return [*map(in_name, self._parting_accounts), *map(out_name, quiet)]

    async def begin_leaving(self) -> None:
        """Take nothing more, stop receiving, and hand over what is idle."""
        self._leaving = True
        given = [name for name in self.ownership.names if not name.startswith("out ")]
        await self._link.transact(partial(leases.begin_leaving, me=self.me, given_names=given), LEASE_S)
        self.wakeups.tell(LEASES)
        self._nudged.set()

    async def leave(self) -> None:
        """Release everything at once, so that the others need not wait for it to expire."""
        await self._link.transact(partial(leases.leave, me=self.me), LEASE_S)
        await self._link.notify(f"wake {self.me.id}\n{LEASES} ", LEASE_S)

    async def _rest(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._nudged.wait()
        except TimeoutError:
            pass
        self._nudged.clear()
