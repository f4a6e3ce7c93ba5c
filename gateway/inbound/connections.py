"""An account as it stands, and its connections: which of them this process reads by, and what each is given.

Most accounts have one. Where several processes share the work, a connection is read by whoever holds its lease.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import structlog

from channels.base import Channel, ChannelState, LayOut, RunConnection
from channels.messages import DEFAULT_TENANT
from gateway.cluster.ownership import EVERYTHING, Ownership, hook_name, in_name
from gateway.delivery.pacing import Pacer
from gateway.errors import StoreUnavailable
from gateway.inbound.intake import ChannelSink, Intake
from gateway.store import chats, leases
from gateway.store.engine import Store
from gateway.supervision import run_until
from gateway.telemetry import CHANNEL_HEARD_AT, CHANNEL_READY

log = structlog.get_logger()

BAD_LAST = (ChannelState.READY, ChannelState.STARTING, ChannelState.DEGRADED, ChannelState.FAILED)
DETAILS_SHOWN = 3  # of connections that do badly


@dataclass(frozen=True, slots=True)
class ChannelAccount:
    """One configured account, and how its adapter is made."""

    channel: str
    account: str
    make: Callable[[], Channel]  # may import an SDK: runs in a thread
    strict_pacing: bool = False
    tenant: str | None = DEFAULT_TENANT  # None: each message says whose it is, by its key
    config: object = None  # as the operator wrote it: what differs is started anew
    everywhere: bool = False  # it is read for by every process of a cluster: the platform posts to any of them
    attached: bool = False  # what is said goes over connections of who reads: a page's, a program's, a terminal's
    sharded: bool = False  # it is read for by connections that several processes have some of each


@dataclass(slots=True)
class HeldAccount:
    """One account as it stands."""

    spec: ChannelAccount
    clock: Callable[[], datetime]
    ready: "asyncio.Future[Channel]"
    state: ChannelState = ChannelState.STARTING
    detail: str = ""
    connections: int = 1  # how many there are, in all processes together
    reports: dict[int, tuple[ChannelState, str]] = field(default_factory=lambda: {0: (ChannelState.STARTING, "")})
    missing: dict[int, str] = field(default_factory=dict)  # what was said and could not be read, by connection
    heard_at: datetime | None = None
    pacer: Pacer | None = None
    failures: int = field(default=0)
    begun: asyncio.Event = field(default_factory=asyncio.Event)  # it has asked its platform, or could not
    reading: "asyncio.Task[None] | None" = None  # None: not begun
    retired: bool = False  # it reads nothing more; what is on its way out is still said

    def differs_from(self, spec: ChannelAccount) -> bool:
        """Whether it has to be started anew to be as this says; also where it gave up, which may go well now."""
        gave_up = self.reading is not None and self.reading.done()
        return gave_up or (spec.config, spec.strict_pacing) != (self.spec.config, self.spec.strict_pacing)

    @property
    def reported(self) -> tuple[ChannelState, str]:
        """How the channel itself says it is doing: as that of its connections that does worst."""
        if not self.reports:
            return ChannelState.READY, "another process reads for it"
        worst = max((state for state, _ in self.reports.values()), key=BAD_LAST.index)
        told = [detail for state, detail in self.reports.values() if state is worst and detail]
        return worst, "; ".join(told[:DETAILS_SHOWN])

    def note(self, state: ChannelState, detail: str, number: int = 0) -> None:
        """Keep how the channel says it is doing, by this connection."""
        self.reports[number] = (state, detail)
        if state is not ChannelState.STARTING:
            self.begun.set()
        if state is ChannelState.READY:
            self.heard_at = now = self.clock()
            self.failures = 0
            CHANNEL_HEARD_AT.labels(self.spec.channel, self.spec.account).set(now.timestamp())
        self._show()

    def stand_by(self, number: int) -> None:
        """Show that another process reads by this connection, or will."""
        self.begun.set()
        self.missing.pop(number, None)
        if self.spec.everywhere:
            self.reports[number] = (ChannelState.READY, "")
        else:
            self.reports.pop(number, None)
        self._show()

    def note_missing(self, detail: str, number: int = 0) -> None:
        """Keep what could not be read by this connection; it is shown instead of READY."""
        self.missing[number] = detail
        self._show()

    def _show(self) -> None:
        """What health shows; a change is logged."""
        state, detail = self.reported
        missing = [words for words in self.missing.values() if words]
        if missing and state is ChannelState.READY:
            state, detail = ChannelState.DEGRADED, "; ".join(missing[:DETAILS_SHOWN])
        if (state, detail) != (self.state, self.detail):
            tell = {ChannelState.FAILED: log.error, ChannelState.DEGRADED: log.warning}.get(state, log.info)
            tell("channel_state", channel=self.spec.channel, account=self.spec.account, state=state, detail=detail)
            self.state, self.detail = state, detail
            CHANNEL_READY.labels(self.spec.channel, self.spec.account).set(state is ChannelState.READY)


@dataclass(frozen=True, slots=True)
class ReadingDeps:
    """What reading for any account needs; `tasks` is the parent of what is read by leases."""

    store: Store
    intake: Intake
    ownership: Ownership
    tasks: asyncio.TaskGroup
    clock: Callable[[], datetime]


class AccountReading:
    """One run of an account's channel here."""

    def __init__(self, deps: ReadingDeps, channel: Channel, account: HeldAccount) -> None:
        self.deps = deps
        self.channel = channel
        self.account = account

    async def run(self) -> None:
        """Run the channel until it ends; where several processes could, only for as long as it is this one's."""
        ownership, spec = self.deps.ownership, self.account.spec
        if not ownership.is_shared or spec.everywhere or spec.sharded:
            await self.channel.run(ConnectionSink(self, 0))
        else:
            await self._keep(0, lambda _number, sink: self.channel.run(sink))

    async def share(self, count: int, run: RunConnection) -> None:
        """Run each of so many connections, those that are this process's."""
        self.account.connections = count
        try:
            async with asyncio.TaskGroup() as tasks:
                for number in range(count):
                    tasks.create_task(self._keep(number, run))
        except BaseExceptionGroup as ended:
            raise ended.exceptions[0] from None  # the first says why; the rest were cancelled for it

    async def _keep(self, number: int, run: RunConnection) -> None:
        """Run a connection until it ends by itself, whenever it is this process's."""
        ownership, sink = self.deps.ownership, ConnectionSink(self, number)
        if not ownership.is_shared:
            sink.report(ChannelState.STARTING)
            await run(number, sink)
            return
        channel, account = self.channel.name, self.channel.account
        name = hook_name(channel, account) if self.account.spec.everywhere else in_name(channel, account, number)
        while True:
            if ownership.lease(name) is None:
                self.account.stand_by(number)
            lease = sink.lease = await ownership.until_held(name)
            sink.report(ChannelState.STARTING)
            await run_until(partial(run, number, sink), partial(ownership.until_lost, lease), self.deps.tasks)
            if ownership.lease(name) == lease:
                return


class ConnectionSink(ChannelSink):
    """What one connection of an adapter is given, or the adapter itself: the whole of its `Sink`."""

    def __init__(self, reading: AccountReading, number: int) -> None:
        """`number` is which of the account's connections it is; the adapter itself is told as its first."""
        deps, account = reading.deps, reading.account
        super().__init__(deps.store, deps.intake, reading.channel, account, account.spec.tenant, number)
        self._reading = reading

    async def share(self, count: int, run: RunConnection) -> None:
        """Run each of so many connections for as long as it is this process's."""
        await self._reading.share(count, run)

    async def lay_out(self, plan: LayOut) -> None:
        """Change resume points of the account's connections in one commit; none where `plan` changes none."""
        name, account, tenant = self._channel.name, self._channel.account, self._store.home_tenant
        now = self._reading.deps.clock()
        if plan(await self._store.read(partial(chats.cursors_of, channel=name, account=account), lasting=True)):
            await self._store.write(lambda c: chats.lay_out_cursors(c, tenant, name, account, plan, now))

    async def take_turn(self, name: str, every_s: float) -> float:
        """0.0 where it is our turn among several processes; else how long to wait."""
        if self.lease is EVERYTHING:
            return 0.0
        of_account = f"turn {self._channel.name}:{self._channel.account} {name}"
        try:
            return await self._store.write(partial(leases.take_turn, name=of_account, every_s=every_s))
        except StoreUnavailable:
            return every_s
