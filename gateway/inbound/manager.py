"""The channel manager: loads each channel, keeps it running, gives it its way in, and lends it to those who send.

Channels start side by side, and one that fails holds up no other. What an event means is intake's matter, what is
sent when is delivery's.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import structlog

from channels.base import Channel, ChannelState, HasCommands, KnownChat, Reacts, Sign
from channels.errors import ChannelError, ConfigRefused
from channels.messages import DEFAULT_TENANT, Address, InboundEvent, Rejected
from channels.registry import ChannelNotInstalled
from gateway.delivery.calls import call
from gateway.delivery.pacing import Pacer
from gateway.failpoints import failpoint
from gateway.inbound.intake import Intake
from gateway.store import chats, inbox
from gateway.store.engine import Store
from gateway.supervision import until_ended
from gateway.telemetry import CHANNEL_HEARD_AT, CHANNEL_READY, FAULTS, series

log = structlog.get_logger()

RESTART_S = (1.0, 2.0, 5.0, 15.0, 60.0)
"""Waits before a channel that ended is started again; the last one repeats."""

SIGN_TIMEOUT_S = 10.0
SIGNS_AT_ONCE = 50

Menus = Mapping[str, Sequence[tuple[str, str]]]

Pause = Callable[[float], Awaitable[None]]
"""Wait so many seconds."""


@dataclass(frozen=True, slots=True)
class ChannelAccount:
    """One configured account, and how its adapter is made."""

    channel: str
    account: str
    make: Callable[[], Channel]  # may import an SDK: runs in a thread
    strict_pacing: bool = False
    tenant: str = DEFAULT_TENANT


@dataclass(slots=True)
class _Held:
    """One account as it stands."""

    spec: ChannelAccount
    ready: "asyncio.Future[Channel]"
    state: ChannelState = ChannelState.STARTING
    detail: str = ""
    reported: tuple[ChannelState, str] = (ChannelState.STARTING, "")  # by the channel itself
    missing: str = ""  # what was said and could not be read
    heard_at: datetime | None = None
    pacer: Pacer | None = None
    failures: int = field(default=0)

    def note(self, state: ChannelState, detail: str, now: datetime) -> None:
        """Keep how the channel says it is doing."""
        self.reported = (state, detail)
        if state is ChannelState.READY:
            self.heard_at = now
            self.failures = 0
            CHANNEL_HEARD_AT.labels(self.spec.channel, self.spec.account).set(now.timestamp())
        self._show()

    def note_missing(self, detail: str) -> None:
        """Keep what the channel could not read; it is shown instead of READY."""
        self.missing = detail
        self._show()

    def _show(self) -> None:
        """What health shows; a change is logged."""
        state, detail = self.reported
        if self.missing and state is ChannelState.READY:
            state, detail = ChannelState.DEGRADED, self.missing
        if (state, detail) != (self.state, self.detail):
            tell = {ChannelState.FAILED: log.error, ChannelState.DEGRADED: log.warning}.get(state, log.info)
            tell("channel_state", channel=self.spec.channel, account=self.spec.account, state=state, detail=detail)
            self.state, self.detail = state, detail
            CHANNEL_READY.labels(self.spec.channel, self.spec.account).set(state is ChannelState.READY)


class AccountSink:
    """What one adapter is given: the way in for its account."""

    def __init__(self, manager: "ChannelManager", held: _Held, channel: Channel) -> None:
        self._manager = manager
        self._held = held
        self._channel = channel

    async def receive(
        self, events: Sequence[InboundEvent], *, rejected: Sequence[Rejected] = (), cursor: str | None = None
    ) -> None:
        """Return once everything is committed."""
        failpoint("received")
        self.report(ChannelState.READY)
        await self._manager.receive(self._held.spec, self._channel, events, rejected, cursor)

    async def cursor(self) -> str | None:
        """The last committed resume point."""
        return await self._manager.cursor(self._held.spec)

    async def chats(self) -> Sequence[KnownChat]:
        """Where people who are let in talk to the bot."""
        return await self._manager.chats(self._held.spec)

    def report_missing(self, detail: str) -> None:
        """Tell health what could not be read."""
        self._held.note_missing(detail)

    def report(self, state: ChannelState, detail: str = "") -> None:
        """Tell health how this channel is doing."""
        self._manager.note(self._held, state, detail)


class ChannelManager:
    """Every channel account of the gateway."""

    def __init__(
        self,
        accounts: Sequence[ChannelAccount],
        store: Store,
        clock: Callable[[], datetime],
        tasks: asyncio.TaskGroup,
        menus: Menus,
        pause: Pause = asyncio.sleep,
    ) -> None:
        """Nothing is loaded before `run`; `tasks` is the parent of signs. `pause` is for tests."""
        self._pause = pause
        self._store = store
        self._clock = clock
        self._tasks = tasks
        self._menus = menus
        self._intake: Intake | None = None
        self._signs = asyncio.Semaphore(SIGNS_AT_ONCE)
        self._reacting: dict[tuple[Address, str], asyncio.Task[None]] = {}  # the newest sign under way, by message
        loop = asyncio.get_running_loop()
        self._held = {(one.channel, one.account): _Held(one, loop.create_future()) for one in accounts}

    async def run(self, intake: Intake) -> None:
        """Keep every channel running until cancelled; then no channel reads any more."""
        self._intake = intake
        async with asyncio.TaskGroup() as running:
            for held in self._held.values():
                running.create_task(self._keep(held))

    # ------------------------------------------------------------ hop 2: in

    async def receive(
        self,
        spec: ChannelAccount,
        channel: Channel,
        events: Sequence[InboundEvent],
        rejected: Sequence[Rejected],
        cursor: str | None,
    ) -> None:
        """Persist what a channel heard; return once that is committed."""
        if self._intake is None:
            raise RuntimeError("a channel hears before the manager runs")
        await self._intake.receive(channel, events, rejected, cursor, spec.tenant)
        failpoint("acked")

    async def cursor(self, spec: ChannelAccount) -> str | None:
        """The committed resume point of an account."""
        return await self._store.read(partial(inbox.cursor_of, channel=spec.channel, account=spec.account))

    async def chats(self, spec: ChannelAccount) -> Sequence[KnownChat]:
        """Where people who are let in talk to the bot of an account."""
        query = partial(chats.of_account, channel=spec.channel, account=spec.account)
        return await self._store.read(query, lasting=True)

    def note(self, held: _Held, state: ChannelState, detail: str) -> None:
        """Keep how a channel is doing."""
        held.note(state, detail, self._clock())

    # ------------------------------------------------------------ hop 8: out

    def configured(self, address: Address) -> bool:
        """Whether the account of an address is configured."""
        return (address.channel, address.account) in self._held

    async def loaded(self, address: Address) -> Channel:
        """The channel of an address, as soon as it is loaded."""
        return await asyncio.shield(self._held[address.channel, address.account].ready)

    def now_loaded(self, address: Address) -> Channel | None:
        """The channel of an address if it is loaded now."""
        held = self._held.get((address.channel, address.account))
        return held.ready.result() if held is not None and held.ready.done() else None

    def now_ready(self) -> list[Channel]:
        """Every channel that is loaded by now."""
        return [held.ready.result() for held in self._held.values() if held.ready.done()]

    @property
    def loading(self) -> bool:
        """Whether a channel is still being loaded."""
        return any(not held.ready.done() and held.state is not ChannelState.FAILED for held in self._held.values())

    def pacer(self, channel: Channel) -> Pacer:
        """The pacer of a channel account."""
        held = self._held[channel.name, channel.account]
        if held.pacer is None:
            held.pacer = Pacer(channel.limits, time.monotonic, strict=held.spec.strict_pacing)
        return held.pacer

    def hints(self, address: Address) -> str:
        """How text is formatted there, for the model."""
        ready = self._held[address.channel, address.account].ready
        return ready.result().limits.hints if ready.done() else ""

    def react(self, address: Address, message_id: str, sign: Sign | None) -> None:
        """Show a sign, or None of them, sooner or later, if the channel can and there is room."""
        ready = self._held[address.channel, address.account].ready
        channel: object = ready.result() if ready.done() else None
        if isinstance(channel, Reacts) and not self._signs.locked():
            where = (address, message_id)
            ask = partial(channel.react, address, message_id, sign)
            self._reacting[where] = reacting = self._tasks.create_task(
                self._react(ask, address.channel, self._reacting.get(where))
            )
            reacting.add_done_callback(partial(self._reacted, where))

    async def _react(
        self, ask: Callable[[], Awaitable[None]], channel: str, before: "asyncio.Task[None] | None"
    ) -> None:
        async with self._signs:
            if before is not None:  # the later sign is the one that stays
                await asyncio.wait([before])
            await self._sign(ask(), "sign_failed", channel)

    def _reacted(self, where: tuple[Address, str], task: "asyncio.Task[None]") -> None:
        if self._reacting.get(where) is task:
            del self._reacting[where]

    def states(self) -> Mapping[str, tuple[ChannelState, str, datetime | None]]:
        """How each account is doing, and when it was last really heard."""
        return {
            f"{channel}:{account}": (held.state, held.detail, held.heard_at)
            for (channel, account), held in self._held.items()
        }

    # ------------------------------------------------------------ supervision

    async def _keep(self, held: _Held) -> None:
        while await self._apart(held):
            await self._pause(RESTART_S[min(held.failures, len(RESTART_S)) - 1])

    async def aclose(self) -> None:
        """Close every channel; `run` has ended, and nothing is sent any more."""
        for held in self._held.values():
            if held.ready.done():
                await self._sign(held.ready.result().aclose(), "channel_not_closed", held.spec.channel)

    async def _load(self, held: _Held) -> Channel:
        """The adapter, made when it is first wanted."""
        if not held.ready.done():
            held.ready.set_result(await asyncio.to_thread(held.spec.make))
            self._tasks.create_task(self._set_commands(held.ready.result()))
        return held.ready.result()

    async def _apart(self, held: _Held) -> bool:
        """`_run_once` in a task of its own.

        CPython 3.11.2 leaves a cancellation behind in a task whose task group failed: it may not hit the next run.
        """
        goes_on: list[bool] = []

        async def run() -> None:
            goes_on.append(await self._run_once(held))

        await until_ended(self._tasks.create_task(run()))
        return goes_on[0] if goes_on else True

    async def _run_once(self, held: _Held) -> bool:
        """Load a channel and run it until it ends; whether it should be started again."""
        try:
            channel = await self._load(held)
            await channel.run(AccountSink(self, held, channel))
            reason = "it ended by itself"
        except (ConfigRefused, ChannelNotInstalled) as refused:
            self.note(held, ChannelState.FAILED, str(refused))
            return False
        except Exception as error:  # noqa: BLE001  one channel's run: recorded, shown in health, started again
            series(FAULTS, "channel").inc()
            log.exception("channel_broken", channel=held.spec.channel, account=held.spec.account)
            reason = f"{type(error).__name__}: {error}"
        held.failures += 1
        self.note(held, ChannelState.DEGRADED, f"{reason}; starting it again")
        return True

    async def _set_commands(self, channel: Channel) -> None:
        """Menus are signs: they may fail without harm."""
        if isinstance(channel, HasCommands):
            await self._sign(channel.set_commands(self._menus), "menu_not_set", channel.name)

    async def _sign(self, asked: Awaitable[None], failed: str, channel: str) -> None:
        """Make a call that may fail without harm."""
        try:
            await call(asked, SIGN_TIMEOUT_S)
        except ChannelError as failure:
            log.info(failed, channel=channel, error=str(failure))
