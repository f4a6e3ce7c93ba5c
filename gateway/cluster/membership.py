"""One process of a cluster: it joins, renews what it owns, takes its fair share of what is free, and leaves in order.

The database's clock decides what has run out. What is done with shards and accounts is their rooms' matter.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

import structlog

from channels.clocks import since_boot_s, steady_now
from gateway.cluster.ownership import CHORES, SharedOwnership, hook_name, in_name, out_name
from gateway.cluster.wakeups import LEASES, Wakeups
from gateway.errors import GatewayError, StoreUnavailable
from gateway.store import leases
from gateway.store.engine import Connection
from gateway.store.leases import Member, Round
from gateway.store.postgres import PostgresLink

log = structlog.get_logger()

LEASE_S = 3.0
"""How long what a process owns stays its own without a word from it: a dead one's sessions wait for so long."""

CLOCKS_DIFFER_S = 2.0
"""Of this machine and of the database: what is stamped goes by the latter, days that people read by this one."""

CLOCK_ASKED = 5

PATIENT_S = 1.0
"""How long behind an outage nothing is taken: whoever lives has tried again five times by then."""

LATELY = timedelta(days=10_000)
"""Whatever ran out did within this; what a home's next process let go of ended in 1970."""

LOOK_S = 0.7
RETRY_S = 0.2


@dataclass(frozen=True, slots=True)
class LeasedAccount:
    """One configured account, and which of its leases a process may ask for."""

    channel: str
    account: str
    everywhere: bool = False  # it is read for by every process, by webhook
    attached: bool = False  # what is said goes over connections of who reads: a page, a program, a terminal


class OwnsShards(Protocol):
    """What works in the shards of a process; told of each change in the event loop."""

    def gain_shards(self, shards: Mapping[int, int]) -> None:
        """Begin to work in these, each with its epoch."""
        ...

    def lose_shards(self, shards: Collection[int]) -> None:
        """Stop: another process works in these."""
        ...

    def note_leases(self) -> None:
        """Look what to send or to receive: other named leases are held."""
        ...

    def list_idle(self) -> Collection[int]:
        """Return the owned shards in which nothing happens."""
        ...


class ClusterMembership:
    """This process among the others."""

    def __init__(
        self,
        me: Member,
        link: PostgresLink,
        wakeups: Wakeups,
        owner: OwnsShards,
        now_s: Callable[[], float] = since_boot_s,
        go_by: Callable[[datetime, timedelta], timedelta] = steady_now.go_by,
    ) -> None:
        """Nothing is asked for before `begin`. `owner` is told of each change.

        `now_s` also counts while the process, or the machine, stands still; `go_by` is told what the server's clock
        showed, within so long.
        """
        self.me = me
        self.wakeups = wakeups
        self._link = link
        self._wanted: Callable[[], Sequence[LeasedAccount]] = tuple
        self._now_s = now_s
        self._go_by = go_by
        self._off_s = 0.0  # the machine's clock from the server's
        self.ownership = SharedOwnership(now_s, wakeups.tell)
        self._owner = owner
        self._nudged = asyncio.Event()
        self._leaving = False
        self._seen_s = float("-inf")  # when the database answered last
        self._patient_until_s = float("-inf")
        wakeups.on(LEASES, lambda _name: self._nudged.set())

    async def begin(self, wanted: Callable[[], Sequence[LeasedAccount]], now: datetime) -> int:
        """Join, and take what is free; how many others are there. `wanted` are the accounts that are configured here.

        Raises:
            GatewayError: the home has other keys than the others'.
            StoreUnavailable: the database does not answer.
        """

        def join(connection: Connection) -> list[leases.MemberStanding]:
            leases.forget_gone(connection)
            leases.join(connection, self.me, now, LEASE_S)
            return leases.standing(connection)

        self._wanted = wanted
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
        """Renew and take until cancelled."""
        while True:
            pause_s = LOOK_S
            try:
                await self.look()
            except StoreUnavailable as error:
                log.warning("leases_not_renewed", error=str(error))
                pause_s = RETRY_S
            await self._rest(pause_s)

    async def look(self) -> None:
        """One round; what was gained and lost is told.

        Raises:
            StoreUnavailable: it is not known what is owned now; what was owned runs out by itself.
        """
        begun_s = self._now_s()
        names = [] if self._leaving else self._names()
        look = partial(
            leases.look_round, me=self.me, wanted=names, surplus=self._owner.list_idle(), fenced=self.ownership.fenced,
            lease_s=LEASE_S, takes=None if self._leaving else self._patience(begun_s),
        )  # fmt: skip
        self._note(await self._link.transact(look, LEASE_S), begun_s)
        self._seen_s = begun_s

    def _patience(self, now_s: float) -> timedelta:
        """How long others may come back late: where the database was away, nobody renewed, and nobody is dead."""
        if now_s - self._seen_s > LEASE_S:
            self._patient_until_s = now_s + PATIENT_S
        return LATELY if now_s < self._patient_until_s else timedelta(0)

    def _note(self, done: Round, begun_s: float) -> None:
        if done.at is not None:
            self._note_clock(done.at, self._now_s() - begun_s)
        before = dict(self.ownership.names)
        if done.rejoined:
            mend = (
                "if another machine's home is a copy of this one, delete the file `node` in one of them and restart it"
            )
            log.warning("cluster_rejoined", member=self.me.id, mend=mend)
        gained, lost = self.ownership.update(done, begun_s + LEASE_S)
        if gained or lost:
            log.info("shards_changed", gained=len(gained), lost=len(lost), owned=len(done.shards), died=len(done.died))
        if lost:
            self._owner.lose_shards(lost)
        if before != dict(done.names):
            log.info("leases_changed", held=sorted(done.names))
            self._owner.note_leases()
        if gained:
            self._owner.gain_shards(gained)

    async def _ask_for_clock(self) -> None:
        """Go by the server's clock as the quickest of a few questions shows it: nothing was stamped yet."""
        answers = []
        for _ in range(CLOCK_ASKED):
            begun_s = since_boot_s()
            at = await self._link.transact(leases.server_now, LEASE_S * 3)
            answers.append((since_boot_s() - begun_s, since_boot_s(), at))
        took_s, then_s, at = min(answers)
        self._note_clock(at + timedelta(seconds=since_boot_s() - then_s), took_s)

    def _note_clock(self, at: datetime, within_s: float) -> None:
        off_s = -self._go_by(at, timedelta(seconds=within_s)).total_seconds()
        if abs(off_s - self._off_s) > CLOCKS_DIFFER_S:
            log.warning(
                "clock_differs", seconds=round(off_s, 1), mend="have this machine's clock and the database's set"
            )
            self._off_s = off_s

    def _names(self) -> list[str]:
        """Return the name of every lease that this process asks for."""
        names = [CHORES]
        for wanted in self._wanted():
            inward = in_name(wanted.channel, wanted.account)
            if wanted.everywhere:
                names.append(hook_name(wanted.channel, wanted.account))
            else:
                names.append(inward)
            if not wanted.attached or inward in self.ownership.names:
                names.append(out_name(wanted.channel, wanted.account))
        return names

    async def begin_leaving(self) -> None:
        """Take nothing more, read for no account any more, and let others have what is idle."""
        self._leaving = True
        inward = [name for name in self.ownership.names if name.startswith(("in ", "hook ")) or name == CHORES]

        def job(connection: Connection) -> None:
            leases.begin_leaving(connection, self.me)
            leases.hand_back_names(connection, self.me.id, inward)

        await self._link.transact(job, LEASE_S)
        self.wakeups.tell(LEASES)
        self._nudged.set()

    async def leave(self) -> None:
        """Let go of everything: the others need not wait for it to run out."""
        await self._link.transact(partial(leases.leave, me=self.me), LEASE_S)
        await self._link.notify(f"wake {self.me.id}\n{LEASES} ", LEASE_S)

    async def _rest(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._nudged.wait()
        except TimeoutError:
            pass
        self._nudged.clear()
