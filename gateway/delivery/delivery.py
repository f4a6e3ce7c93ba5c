"""Delivery: one lane per chat sends its outbox rows in order, part by part, until each is finished.

`lane_worker` sends a row, `retry_policy` decides what follows a failure, `pacing` when a call may go. A waiting lane
does not delay others.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

import structlog

from agent.errors import Fenced
from channels.base import OWN_VIEWS, Channel, Reaction
from channels.messages import Address
from gateway.delivery.button_closer import ButtonCloser
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.lane import ParkedLanes, SharedLaneState
from gateway.delivery.lane_worker import ChannelDirectory, LaneDeps, LaneReader, LaneWorker
from gateway.delivery.pacing import Pacer
from gateway.delivery.sender import PartSender, SendTimeContent
from gateway.delivery.views import StoredViews
from gateway.ownership import OUT, Ownership
from gateway.safety.vault import Vault
from gateway.store import outbox
from gateway.store.engine import Store
from gateway.store.leases import Lease
from gateway.store.outbox import OutboxPart, OutboxRow, PartsPut
from gateway.supervision import Supervised
from gateway.telemetry import OUTBOUND, series
from gateway.threads import run_in_thread

AT_ONCE_CHARS = 3_000
"""Shorter texts are processed in the event loop: 10 µs a character at worst, while a thread costs 100 µs (November
2026).
"""

DEADLINE_S = 60.0
"""Deadline for processing one long text; the longest answer takes less than one second."""

T = TypeVar("T")

log = structlog.get_logger()


class Delivery:
    """All lanes of a process, and the one place that retries sends."""

    def __init__(
        self,
        store: Store,
        channels: ChannelDirectory,
        config: DeliveryConfig,
        clock: Callable[[], datetime],
        content: SendTimeContent,
        tasks: Supervised,
        vault: Vault,
        ownership: Ownership | None = None,
    ) -> None:
        """Take the parent task group of the lanes, and the vault that opens reply tokens.

        `ownership` says for which accounts this process sends; by default all.
        """
        sender = PartSender(store, config, content, clock, vault)
        self.ownership = ownership or Ownership()
        reader = LaneReader(store)
        self.views = StoredViews(store, channels, sender, tasks)
        self._deps = LaneDeps(store, channels, config, clock, sender, tasks, self.ownership, reader)
        self._shared = SharedLaneState()
        self._looked: frozenset[Lease] = (
            self.ownership.last_leases_to_send() if not self.ownership.is_shared else frozenset()
        )
        self._unread: dict[str, Address] = {}  # lanes published during `recover`, which its read may have missed
        self._workers: dict[str, LaneWorker] = {}  # lanes with rows
        self._sending: dict[int, LaneWorker] = {}  # by row id; after a chat moved, its new lane may find such a row
        self._waiting: dict[str, asyncio.Future[str | None]] = {}  # by a part's key: waiters for its end
        self.long_texts = LongTexts()
        self.buttons = ButtonCloser(store, channels, clock, tasks)
        store.listen(PartsPut, lambda news: self.publish(news.rows))

    @property
    def parked(self) -> ParkedLanes:
        """Return the lanes of unreachable people; unpark them in the store first."""
        return self._shared.parked

    # ------------------------------------------------------------ what others call

    async def recover(self) -> None:
        """Read open rows and parked lanes from the store, on start and after new leases.

        Rows published for an account are sent only after this, behind the rows that wait already. Lanes of removed
        accounts are left alone.
        """
        held = self.ownership.last_leases_to_send()
        parked, open_lanes = await self._deps.store.read(
            lambda connection: (outbox.parked_lanes(connection), outbox.open_lanes(connection) if held else {}),
            lasting=True,
        )
        self.parked.replace(parked)
        self._forget_others()
        for address, (parts, newest_id) in open_lanes.items():
            worker = self._workers.get(address.lane)
            if self._deps.channels.is_configured(address) and (worker is None or not worker.knows(parts, newest_id)):
                self.reread(address)
        for worker in [worker for worker in self._workers.values() if not worker.queue.running]:
            self._drop_if_idle(worker)
        self._looked = held
        while self._unread:  # committed after that read, published before it ended
            self.reread(self._unread.popitem()[1])

    def _forget_others(self) -> None:
        """Drop rows that were read before the current lease: another process sent there meanwhile."""
        for worker in self._workers.values():
            if worker.queue.running and self._sends(Address.of_lane(worker.name)) is None:
                self._disclaim(worker.queue.head)
                worker.reread()

    def _disclaim(self, rows: Iterable[OutboxRow]) -> None:
        """Forget reservations: only the store knows if these rows were sent."""
        for row in rows:
            self._shared.claimed.pop(row.idem_key, None)

    def _sends(self, address: Address) -> Lease | None:
        """Return the lease to send there if `recover` has run under it; None if another process sends, or not yet."""
        lease = self.ownership.last_lease_to_send(address)
        return lease if lease in self._looked else None

    def publish(self, rows: Iterable[OutboxRow]) -> None:
        """Wake the lanes of committed rows; each lane reads its rows from the store, in order."""
        rows = [*rows]
        if own := [row for row in rows if row.part.address.channel in OWN_VIEWS]:
            self._show_stored(own)
            rows = [row for row in rows if row.part.address.channel not in OWN_VIEWS]
        for address in {row.part.address.lane: row.part.address for row in rows}.values():
            if self._sends(address) is None:
                self._leave(address)
            elif address.lane not in self.parked:
                self._worker(address.lane).reread()

    def _show_stored(self, rows: Sequence[OutboxRow]) -> None:
        """Show delivered rows here, and wake the other processes."""
        self.views.show(rows)
        for row in rows:
            series(OUTBOUND, row.part.address.channel, "sent").inc()
            self.ownership.tell(OUT, row.part.address.channel)
            self._note_end(row.idem_key, row.part.target)

    def _note_end(self, key: str, platform_id: str | None) -> None:
        if (waiting := self._waiting.get(key)) is not None and not waiting.done():
            waiting.set_result(platform_id)

    def _leave(self, address: Address) -> None:
        """Wake the process that sends there, or remember the lane until `recover` has run."""
        if self.ownership.is_shared and self.ownership.last_lease_to_send(address) is not None:
            self._unread[address.lane] = address
        self.ownership.tell(OUT, f"{address.channel}:{address.account}")

    def reserve(self, part: OutboxPart) -> bool:
        """Return True if this part, which the next commit adds, goes at once; the commit then records its attempt."""
        lane = part.address.lane
        if part.address.channel in OWN_VIEWS:
            return False
        worker = self._workers.get(lane)
        if self.ownership.is_shared and self._sends(Address.of_lane(lane)) is None:
            return False
        if lane in self.parked or (worker is not None and worker.queue.running):
            return False
        if lane in self._shared.claimed.values():
            return False
        self._shared.claimed[outbox.idem_key(part)] = lane
        return True

    def release(self, part: OutboxPart) -> None:
        """Undo a reservation whose commit failed."""
        self._shared.claimed.pop(outbox.idem_key(part), None)

    @contextmanager
    def expecting(self, part: OutboxPart) -> Iterator[asyncio.Future[str | None]]:
        """Yield a future for the end of a part about to be committed: its id on the platform, or None."""
        key = outbox.idem_key(part)
        self._waiting[key] = asyncio.get_running_loop().create_future()
        try:
            yield self._waiting[key]
        finally:
            del self._waiting[key]

    def now(self) -> datetime:
        return self._deps.clock()

    def works_before(self, deadline: datetime) -> bool:
        """Return True if anything may happen before this instant; a row that waits longer holds up its lane."""
        return any(worker.acts_before(deadline) for worker in self._workers.values())

    def is_sending(self, account: str) -> bool:
        """Return True while a part of this account ("telegram:main") is being sent, or is about to be."""
        lanes = {lane for lane, worker in self._workers.items() if not worker.free.is_set()}
        lanes.update(self._shared.claimed.values())
        return any(f"{where.channel}:{where.account}" == account for where in map(Address.of_lane, lanes))

    def reread(self, address: Address) -> None:
        """Read a lane's rows from the store, because some may never have been published."""
        if self.ownership.last_lease_to_send(address) is None:
            self._leave(address)
        else:
            self._worker(address.lane).reread()

    def park(self, lane: str) -> None:
        """Stop a lane that is parked in the store already."""
        self.parked.put([lane])

    def unpark(self, lane: str) -> None:
        """Resume a lane that is unparked in the store already."""
        self.parked.resume(lane, self._deps.clock())
        self.reread(Address.of_lane(lane))

    def move(self, old: Address, new_chat: str) -> None:
        """Move a lane to the chat's new id; the store has moved its rows already.

        The new lane reads the row being sent first, and waits until the old lane has finished it.
        """
        new = self._worker(replace(old, chat=new_chat).lane)
        self.parked.forget(old.lane)
        if (worker := self._workers.get(old.lane)) is not None:
            worker.note_move(new.name)
        new.reread()

    def show_refused(self, address: Address, message_id: str) -> None:
        """React to a message that was not accepted, if reactions are on."""
        if self._deps.config.reactions != "off":
            self._deps.channels.react(address, message_id, Reaction.REFUSED)

    def pacer(self, channel: Channel) -> Pacer:
        """Return the pacer of this account, which reactions and live edits use as well."""
        return self._deps.channels.pacer(channel)

    # ------------------------------------------------------------ the lanes

    def _worker(self, lane: str) -> LaneWorker:
        if lane not in self._workers:
            self._workers[lane] = LaneWorker(lane, self._deps, self._shared, self)
        return self._workers[lane]

    async def deliver(self, worker: LaneWorker, row: OutboxRow) -> None:
        """Send a row until it is finished, its lane is parked or moved, or another process sends there."""
        worker.lease = self._sends(row.part.address)  # `recover` has dropped rows from before this lease
        if worker.lease is None:
            self._release_lane(worker, row)
            return
        if (other := self._sending.get(row.id)) is not None:
            await other.free.wait()
            worker.queue.head.rewind()
            return
        self._sending[row.id] = worker
        worker.free.clear()
        try:
            self._note_end(row.idem_key, await worker.send(row))
        except Fenced as fenced:
            log.warning("lane_fenced", lane=worker.name, outbox_id=row.id, error=str(fenced))
            self._release_lane(worker, row)
        finally:
            del self._sending[row.id]
            new = worker.finish()
        if new is not None:
            self._worker(new).reread()
        self._drop_if_idle(worker)

    def _release_lane(self, worker: LaneWorker, row: OutboxRow) -> None:
        """Forget a lane's rows because another process sends there."""
        self._disclaim([row, *worker.queue.head.take(lambda _row: True)])
        self._drop_if_idle(worker)

    def _drop_if_idle(self, worker: LaneWorker) -> None:
        """Drop an idle lane, but not while its queue reads the store: another worker would read the same rows."""
        if worker.free.is_set() and not worker.queue.head:
            self._workers.pop(worker.name, None)


class LongTexts:
    """Runner of costly pure work on long texts, in one thread at a time for all sessions."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self.under_way = 0  # texts in the thread or waiting for it

    async def run(self, chars: int, work: Callable[[], T]) -> T:
        """Return the result of work on a text of this length. The thread goes on if the caller stops waiting.

        Raises:
            TimeoutError: the work did not end within the deadline.
        """
        if chars <= AT_ONCE_CHARS:
            return work()
        self.under_way += 1
        try:
            async with asyncio.timeout(DEADLINE_S), self._lock:
                return await run_in_thread(work)
        finally:
            self.under_way -= 1
