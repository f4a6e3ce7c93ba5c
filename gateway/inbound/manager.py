"""The channel manager: loads channels, runs and restarts them, and lends them to senders.

Channels start side by side; a failing one does not delay the others.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Protocol

import structlog

from channels.base import OWN_VIEWS, Channel, ChannelState, HasCommands, Menus, Reaction, Reacts
from channels.clocks import Sleep
from channels.errors import ChannelError, ConfigRefused
from channels.messages import DEFAULT_TENANT, Address
from channels.registry import ChannelNotInstalled
from gateway.delivery.pacing import Pacer
from gateway.delivery.sender import call_within
from gateway.inbound.connections import AccountReading, ChannelAccount, HeldAccount, ReadingDeps
from gateway.inbound.intake import HasIntake
from gateway.ownership import Ownership, in_name
from gateway.store.engine import Store
from gateway.supervision import until_ended
from gateway.telemetry import FAULTS, series
from gateway.threads import run_in_thread

log = structlog.get_logger()

RESTART_S = (1.0, 2.0, 5.0, 15.0, 60.0)
"""Waits before a channel that ended is started again, in seconds; the last one repeats."""

RETIRED_S = 30.0
"""Seconds before a replaced channel is closed, so that running calls can finish."""

JUST_BEGUN_S = 0.1
"""Seconds between an account's first health report and its first request for messages."""

OPTIONAL_TIMEOUT_S = 10.0
REACTIONS_AT_ONCE = 50


class AccountTenant(HasIntake, Protocol):
    """Tenant of an account."""

    @property
    def menus(self) -> Menus:
        """Return the agent's commands, by language."""
        ...

    @property
    def personas(self) -> Mapping[str, str]:
        """Return the agent's persona text for the model, by account ("telegram:main")."""
        ...


class ChannelManager:
    """All channel accounts of the gateway."""

    def __init__(
        self,
        accounts: Sequence[ChannelAccount],
        store: Store,
        clock: Callable[[], datetime],
        tasks: asyncio.TaskGroup,
        tenants: Mapping[str, AccountTenant],
        sleep: Sleep = asyncio.sleep,
        ownership: Ownership | None = None,
    ) -> None:
        """Take the parent task group of reactions, and the tenants, which a reload changes.

        `ownership` says which accounts this process receives for; by default all.
        """
        self._ownership = ownership or Ownership()
        self._sleep = sleep
        self._store = store
        self._tasks = tasks
        self._tenants = tenants
        self._reaction_slots = asyncio.Semaphore(REACTIONS_AT_ONCE)
        self._reacting: dict[tuple[Address, str], asyncio.Task[None]] = {}  # by message: its newest reaction
        loop = asyncio.get_running_loop()
        self._held = {(spec.channel, spec.account): HeldAccount(spec, clock, loop.create_future()) for spec in accounts}
        self._clock = clock
        self._running: asyncio.TaskGroup | None = None
        self._retired: list[Channel] = []  # not closed yet

    async def run(self) -> None:
        """Keep every channel running until cancelled; then no channel receives any more."""
        async with asyncio.TaskGroup() as running:
            self._running = running
            for held in self._held.values():
                held.reading = running.create_task(self._keep(held))
            await asyncio.Event().wait()  # a reload may add others

    async def until_begun(self, within_s: float) -> None:
        """Wait until every account has asked its platform for messages or failed, at most this long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                for held in [*self._held.values()]:
                    await held.begun.wait()
        if self._held:
            await self._sleep(JUST_BEGUN_S)  # what it does now is short

    async def reconfigure(self, accounts: Sequence[ChannelAccount]) -> None:
        """Run these accounts: start new ones, restart changed ones, stop removed ones.

        Messages on their way out through a replaced channel have `RETIRED_S` to arrive.
        """
        wanted = {(spec.channel, spec.account): spec for spec in accounts}
        for key, held in [*self._held.items()]:
            if key not in wanted or held.differs_from(wanted[key]):
                await self._retire(held)
        for key, spec in wanted.items():
            old = self._held.get(key)
            if old is None or old.retired:
                before = None if old is None or old.ready.done() else old.ready
                ready = before or asyncio.get_running_loop().create_future()  # waiters get the new channel
                self._start(key, HeldAccount(spec, self._clock, ready))

    def _start(self, key: tuple[str, str], held: HeldAccount) -> None:
        self._held[key] = held
        if self._running is not None:
            held.reading = self._running.create_task(self._keep(held))

    async def _retire(self, held: HeldAccount) -> None:
        if held.retired:
            return
        held.retired = True
        log.info("channel_retired", channel=held.spec.channel, account=held.spec.account)
        if held.reading is not None:
            held.reading.cancel()
            await asyncio.wait([held.reading])
        if held.ready.done():
            self._retired.append(held.ready.result())
            self._tasks.create_task(self._close_later(held, held.ready.result()))

    async def _close_later(self, held: HeldAccount, channel: Channel) -> None:
        await self._sleep(RETIRED_S)
        self._retired.remove(channel)
        held.ready = asyncio.get_running_loop().create_future()  # pending messages wait until the account is back
        await self._call_optional(channel.aclose(), "channel_not_closed", channel.name)

    # ------------------------------------------------------------ hop 8: out

    def is_configured(self, address: Address) -> bool:
        """Return True if the account of an address is configured, also after a reload."""
        held = self._held.get((address.channel, address.account))
        return held is not None and not held.retired

    async def when_loaded(self, address: Address) -> Channel:
        """Return the channel of an address once it is loaded."""
        ready = self._held[address.channel, address.account].ready
        return ready.result() if ready.done() else await asyncio.shield(ready)

    def now_loaded(self, address: Address) -> Channel | None:
        """Return the channel of an address if it is loaded."""
        held = self._held.get((address.channel, address.account))
        return held.ready.result() if held is not None and held.ready.done() else None

    def now_serving(self) -> list[Channel]:
        """Return every loaded channel that this process receives for."""
        return [held.ready.result() for held in self._held.values() if held.ready.done() and self._reads(held)]

    def list_accounts(self) -> list[ChannelAccount]:
        """Return every configured account."""
        return [held.spec for held in self._held.values() if not held.retired]

    def now_ready(self) -> list[Channel]:
        """Return every loaded channel."""
        return [held.ready.result() for held in self._held.values() if held.ready.done()]

    @property
    def loading(self) -> bool:
        """Return True if a channel is still being loaded, or another process has it."""
        return any(
            held.state is not ChannelState.FAILED and not (held.ready.done() and self._reads(held))
            for held in self._held.values()
        )

    def pacer(self, channel: Channel) -> Pacer:
        """Return the pacer of a channel account."""
        held = self._held[channel.name, channel.account]
        if held.pacer is None:
            held.pacer = Pacer(channel.limits, time.monotonic, strict=held.spec.strict_pacing)
        return held.pacer

    def hints(self, address: Address) -> str:
        """Return the persona and the formatting hints of an address, for the model."""
        held = self._held[address.channel, address.account]
        tenant = self._tenants.get(held.spec.tenant or DEFAULT_TENANT)
        persona = "" if tenant is None else tenant.personas.get(f"{address.channel}:{address.account}", "")
        return "\n\n".join(filter(None, (persona, held.ready.result().limits.hints if held.ready.done() else "")))

    def react(self, address: Address, message_id: str, reaction: Reaction | None) -> None:
        """Show a reaction, or clear it with None, if the channel can and a slot is free."""
        ready = self._held[address.channel, address.account].ready
        channel: object = ready.result() if ready.done() else None
        if isinstance(channel, Reacts) and not self._reaction_slots.locked():
            where = (address, message_id)
            ask = partial(channel.react, address, message_id, reaction)
            self._reacting[where] = reacting = self._tasks.create_task(
                self._react(ask, address.channel, self._reacting.get(where))
            )
            reacting.add_done_callback(partial(self._forget_reaction, where))

    async def _react(
        self, ask: Callable[[], Awaitable[None]], channel: str, before: "asyncio.Task[None] | None"
    ) -> None:
        async with self._reaction_slots:
            if before is not None:  # so that the later reaction stays
                await asyncio.wait([before])
            await self._call_optional(ask(), "reaction_failed", channel)

    def _forget_reaction(self, where: tuple[Address, str], task: "asyncio.Task[None]") -> None:
        if self._reacting.get(where) is task:
            del self._reacting[where]

    def states(self, tenant: str | None = None) -> Mapping[str, tuple[ChannelState, str, datetime | None]]:
        """Return each account's health and the time it was last READY, of one tenant or of all."""
        return {
            f"{channel}:{account}": (held.state, held.detail, held.heard_at)
            for (channel, account), held in self._held.items()
            if not held.retired and tenant in (None, held.spec.tenant)
        }

    def reports(self, tenant: str | None = None) -> Mapping[str, tuple[ChannelState, str]]:
        """Return the health that each account reports itself, without messages that could not be read."""
        return {
            f"{channel}:{account}": held.reported
            for (channel, account), held in self._held.items()
            if not held.retired and self._reads(held) and tenant in (None, held.spec.tenant)
        }

    # ------------------------------------------------------------ supervision

    async def _keep(self, held: HeldAccount) -> None:
        while await self._apart(held):
            await self._sleep(RESTART_S[min(held.failures, len(RESTART_S)) - 1])

    async def aclose(self) -> None:
        """Close every channel, after `run` has ended."""
        serving = [held.ready.result() for held in self._held.values() if held.ready.done() and not held.retired]
        for channel in (*serving, *self._retired):
            await self._call_optional(channel.aclose(), "channel_not_closed", channel.name)

    async def _load(self, held: HeldAccount) -> Channel:
        """Return the adapter, made on first use."""
        if not held.ready.done():
            held.ready.set_result(await run_in_thread(held.spec.make))
            self._tasks.create_task(self._set_commands(held.ready.result()))
        return held.ready.result()

    async def _apart(self, held: HeldAccount) -> bool:
        """Run `_run_once` in a task of its own.

        CPython 3.11.2 leaves a cancellation behind in a task whose task group failed; it must not hit the next run.
        """
        goes_on: list[bool] = []

        async def run() -> None:
            goes_on.append(await self._run_once(held))

        await until_ended(self._tasks.create_task(run()))
        return goes_on[0] if goes_on else True

    async def _run_once(self, held: HeldAccount) -> bool:
        """Load a channel and run it until it ends; return True if it should be restarted."""
        try:
            channel = await self._load(held)
            deps = ReadingDeps(self._store, self._tenants, self._ownership, self._tasks, self._clock)
            await AccountReading(deps, channel, held).run()
            reason = "it ended by itself"
        except (ConfigRefused, ChannelNotInstalled) as refused:
            held.note(ChannelState.FAILED, str(refused))
            return False
        except ChannelError as failure:
            reason = str(failure)
        except Exception as error:  # noqa: BLE001  one channel's run: recorded, shown in health, restarted
            series(FAULTS, "channel").inc()
            log.exception("channel_broken", channel=held.spec.channel, account=held.spec.account)
            reason = f"{type(error).__name__}: {error}"
        held.failures += 1
        held.note(ChannelState.DEGRADED, f"{reason}; starting it again")
        return True

    def _reads(self, held: HeldAccount) -> bool:
        """Return True if this process receives for an account."""
        if not self._ownership.is_shared:
            return True
        spec = held.spec
        return spec.everywhere or spec.channel in OWN_VIEWS or self._ownership.lease(in_name(spec.name)) is not None

    def renew_menus(self) -> None:
        """Set the command menus of all channels anew, in the background."""
        for channel in self.now_ready():
            self._tasks.create_task(self._set_commands(channel))

    async def _set_commands(self, channel: Channel) -> None:
        """Set the command menus; failing does no harm."""
        if isinstance(channel, HasCommands):
            tenant = self._held[channel.name, channel.account].spec.tenant or DEFAULT_TENANT
            await self._call_optional(channel.set_commands(self._tenants[tenant].menus), "menu_not_set", channel.name)

    async def _call_optional(self, asked: Awaitable[None], failed: str, channel: str) -> None:
        """Make a call that may fail without harm."""
        try:
            await call_within(OPTIONAL_TIMEOUT_S, asked)
        except ChannelError as failure:
            log.info(failed, channel=channel, error=str(failure))
