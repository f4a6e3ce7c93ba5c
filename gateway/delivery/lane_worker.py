"""The worker of one lane: sends its rows in order, each until it is finished."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import structlog

from channels.base import Channel, EditsMessages, Reaction
from channels.errors import ChannelError, Retryable, Unknown
from channels.messages import Address, Receipt
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.lane import SharedLaneState, due_in_s
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.delivery.pacing import Pacer
from gateway.delivery.retry_policy import AttemptOutcome, decide
from gateway.delivery.sender import PartSender
from gateway.durable_queue import QueueHead, SerialWorker
from gateway.failpoints import failpoint
from gateway.ownership import Ownership
from gateway.store import chats, leases, outbox
from gateway.store.causes import Undelivered
from gateway.store.engine import Connection, Store
from gateway.store.leases import Lease
from gateway.store.outbox import OPEN, Action, OutboxPart, OutboxRow, PartState
from gateway.supervision import Supervised
from gateway.telemetry import OUTBOUND, series
from gateway.texts import HARNESS

P = ParamSpec("P")
T = TypeVar("T")

log = structlog.get_logger()

FOREVER = datetime.max.replace(tzinfo=UTC)
"""Time for which a row may wait for a channel that does not load."""


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
    tasks: Supervised  # parent of every lane
    ownership: Ownership
    reader: LaneReader


class Lanes(Protocol):
    """All lanes of a process, as a worker sees them."""

    async def deliver(self, worker: "LaneWorker", row: OutboxRow) -> None:
        """Deliver one row of a lane."""
        ...

    def move(self, old: Address, new_chat: str) -> None:
        """Move a lane to the chat's new id; the store has moved its rows already."""
        ...


class LaneWorker:
    """Worker of one lane."""

    def __init__(self, name: str, deps: LaneDeps, shared: SharedLaneState, lanes: Lanes) -> None:
        self.name = name
        self.free = asyncio.Event()  # set while no row is being sent
        self.free.set()
        self.lease: Lease | None = None  # entitles to send the current row
        self.moved_to: str | None = None  # lane of the chat's new id, if it moved during the row
        self._wake_at: datetime | None = None  # the row waits until then; None: it does not wait
        self._deps = deps
        self._shared = shared
        self._lanes = lanes
        head = QueueHead(deps.config.lane_size, self._load)
        self.queue = SerialWorker(head, partial(lanes.deliver, self), deps.tasks, "lane", name)

    async def _load(self, after_id: int, limit: int) -> list[OutboxRow]:
        return await self._deps.reader.read(self.name, after_id, limit)

    def knows(self, parts: int, newest_id: int) -> bool:
        """Return True if this number of open parts, up to this id, is in memory."""
        ids = [row.id for row in self.queue.head] + [row.id for row in (self.queue.handled,) if row is not None]
        return (len(ids), max(ids, default=0)) == (parts, newest_id)

    def reread(self) -> None:
        """Read again from the oldest open row, after the current one."""
        self.queue.head.rewind()
        self.queue.wake()

    def note_move(self, new: str) -> None:
        """Record that the chat and its rows moved to another lane, which waits until the current row is finished."""
        if not self.free.is_set():
            self.moved_to = new
        self.queue.head.rewind()

    def finish(self) -> str | None:
        """Forget the current row; return the lane of the chat's new id if it moved meanwhile."""
        new, self.moved_to, self._wake_at = self.moved_to, None, None
        self.free.set()
        return new

    def acts_before(self, deadline: datetime) -> bool:
        """Return True if anything may happen here before this instant."""
        return self.queue.between_rows or (not self.free.is_set() and (self._wake_at or deadline) <= deadline)

    # ------------------------------------------------------------ one row

    async def send(self, row: OutboxRow) -> str | None:
        """Send a row until it is finished, or its lane is parked or moved; return the platform's id if it was sent."""
        self._wake_at = FOREVER
        channel = await self._deps.channels.when_loaded(row.part.address)
        self._wake_at = None
        if row.state is PartState.SENDING and row.idem_key not in self._shared.claimed:
            row = await self._save_failure(row, channel, Unknown("the process ended during the call"))
        while row.state in OPEN and self.name not in self._shared.parked and self.moved_to is None:
            part = await self._with_target(row.part, channel)
            channel = await self._wait(row, channel)
            marked = await self._mark(row, part)
            if marked is None:
                return None
            try:
                receipt = await self._call(marked, channel)
            except ChannelError as failure:
                row = await self._save_failure(marked, channel, failure)
            else:
                await self._record_sent(marked, receipt)
                return receipt.platform_id
        return None

    async def _with_target(self, part: OutboxPart, channel: Channel) -> OutboxPart:
        """Return an edit or deletion with the message that earlier revisions left; an edit without one is a send."""
        if part.action not in (Action.EDIT, Action.DELETE) or part.target is not None:
            return part
        target = None
        if isinstance(channel, EditsMessages):
            target = await self._deps.store.read(partial(outbox.standing_id, part=part), lasting=True)
        if target is None and part.action is Action.EDIT:
            return replace(part, action=Action.SEND)
        return replace(part, target=target)

    async def _wait(self, row: OutboxRow, channel: Channel) -> Channel:
        """Wait until the row is due; return its channel, which a reload may have replaced meanwhile."""
        pace_s, now = self._deps.channels.pacer(channel).reserve(row.part.address.chat), self._deps.clock()
        wait_s = due_in_s(row, pace_s, now, self._deps.config.longest_wait_s)
        if wait_s > 0:
            self._wake_at = now + timedelta(seconds=wait_s)
            await asyncio.sleep(wait_s)
            channel = await self._deps.channels.when_loaded(row.part.address)
            self._wake_at = None
        return channel

    async def _mark(self, row: OutboxRow, part: OutboxPart) -> OutboxRow | None:
        """Persist the attempt that is about to be made, unless the row's own commit did; None: the row is finished."""
        is_reserved = self._shared.claimed.pop(row.idem_key, None) is not None
        if is_reserved and row.state is PartState.SENDING and part.action is row.part.action:
            return replace(row, part=part)
        failpoint("send_pre")
        if await self._commit(outbox.mark_sending, row.id, part.action):
            return replace(row, part=part, attempts=row.attempts + 1)
        log.warning("part_had_ended", lane=self.name, outbox_id=row.id)
        self.queue.head.rewind()  # the rows in memory are as stale
        return None

    async def _call(self, row: OutboxRow, channel: Channel) -> Receipt:
        if self.lease is not None:  # a paused process must not send rows that another one took over
            await self._deps.ownership.confirm(self.lease)
        return await self._deps.sender.attempt(row, channel)

    async def _record_sent(self, row: OutboxRow, receipt: Receipt) -> None:
        series(OUTBOUND, row.part.address.channel, "sent").inc()
        failpoint("sent_pre")
        await self._deps.store.commit(outbox.record_sent, row.id, receipt.platform_id, self._deps.clock())

    async def _save_failure(self, row: OutboxRow, channel: Channel, failure: ChannelError) -> OutboxRow:
        """Persist what follows a failed or unknown attempt; return the row with it."""
        address, config, now = row.part.address, self._deps.config, self._deps.clock()
        outcome = decide(
            row,
            failure,
            now,
            config.give_up_after_s,
            idempotent=channel.limits.idempotent_sends,
            longest_wait_s=config.longest_wait_s,
        )
        series(OUTBOUND, address.channel, type(failure).__name__.lower()).inc()
        _log(row, outcome)
        if outcome.park:
            self._shared.parked.put([self.name])
        if isinstance(failure, Retryable) and failure.retry_after_s is not None:
            pause_s = min(failure.retry_after_s, config.longest_wait_s)
            self._deps.channels.pacer(channel).slow_down(address.chat, pause_s)
        apology = _apology(channel, row.part) if outcome.drop_rest else []
        await self._commit(_save_outcome, row, outcome, apology, now)
        if outcome.moved_to is not None:
            self._lanes.move(address, outcome.moved_to)
        return outcome.row

    async def _commit(self, job: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Commit the result of an attempt, unless another process sends there by now."""
        lease = self.lease

        def run_held(connection: Connection) -> T:
            if lease is not None:
                leases.hold(connection, lease)
            return job(connection, *args, **kwargs)

        return await self._deps.store.commit(run_held)


def _log(row: OutboxRow, outcome: AttemptOutcome) -> None:
    log.warning(
        "attempt_failed",
        outbox_id=row.id,
        cause=str(row.part.cause),
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
    if isinstance(part.cause, Undelivered):
        return []
    text = HARNESS.text(part.locale, "delivery.not_delivered")
    return to_parts(channel, OutboundMessage(part.address, Undelivered(str(part.cause)), text, locale=part.locale))


def _save_outcome(
    connection: Connection, row: OutboxRow, outcome: AttemptOutcome, apology: Sequence[OutboxPart], now: datetime
) -> None:
    """Write an attempt's result and the notice about it in one commit."""
    address = row.part.address
    outbox.save(connection, outcome.row, outcome.error, now)
    if outcome.moved_to is not None:
        chats.move_chat(connection, row.tenant, address, outcome.moved_to, now)
    if outcome.park:
        outbox.park(connection, row.tenant, address.lane, outcome.error, now)
    if outcome.drop_rest:
        outbox.dead_letter_rest(connection, row.part.cause, row.id, outcome.error, now)
    outbox.put(connection, row.tenant, apology, now)
