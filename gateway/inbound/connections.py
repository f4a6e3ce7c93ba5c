"""An account, its health, and one run of its connections, each with a sink of its own.

If several processes share the work, the one that holds the account's lease runs all its connections.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import structlog

from channels.base import OWN_VIEWS, Channel, ChannelConnection, ChannelState, LaysOutCursors
from channels.messages import DEFAULT_TENANT
from gateway.delivery.pacing import Pacer
from gateway.inbound.intake import ChannelSink, TakesIn
from gateway.ownership import EVERYTHING, Ownership, in_name
from gateway.store import chats
from gateway.store.engine import Store
from gateway.store.leases import Lease
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

    @property
    def name(self) -> str:
        """The account as logs, leases and reports call it: "telegram:main"."""
        return f"{self.channel}:{self.account}"


@dataclass(slots=True)
class HeldAccount:
    """One account as it stands."""

    spec: ChannelAccount
    clock: Callable[[], datetime]
    ready: "asyncio.Future[Channel]"
    state: ChannelState = ChannelState.STARTING
    detail: str = ""
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

    def stand_by(self, numbers: Iterable[int]) -> None:
        """Show that another process runs these connections."""
        self.begun.set()
        for number in numbers:
            self.missing.pop(number, None)
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
    """What a run of an account needs; `tasks` is the parent of what runs under a lease."""

    store: Store
    tenants: Mapping[str, TakesIn]
    ownership: Ownership
    tasks: asyncio.TaskGroup
    clock: Callable[[], datetime]


class AccountReading:
    """One run of an account's connections in this process."""

    def __init__(self, deps: ReadingDeps, channel: Channel, account: HeldAccount) -> None:
        self._deps = deps
        self._channel = channel
        self._account = account

    async def run(self) -> None:
        """Run the connections until one ends; among several processes, only while this one holds the lease."""
        name = self._account.spec.name
        if not self._deps.ownership.is_shared or self._account.spec.channel in OWN_VIEWS:
            await self._run_all(EVERYTHING)
        elif self._account.spec.everywhere:
            first, *others = await self._channel.connections()
            watch = partial(self._run_these, dict(enumerate(others, 1)))
            async with unwrapped_tasks() as tasks:
                tasks.create_task(self._run_one(0, first, EVERYTHING))
                tasks.create_task(self._while_held(in_name(name), range(1, len(others) + 1), watch))
        else:
            await self._while_held(in_name(name), self._account.reports, self._run_all)

    async def _while_held(
        self, name: str, numbers: Iterable[int], run: Callable[[Lease], Coroutine[object, object, None]]
    ) -> None:
        """Run until it ends by itself, whenever this process holds the lease."""
        ownership = self._deps.ownership
        while True:
            if ownership.lease(name) is None:
                self._account.stand_by([*numbers])
            lease = await ownership.until_held(name)
            await run_until(partial(run, lease), partial(ownership.until_lost, lease), self._deps.tasks)
            if ownership.lease(name) == lease:
                return

    async def _run_all(self, lease: Lease) -> None:
        connections = dict(enumerate(await self._channel.connections()))
        if isinstance(self._channel, LaysOutCursors):
            await self._lay_out_cursors(partial(self._channel.lay_out, count=len(connections)))
        self._account.reports.clear()
        await self._run_these(connections, lease)

    async def _run_these(self, connections: Mapping[int, ChannelConnection], lease: Lease) -> None:
        async with unwrapped_tasks() as tasks:
            for number, connection in connections.items():
                tasks.create_task(self._run_one(number, connection, lease))

    async def _run_one(self, number: int, connection: ChannelConnection, lease: Lease) -> None:
        deps, account = self._deps, self._account
        sink = ChannelSink(deps.store, deps.tenants, self._channel, account, account.spec.tenant, number)
        sink.lease = lease
        sink.report(ChannelState.STARTING)
        await connection.run(sink)

    async def _lay_out_cursors(self, lay_out: Callable[[Mapping[int, str]], Mapping[int, str | None]]) -> None:
        """Commit the resume points that change before the connections run."""
        name, account, store = self._channel.name, self._channel.account, self._deps.store.of(self._account.spec.tenant)
        known = partial(chats.cursors_of, channel=name, account=account)
        if changes := lay_out(await store.read(known, lasting=True)):
            now, tenant = self._deps.clock(), store.home_tenant
            await store.commit(lambda c: chats.set_cursors(c, tenant, name, account, changes, now))


@asynccontextmanager
async def unwrapped_tasks() -> AsyncIterator[asyncio.TaskGroup]:
    """Run tasks side by side; raise the error that ended the first of them, without a group around it."""
    try:
        async with asyncio.TaskGroup() as tasks:
            yield tasks
    except BaseExceptionGroup as ended:
        raise ended.exceptions[0] from None
