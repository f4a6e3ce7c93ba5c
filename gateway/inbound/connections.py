"""Channel accounts, their health, and the run of their connections, each with its own sink.

In a cluster the process that holds an account's lease runs all its connections.
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
from gateway.inbound.intake import ChannelSink, HasIntake
from gateway.ownership import EVERYTHING, Ownership, in_name
from gateway.store import chats
from gateway.store.engine import Store
from gateway.store.leases import Lease
from gateway.supervision import run_until
from gateway.telemetry import CHANNEL_HEARD_AT, CHANNEL_READY

log = structlog.get_logger()

BY_SEVERITY = (ChannelState.READY, ChannelState.STARTING, ChannelState.DEGRADED, ChannelState.FAILED)
DETAILS_SHOWN = 3  # of unhealthy connections


@dataclass(frozen=True, slots=True)
class ChannelAccount:
    """Configuration of one channel account, and the factory of its adapter."""

    channel: str
    account: str
    make: Callable[[], Channel]  # may import an SDK, so it runs in a thread
    strict_pacing: bool = False
    tenant: str | None = DEFAULT_TENANT  # None: each message names its own by its API key
    config: object = None  # as the operator wrote it; a change restarts the account
    everywhere: bool = False  # every process of a cluster receives for it, because the platform posts to any of them

    @property
    def name(self) -> str:
        """Return the account's name in logs, leases and reports: "telegram:main"."""
        return f"{self.channel}:{self.account}"


@dataclass(slots=True)
class HeldAccount:
    """State of one channel account."""

    spec: ChannelAccount
    clock: Callable[[], datetime]
    ready: "asyncio.Future[Channel]"
    state: ChannelState = ChannelState.STARTING
    detail: str = ""
    reports: dict[int, tuple[ChannelState, str]] = field(default_factory=lambda: {0: (ChannelState.STARTING, "")})
    missing: dict[int, str] = field(default_factory=dict)  # unreadable messages, by connection
    heard_at: datetime | None = None
    pacer: Pacer | None = None
    failures: int = field(default=0)
    begun: asyncio.Event = field(default_factory=asyncio.Event)  # it has asked its platform for messages, or failed
    reading: "asyncio.Task[None] | None" = None  # None: not started
    retired: bool = False  # it receives nothing more; pending messages are still sent

    def differs_from(self, spec: ChannelAccount) -> bool:
        """Return True if the account has to be restarted to match this configuration, or has given up."""
        gave_up = self.reading is not None and self.reading.done()
        return gave_up or (spec.config, spec.strict_pacing) != (self.spec.config, self.spec.strict_pacing)

    @property
    def reported(self) -> tuple[ChannelState, str]:
        """Return the health of the worst connection."""
        if not self.reports:
            return ChannelState.READY, "another process reads for it"
        worst = max((state for state, _ in self.reports.values()), key=BY_SEVERITY.index)
        told = [detail for state, detail in self.reports.values() if state is worst and detail]
        return worst, "; ".join(told[:DETAILS_SHOWN])

    def note(self, state: ChannelState, detail: str, number: int = 0) -> None:
        """Record the health that one connection reports."""
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
        """Record messages that a connection could not read; health shows them instead of READY."""
        self.missing[number] = detail
        self._show()

    def _show(self) -> None:
        """Update the shown health, and log a change."""
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
    """Dependencies of a run; `tasks` is the parent of tasks that run under a lease."""

    store: Store
    tenants: Mapping[str, HasIntake]
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
        """Run the connections until one ends; in a cluster, while this process holds the lease."""
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
        """Run whenever this process holds the lease, until the run ends by itself."""
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
        """Commit changed resume points before the connections start."""
        name, account, store = self._channel.name, self._channel.account, self._deps.store.of(self._account.spec.tenant)
        known = partial(chats.cursors_of, channel=name, account=account)
        if changes := lay_out(await store.read(known, lasting=True)):
            now, tenant = self._deps.clock(), store.home_tenant
            await store.commit(lambda c: chats.set_cursors(c, tenant, name, account, changes, now))


@asynccontextmanager
async def unwrapped_tasks() -> AsyncIterator[asyncio.TaskGroup]:
    """Run tasks side by side; raise the first error without an exception group."""
    try:
        async with asyncio.TaskGroup() as tasks:
            yield tasks
    except BaseExceptionGroup as ended:
        raise ended.exceptions[0] from None
