"""An account's connections to its platform: which of them this process reads by, and what each is given.

Most accounts have one. Where several processes share the work, a connection is read by whoever holds its lease.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol

from channels.base import Channel, ChannelState, LayOut, RunConnection
from gateway.cluster.ownership import EVERYTHING, Ownership, hook_name, in_name
from gateway.inbound.intake import AccountHealth, ChannelSink, Intake
from gateway.store import chats, leases
from gateway.store.engine import Store
from gateway.supervision import run_until


class ReadAccount(AccountHealth, Protocol):
    """An account as far as reading for it goes."""

    connections: int  # how many there are, in all processes together

    @property
    def tenant(self) -> str | None:
        """Whose it is; None: each message says it."""
        ...

    @property
    def is_hooked(self) -> bool:
        """Whether it is read for by webhook, at every ingress."""
        ...

    @property
    def runs_everywhere(self) -> bool:
        """Whether its channel runs at every ingress, and shares out itself what one process alone does."""
        ...

    def stand_by(self, number: int) -> None:
        """Another process reads by this connection, or will."""
        ...


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

    def __init__(self, deps: ReadingDeps, channel: Channel, account: ReadAccount) -> None:
        self.deps = deps
        self.channel = channel
        self.account = account

    async def run(self) -> None:
        """Run the channel until it ends; where several processes could, only for as long as it is this one's."""
        ownership = self.deps.ownership
        if not ownership.is_shared or (ownership.reads and self.account.runs_everywhere):
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
            await run(number, sink)
            return
        channel, account = self.channel.name, self.channel.account
        name = hook_name(channel, account) if self.account.is_hooked else in_name(channel, account, number)
        while True:
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
        super().__init__(deps.store, deps.intake, reading.channel, account, account.tenant, number)
        self._reading = reading

    async def share(self, count: int, run: RunConnection) -> None:
        """Run each of so many connections for as long as it is this process's."""
        await self._reading.share(count, run)

    async def lay_out(self, plan: LayOut) -> None:
        """Change resume points of the account's connections in one commit; none where `plan` changes none."""
        name, account, tenant = self._channel.name, self._channel.account, self._store.home_tenant
        now = self._reading.deps.clock()
        if plan(await self._store.read(lambda connection: chats.cursors_of(connection, name, account))):
            await self._store.write(lambda c: chats.lay_out_cursors(c, tenant, name, account, plan, now))

    async def take_turn(self, name: str, every_s: float) -> float:
        """0.0 where it is our turn among several processes; else how long to wait."""
        if self.lease is EVERYTHING:
            return 0.0
        of_account = f"turn {self._channel.name}:{self._channel.account} {name}"
        return await self._store.write(partial(leases.take_turn, name=of_account, every_s=every_s))
