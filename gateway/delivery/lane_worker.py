"""The worker of one lane: waits, stores and calls as `lane` decides, and reports the results to it."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import structlog

from channels.base import Channel, EditsMessages, Reaction
from channels.errors import ChannelError, Retryable
from channels.messages import Address
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.lane import (
    AskPacer,
    Call,
    FindTarget,
    LaneState,
    LoadChannel,
    MarkSending,
    NextStep,
    RecordSent,
    SaveOutcome,
    Sleep,
    Step,
)
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.delivery.pacing import Pacer
from gateway.delivery.retry_policy import AttemptOutcome
from gateway.delivery.sender import PartSender
from gateway.durable_queue import QueueHead, SerialWorker
from gateway.failpoints import failpoint
from gateway.ownership import Ownership
from gateway.store import chats, leases, outbox
from gateway.store.engine import Connection, Store
from gateway.store.leases import Lease
from gateway.store.outbox import OutboxPart, OutboxRow
from gateway.supervision import care_of
from gateway.telemetry import OUTBOUND, series
from gateway.texts import HARNESS

P = ParamSpec("P")
T = TypeVar("T")

log = structlog.get_logger()


class ChannelDirectory(Protocol):
    """Access to channels for lanes, sessions and commands."""

    def is_configured(self, address: Address) -> bool:
        """Return True if the account of an address is configured."""
        ...

    async def when_loaded(self, address: Address) -> Channel:
        """Return the channel of a configured address once it is loaded."""
        ...

    def now_loaded(self, address: Address) -> Channel | None:
        """Return the channel of an address if it is loaded."""
        ...

    def hints(self, address: Address) -> str:
        """Return the formatting hints of an address, for the model."""
        ...

    def react(self, address: Address, message_id: str, reaction: Reaction | None) -> None:
        """Show a reaction, or clear it with None, in the order of calls, if the channel can."""
        ...

    def pacer(self, channel: Channel) -> Pacer:
        """Return the pacer of a channel account."""
        ...


class LaneReader:
    """Reader of open rows, which answers simultaneous requests of lanes with one query."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._asked: dict[str, tuple[int, int]] = {}
        self._answers: dict[str, asyncio.Future[list[OutboxRow] | None]] = {}

    async def read(self, lane: str, after_id: int, limit: int) -> list[OutboxRow]:
        """Return the open rows of a lane after an id, in order."""
        found: list[OutboxRow] | None = None
        if lane not in self._asked:
            self._asked[lane] = after_id, limit
            answer = self._answers[lane] = asyncio.get_running_loop().create_future()
            if len(self._asked) == 1:
                await self._answer()
            found = await answer
        if found is not None:
            return found
        query = partial(outbox.open_parts, lane=lane, after_id=after_id, limit=limit)
        return await self._store.read(query, lasting=True)

    async def _answer(self) -> None:
        """Answer all requests of this round of the loop with one query; None tells a lane to query alone."""
        found: dict[str, list[OutboxRow]] = {}
        asked, answers = self._asked, self._answers
        try:
            await asyncio.sleep(0)
            self._asked, self._answers = {}, {}
            if len(asked) > 1:
                found = await self._store.read(partial(outbox.open_parts_of, asked=asked), lasting=True)
        finally:
            if self._asked is asked:  # cancelled
                self._asked, self._answers = {}, {}
            for lane, answer in answers.items():
                if not answer.done():
                    answer.set_result(found.get(lane))


@dataclass(frozen=True, slots=True)
class LaneDeps:
    """Dependencies that all lanes share."""

    store: Store
    channels: ChannelDirectory
    config: DeliveryConfig
    clock: Callable[[], datetime]
    sender: PartSender
    tasks: asyncio.TaskGroup  # parent of every lane
    ownership: Ownership
    reader: LaneReader


class Lanes(Protocol):
    """All lanes of a process, as a worker sees them."""

    async def deliver(self, worker: "LaneWorker", row: OutboxRow) -> None:
        """Deliver one row of a lane."""
        ...

    def publish(self, rows: Iterable[OutboxRow]) -> None:
        """Wake the lanes of committed rows."""
        ...


class LaneWorker:
    """Worker of one lane."""

    def __init__(self, lane: LaneState, deps: LaneDeps, lanes: Lanes) -> None:
        self.lane = lane
        self._lanes = lanes
        self.free = asyncio.Event()  # set while no row is being sent
        self.free.set()
        self._deps = deps
        self._channel: Channel | None = None
        self._address: Address | None = None
        self.lease: Lease | None = None  # entitles to send the current row
        head = QueueHead(deps.config.lane_size, self._load)
        self.queue = SerialWorker(
            head, partial(lanes.deliver, self), deps.tasks, care_of(deps.tasks, "lane", lane.name)
        )

    async def _commit(self, job: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Commit the result of an attempt, unless another process sends there by now."""
        lease = self.lease

        def run_held(connection: Connection) -> T:
            if lease is not None:
                leases.hold(connection, lease)
            return job(connection, *args, **kwargs)

        return await self._deps.store.commit(run_held)

    async def _load(self, after_id: int, limit: int) -> list[OutboxRow]:
        return await self._deps.reader.read(self.lane.name, after_id, limit)

    def knows(self, parts: int, newest_id: int) -> bool:
        """Return True if this number of open parts, up to this id, is in memory."""
        ids = [row.id for row in self.queue.head] + [row.id for row in (self.queue.handled,) if row is not None]
        return (len(ids), max(ids, default=0)) == (parts, newest_id)

    def reread(self) -> None:
        """Read again from the oldest open row, after the current one."""
        self.queue.head.rewind()
        self.queue.wake()

    def acts_before(self, deadline: datetime) -> bool:
        """Return True if anything may happen here before this instant."""
        return self.queue.between_rows or self.lane.acts_before(deadline)

    async def carry_out(self, step: Step) -> NextStep:
        """Carry out one step and return the next."""
        match step:
            case LoadChannel(address):
                self._address = address
                channel = await self._load_channel(address)
                idempotent, can_edit = channel.limits.idempotent_sends, isinstance(channel, EditsMessages)
                return self.lane.on_channel(self._deps.clock(), idempotent=idempotent, can_edit=can_edit)
            case FindTarget(part):
                return self.lane.on_target(
                    await self._deps.store.read(partial(outbox.standing_id, part=part), lasting=True)
                )
            case AskPacer(chat):
                return self.lane.on_paced(
                    self._deps.channels.pacer(self._loaded_channel).reserve(chat), self._deps.clock()
                )
            case Sleep(seconds):
                await asyncio.sleep(seconds)
                if self._address is not None:
                    await self._load_channel(self._address)  # a reload may have replaced it
                return self.lane.on_awake()
        return await self._attempt(step)

    async def _load_channel(self, address: Address) -> Channel:
        self._channel = channel = await self._deps.channels.when_loaded(address)
        return channel

    async def _attempt(self, step: MarkSending | Call | RecordSent | SaveOutcome) -> NextStep:
        match step:
            case MarkSending(row_id, action):
                failpoint("send_pre")
                if await self._commit(outbox.mark_sending, row_id, action):
                    return self.lane.on_marked()
                log.warning("part_had_ended", lane=self.lane.name, outbox_id=row_id)
                self.queue.head.rewind()  # the rows in memory are as stale
                return self.lane.on_ended()
            case Call(row):
                if self.lease is not None:  # a paused process must not send rows that another one took over
                    await self._deps.ownership.confirm(self.lease)
                try:
                    receipt = await self._deps.sender.attempt(row, self._loaded_channel)
                except ChannelError as failure:
                    return self.lane.on_failed(failure, self._deps.clock())
                return self.lane.on_sent(receipt.platform_id)
            case RecordSent(row, platform_id):
                await self._record_sent(row, platform_id)
                return self.lane.on_recorded(platform_id)
            case SaveOutcome(row, failure, outcome):
                await self._save_outcome(row, failure, outcome)
                return self.lane.on_saved(outcome)

    async def _record_sent(self, row: OutboxRow, platform_id: str) -> None:
        series(OUTBOUND, row.part.address.channel, "sent").inc()
        failpoint("sent_pre")
        now = self._deps.clock()
        await self._deps.store.commit(outbox.record_sent, row.id, platform_id, now)

    async def _save_outcome(self, row: OutboxRow, failure: ChannelError, outcome: AttemptOutcome) -> None:
        address, source_id = row.part.address, row.part.source_id
        series(OUTBOUND, address.channel, type(failure).__name__.lower()).inc()
        if isinstance(failure, Retryable) and failure.retry_after_s is not None:
            self._deps.channels.pacer(self._loaded_channel).slow_down(
                address.chat, min(failure.retry_after_s, self._deps.config.longest_wait_s)
            )
        _log(row, outcome)
        apology = _apology(self._loaded_channel, row.part) if outcome.drop_rest else []
        if outcome.drop_rest:
            self.queue.head.take(lambda other: other.part.source_id == source_id)
        said = await self._commit(_save_outcome, row, outcome, apology, self._deps.clock())
        self._lanes.publish(said)

    @property
    def _loaded_channel(self) -> Channel:
        if self._channel is None:
            raise RuntimeError(f"the lane {self.lane.name} has no channel yet")
        return self._channel


def _log(row: OutboxRow, outcome: AttemptOutcome) -> None:
    log.warning(
        "attempt_failed",
        outbox_id=row.id,
        cause=row.part.source_id,
        lane=row.part.address.lane,
        action=row.part.action,
        attempts=row.attempts,
        state=outcome.row.state,
        marked=outcome.row.maybe_duplicate,
        parked=outcome.park,
        error=outcome.error,
    )


def _apology(channel: Channel, part: OutboxPart) -> list[OutboxPart]:
    """Return the notice that a reply could not be delivered; none about a notice."""
    if part.source_id.startswith("dead:"):
        return []
    text = HARNESS.text(part.locale, "delivery.not_delivered")
    return to_parts(channel, OutboundMessage(part.address, f"dead:{part.source_id}", text, locale=part.locale))


def _save_outcome(
    connection: Connection, row: OutboxRow, outcome: AttemptOutcome, apology: Sequence[OutboxPart], now: datetime
) -> list[OutboxRow]:
    """Write an attempt's result in one commit; return the rows of the notice about it."""
    address = row.part.address
    outbox.save(connection, outcome.row, outcome.error, now)
    if outcome.moved_to is not None:
        chats.move_chat(connection, row.tenant, address, outcome.moved_to, now)
    if outcome.park:
        outbox.park(connection, row.tenant, address.lane, outcome.error, now)
    if outcome.drop_rest:
        outbox.dead_letter_rest(connection, row.part.source_id, row.id, outcome.error, now)
    return outbox.put(connection, row.tenant, apology, now)
