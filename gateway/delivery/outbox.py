"""Delivery: one lane a chat works off its outbox rows in order, part by part, until each has an end.

What an attempt's failure means is `verdict`'s matter, when the next call may go is `pacing`'s. A lane that waits
holds up no other.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

import structlog

from channels.base import Channel
from channels.errors import ChannelError, Retryable, Unknown
from channels.messages import Address
from gateway.delivery.aside import Aside
from gateway.delivery.compose import Said, compose
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.ends import Ends
from gateway.delivery.pacing import Pacer
from gateway.delivery.parked import Parked
from gateway.delivery.sender import FillSecret, Sender
from gateway.delivery.under_way import FOREVER, UnderWay
from gateway.delivery.verdict import Verdict, judge
from gateway.durable_queue import QueueHead, SerialWorker
from gateway.failpoints import failpoint
from gateway.store import attempts, moves, outbox
from gateway.store.engine import Connection, Store
from gateway.store.outbox import Action, NewPart, OutboxRow, State
from gateway.supervision import care_of
from gateway.telemetry import OUTBOUND, series

log = structlog.get_logger()


class Channels(Protocol):
    """How a lane finds the channel of an address."""

    def is_configured(self, address: Address) -> bool:
        """Whether the account of an address is configured."""
        ...

    async def when_loaded(self, address: Address) -> Channel:
        """The channel of a configured address, as soon as it is loaded."""
        ...

    def pacer(self, channel: Channel) -> Pacer:
        """The pacer of a channel account."""
        ...


class Delivery:
    """The lanes of every chat, and the one place that retries a send."""

    def __init__(
        self,
        store: Store,
        channels: Channels,
        config: DeliveryConfig,
        clock: Callable[[], datetime],
        fill_secret: FillSecret,
        tasks: asyncio.TaskGroup,
    ) -> None:
        """`tasks` is the parent of every lane."""
        self._store = store
        self._channels = channels
        self._config = config
        self._clock = clock
        self._sender = Sender(store, config, fill_secret, clock)
        self._tasks = tasks
        self._lanes: dict[str, SerialWorker[OutboxRow]] = {}
        self.parked = Parked()  # lanes whose people cannot be reached; to be unparked in the store first
        self._under_way = UnderWay()
        self._reserved: set[str] = set()  # idle lanes for which a commit with a first part is on its way
        self._claimed: set[int] = set()  # rows whose first attempt was persisted by the commit that made them
        self._ends = Ends()
        self.aside = Aside()

    # ------------------------------------------------------------ what others call

    async def recover(self) -> None:
        """Wake the lanes that have something to say from an earlier life; those of removed accounts are left alone."""
        self.parked.put(await self._store.read(attempts.parked, lasting=True))
        for address in await self._store.read(outbox.open_lanes, lasting=True):
            if self._channels.is_configured(address):
                self.reread(address)

    def publish(self, rows: Iterable[OutboxRow]) -> None:
        """Take rows that were just committed; called by the writer's post-commit hook, in row order."""
        for row in rows:
            if row.state is State.SENDING:
                self._claimed.add(row.id)
            self._reserved.discard(row.address.lane)
            if row.address.lane not in self.parked:
                self._lane(row.address.lane).offer(row)

    def reserve(self, lane: str) -> bool:
        """Whether the first row of the next commit will go at once: then its attempt is persisted with it."""
        held = self._lanes.get(lane)
        if lane in self.parked or lane in self._reserved or (held is not None and held.running):
            return False
        self._reserved.add(lane)
        return True

    def release(self, lane: str) -> None:
        """Give a reserved place back: the commit did not come."""
        self._reserved.discard(lane)

    async def sent(self, row: OutboxRow) -> str | None:
        """Wait until a published row has its end: the platform's id, None where it was not sent."""
        return await self._ends.of(row)

    def now(self) -> datetime:
        """The time, as every row of the outbox is stamped."""
        return self._clock()

    def works_before(self, deadline: datetime) -> bool:
        """Whether anything may happen before this instant; a row that was told to wait for longer holds its lane up."""
        # From one row to the next; one that broke and rests moves nothing.
        between = (lane.running and not (lane.working or lane.resting) for lane in self._lanes.values())
        return self._under_way.any_before(deadline) or any(between)

    def reread(self, address: Address) -> None:
        """Look into the store for what a lane has to say: it may hold rows that were never published."""
        self._from_the_store(address.lane)

    def park(self, lane: str) -> None:
        """Let a lane say nothing more; the store has it parked already."""
        self.parked.put([lane])

    def unpark(self, lane: str) -> None:
        """Let a lane go on; the store has it unparked already."""
        self.parked.tried(lane, self._clock())
        self._from_the_store(lane)

    def moved(self, old: Address, new_chat: str) -> None:
        """A chat goes on under another id; the store has moved what waits, and what is being sent.

        The new lane comes to that row first, and waits for the end that it has in the old one.
        """
        new, held = replace(old, chat=new_chat), self._lanes.get(old.lane)
        self.parked.gone(old.lane)
        self._under_way.moved(old.lane, new)
        if held is not None:
            held.head.rewind()  # what it still had in memory has moved
        self.reread(new)

    def pacer(self, channel: Channel) -> Pacer:
        """When calls of this account may go; signs and live edits are to ask it too."""
        return self._channels.pacer(channel)

    # ------------------------------------------------------------ one lane

    def _lane(self, lane: str) -> SerialWorker[OutboxRow]:
        if lane not in self._lanes:
            window = QueueHead(self._config.lane_size, partial(_open_parts, self._store, lane))
            self._lanes[lane] = SerialWorker(window, self._deliver, self._tasks, care_of(self._tasks, "lane", lane))
        return self._lanes[lane]

    def _from_the_store(self, lane: str) -> None:
        """Begin with the oldest open row; the one that is being worked on has its end before that."""
        self._lane(lane).head.rewind()
        self._lane(lane).wake()

    async def _deliver(self, row: OutboxRow) -> None:
        """Work a row until it has an end, or its lane is parked or has moved."""
        if await self._under_way.elsewhere(row):
            self._lane(row.address.lane).head.rewind()
            return
        with self._under_way.working(row):
            await self._work_on(row)
        if (new := self._under_way.left(row.address.lane)) is not None:
            self.reread(new)

    async def _work_on(self, row: OutboxRow) -> None:
        platform_id, lane = None, row.address.lane
        channel = await self._under_way.waited(row, FOREVER, self._channels.when_loaded(row.address))
        if row.state is State.SENDING and row.id not in self._claimed:
            row = await self._failed(row, channel, Unknown("the process ended during the call"))
        while row.state in outbox.OPEN and lane not in self.parked and not self._under_way.has_moved(lane):
            row = await self._begin(row, channel)
            try:
                receipt = await self._sender.attempt(row, channel)
            except ChannelError as failure:
                row = await self._failed(row, channel, failure)
                continue
            platform_id = receipt.platform_id
            row = await self._record(row, platform_id)
        self._forget(row, platform_id)

    async def _begin(self, row: OutboxRow, channel: Channel) -> OutboxRow:
        """Persist that the row is being sent, and as what; its commit may have done so already."""
        aimed = await self._sender.aimed(row, channel)
        claimed = row.id in self._claimed
        self._claimed.discard(row.id)
        await self._wait_for_turn(row, channel)
        if claimed and aimed.action is row.action:
            return aimed
        failpoint("send_pre")
        await self._store.write(partial(attempts.mark_sending, id_=row.id, action=aimed.action))
        return replace(aimed, attempts=row.attempts + 1)

    async def _wait_for_turn(self, row: OutboxRow, channel: Channel) -> None:
        due_s = 0.0 if row.not_before is None else (row.not_before - self._clock()).total_seconds()
        wait_s = max(due_s, self.pacer(channel).reserve(row.address.chat))
        if wait_s > 0:
            wait_s = min(wait_s, self._config.longest_wait_s)  # whatever an earlier life of this row was told
            until = self._clock() + timedelta(seconds=wait_s)
            await self._under_way.waited(row, until, asyncio.sleep(wait_s))

    async def _record(self, row: OutboxRow, platform_id: str) -> OutboxRow:
        series(OUTBOUND, row.address.channel, "sent").inc()
        failpoint("sent_pre")
        await self._store.write(partial(attempts.record_sent, id_=row.id, platform_id=platform_id, now=self._clock()))
        failpoint("placeholder_post" if row.action is Action.PLACEHOLDER else "sent_post")
        if row.action is Action.PLACEHOLDER:
            self._sender.placeholder_is(row, platform_id)
        return replace(row, state=State.SENT)

    async def _failed(self, row: OutboxRow, channel: Channel, failure: ChannelError) -> OutboxRow:
        series(OUTBOUND, row.address.channel, type(failure).__name__.lower()).inc()
        if isinstance(failure, Retryable) and failure.retry_after_s is not None:
            wait_s = min(failure.retry_after_s, self._config.longest_wait_s)
            self.pacer(channel).refused(row.address.chat, wait_s)
        verdict = judge(
            row, failure, self._clock(), self._config.give_up_after_s,
            idempotent=channel.limits.idempotent_sends, longest_wait_s=self._config.longest_wait_s,
        )  # fmt: skip
        return await self._apply(row, channel, verdict)

    async def _apply(self, row: OutboxRow, channel: Channel, verdict: Verdict) -> OutboxRow:
        _log(row, verdict)
        apology = _apology(channel, row) if verdict.drop_rest else []
        if verdict.park:
            self.parked.put([row.address.lane])
        if verdict.drop_rest:
            self._lane(row.address.lane).head.take(lambda other: other.cause == row.cause)
        commit = partial(_commit, row=row, verdict=verdict, apology=apology, now=self._clock())
        await self._store.write(commit, self.publish)
        if verdict.moved_to is None:
            return verdict.row
        self.moved(row.address, verdict.moved_to)
        return replace(verdict.row, state=State.DISCARDED)  # here; the store has it in its new lane

    def _forget(self, row: OutboxRow, platform_id: str | None) -> None:
        self._sender.forget(row)
        self._ends.told(row, platform_id)
        held = self._lanes.get(row.address.lane)
        if held is not None and not held.head and row.address.lane not in self.parked:
            del self._lanes[row.address.lane]


async def _open_parts(store: Store, lane: str, after_id: int, limit: int) -> list[OutboxRow]:
    return await store.read(partial(outbox.open_parts, lane=lane, after_id=after_id, limit=limit), lasting=True)


def _log(row: OutboxRow, verdict: Verdict) -> None:
    log.warning(
        "attempt_failed", outbox_id=row.id, lane=row.address.lane, action=row.action, attempts=row.attempts,
        state=verdict.row.state, marked=verdict.row.marked, parked=verdict.park, error=verdict.error,
    )  # fmt: skip


def _apology(channel: Channel, row: OutboxRow) -> list[NewPart]:
    """Said once about a reply that could not be delivered; about an apology nothing is said."""
    if row.cause.startswith("dead:"):
        return []
    text = "⚠️ A part of my answer could not be delivered. Ask me again and I will try anew."
    return compose(channel, Said(row.address, f"dead:{row.cause}", text))


def _commit(
    connection: Connection, row: OutboxRow, verdict: Verdict, apology: Sequence[NewPart], now: datetime
) -> list[OutboxRow]:
    """What an attempt leaves behind, in one commit; what is to be said about it."""
    attempts.save(connection, verdict.row, verdict.error, now)
    if verdict.moved_to is not None:
        moves.move_chat(connection, row.tenant, row.address, verdict.moved_to, now)
    if verdict.park:
        attempts.park(connection, row.tenant, row.address.lane, verdict.error, now)
    if verdict.drop_rest:
        attempts.dead_letter_rest(connection, row.cause, row.id, verdict.error, now)
    return outbox.put(connection, row.tenant, apology, now)
