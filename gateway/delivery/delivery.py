"""Delivery: one lane a chat works off its outbox rows in order, part by part, until each has an end.

What happens to a row is decided by `lane`, what a failure leads to by `retry_policy`, when the next call may go by
`pacing`. A lane that waits holds up no other.
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
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.lane import AwaitLane, Done, LaneState, MoveChat, ParkedLanes, SharedLaneState
from gateway.delivery.lane_worker import ChannelDirectory, LaneDeps, LaneReader, LaneWorker
from gateway.delivery.pacing import Pacer
from gateway.delivery.sender import FillSecret, PartSender
from gateway.delivery.views import StoredViews
from gateway.ownership import OUT, Ownership
from gateway.safety.vault import Vault
from gateway.store import outbox
from gateway.store.engine import Store
from gateway.store.leases import Lease
from gateway.store.outbox import OutboxPart, OutboxRow
from gateway.telemetry import OUTBOUND, series
from gateway.threads import run_in_thread

AT_ONCE_CHARS = 3_000
"""Text up to this long is worked on where it is: 10 µs a character at worst, and a thread costs 100 (November 2026)."""

DEADLINE_S = 60.0
"""Nobody waits longer for a long text; the longest answer takes under one second of it."""

T = TypeVar("T")

log = structlog.get_logger()


class Delivery:
    """The lanes of every chat, and the one place that retries a send."""

    def __init__(
        self,
        store: Store,
        channels: ChannelDirectory,
        config: DeliveryConfig,
        clock: Callable[[], datetime],
        fill_secret: FillSecret,
        tasks: asyncio.TaskGroup,
        vault: Vault,
        ownership: Ownership | None = None,
    ) -> None:
        """`tasks` is the parent of every lane; `vault` opens the tokens of events' own ways.

        `ownership` says for which accounts this process sends, by default for all.
        """
        sender = PartSender(store, config, fill_secret, clock, vault)
        self.ownership = ownership or Ownership()
        reader = LaneReader(store)
        self.views = StoredViews(store, channels, sender, tasks)
        self._deps = LaneDeps(store, channels, config, clock, sender, tasks, self.ownership, reader)
        self._shared = SharedLaneState()
        self._looked: frozenset[Lease] = (
            self.ownership.last_leases_to_send() if not self.ownership.is_shared else frozenset()
        )
        self._unread: dict[str, Address] = {}  # lanes with rows that a look under way may not have found
        self._workers: dict[str, LaneWorker] = {}  # lanes with something to say, or to remember
        self._waiting: dict[str, asyncio.Future[str | None]] = {}  # by the key of a part, who waits for its end
        self.long_texts = LongTexts()

    @property
    def parked(self) -> ParkedLanes:
        """The lanes whose people cannot be reached; to be unparked in the store first."""
        return self._shared.parked

    # ------------------------------------------------------------ what others call

    async def recover(self) -> None:
        """Take up what the store has to say, of an earlier life or of other processes, and whose lanes are parked.

        Only then what is published for an account goes at once: what waits there already goes before it. Lanes of
        removed accounts are left alone.
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
        while self._unread:  # committed behind that look, and published before it was over
            self.reread(self._unread.popitem()[1])

    def _forget_others(self) -> None:
        """What lanes have at hand from before the lease that they have now: another process sent there meanwhile."""
        for worker in self._workers.values():
            if worker.queue.running and self._sends(Address.of_lane(worker.lane.name)) is None:
                self._disclaim(worker.queue.head)
                worker.reread()

    def _disclaim(self, rows: Iterable[OutboxRow]) -> None:
        """Whether they were sent, the store knows, and who is to find out goes by that."""
        for row in rows:
            self._shared.claimed.pop(row.idem_key, None)

    def _sends(self, address: Address) -> Lease | None:
        """What entitles to send there, where what waited there is known; None: another process does, or not yet."""
        lease = self.ownership.last_lease_to_send(address)
        return lease if lease in self._looked else None

    def publish(self, rows: Iterable[OutboxRow]) -> None:
        """Look at the lanes of rows that were committed: a hint, each lane reads its rows from the store, in order."""
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
        """Show delivered rows here, and let the other processes look."""
        self.views.show(rows)
        for row in rows:
            series(OUTBOUND, row.part.address.channel, "sent").inc()
            self.ownership.tell(OUT, row.part.address.channel)
            self._note_end(row.idem_key, row.part.target)

    def _note_end(self, key: str, platform_id: str | None) -> None:
        if (waiting := self._waiting.get(key)) is not None and not waiting.done():
            waiting.set_result(platform_id)

    def _leave(self, address: Address) -> None:
        """Another process sends there; or this one, as soon as it knows what waits there."""
        if self.ownership.is_shared and self.ownership.last_lease_to_send(address) is not None:
            self._unread[address.lane] = address
        self.ownership.tell(OUT, f"{address.channel}:{address.account}")

    def reserve(self, part: OutboxPart) -> bool:
        """Return whether this part, which the next commit adds, goes at once: then its attempt is recorded with it."""
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
        """Forget a reservation: the commit failed."""
        self._shared.claimed.pop(outbox.idem_key(part), None)

    @contextmanager
    def expecting(self, part: OutboxPart) -> Iterator[asyncio.Future[str | None]]:
        """Give a future for the end of a part that is about to be committed: the id it has on the platform, or None."""
        key = outbox.idem_key(part)
        self._waiting[key] = asyncio.get_running_loop().create_future()
        try:
            yield self._waiting[key]
        finally:
            del self._waiting[key]

    def now(self) -> datetime:
        """The time, as every row of the outbox is stamped."""
        return self._deps.clock()

    def works_before(self, deadline: datetime) -> bool:
        """Whether anything may happen before this instant; a row that was told to wait for longer holds its lane up."""
        return any(worker.acts_before(deadline) for worker in self._workers.values())

    def is_sending(self, account: str) -> bool:
        """Return True while a part is on its way out by this account ("telegram:main"), or about to be."""
        lanes = {lane for lane, worker in self._workers.items() if not worker.free.is_set()}
        lanes.update(self._shared.claimed.values())
        return any(f"{where.channel}:{where.account}" == account for where in map(Address.of_lane, lanes))

    def reread(self, address: Address) -> None:
        """Look into the store for what a lane has to say: it may hold rows that were never published."""
        if self.ownership.last_lease_to_send(address) is None:
            self._leave(address)
        else:
            self._worker(address.lane).reread()

    def park(self, lane: str) -> None:
        """Let a lane say nothing more; the store has it parked already."""
        self.parked.put([lane])

    def unpark(self, lane: str) -> None:
        """Let a lane go on; the store has it unparked already."""
        self.parked.resume(lane, self._deps.clock())
        self.reread(Address.of_lane(lane))

    def move(self, old: Address, new_chat: str) -> None:
        """A chat goes on under another id; the store has moved what waits, and what is being sent.

        The new lane comes to that row first, and waits for the end that it has in the old one.
        """
        new = self._worker(replace(old, chat=new_chat).lane)
        self.parked.forget(old.lane)
        if (worker := self._workers.get(old.lane)) is not None:
            worker.lane.on_moved(new.lane.name)
            worker.queue.head.rewind()  # what it still had in memory has moved
        new.reread()

    def show_refused(self, address: Address, message_id: str) -> None:
        """A message was not accepted: its person sees a sign of it, where there are any."""
        if self._deps.config.signs != "off":
            self._deps.channels.react(address, message_id, Reaction.REFUSED)

    def pacer(self, channel: Channel) -> Pacer:
        """When calls of this account may go; signs and live edits are to ask it too."""
        return self._deps.channels.pacer(channel)

    # ------------------------------------------------------------ the lanes

    def _worker(self, lane: str) -> LaneWorker:
        if lane not in self._workers:
            state = LaneState(lane, self._deps.config, self._shared)
            self._workers[lane] = LaneWorker(state, self._deps, self)
        return self._workers[lane]

    async def deliver(self, worker: LaneWorker, row: OutboxRow) -> None:
        """Work a row until it has an end, its lane is parked or has moved, or another process sends there."""
        worker.lease = self._sends(row.part.address)  # nothing is at hand from before that: see `recover`
        if worker.lease is None:
            self._let_lane_go(worker, row)
            return
        step = worker.lane.on_row(row)
        if isinstance(step, AwaitLane):
            await self._workers[step.lane].free.wait()
            worker.queue.head.rewind()
            return
        worker.free.clear()
        try:
            while not isinstance(step, Done):
                if isinstance(step, MoveChat):
                    self.move(step.old, step.new_chat)
                    step = worker.lane.on_moved_away()
                else:
                    step = await worker.carry_out(step)
            self._note_end(step.row.idem_key, step.platform_id)
        except Fenced as fenced:
            log.warning("lane_fenced", lane=worker.lane.name, outbox_id=row.id, error=str(fenced))
            self._let_lane_go(worker, row)
        finally:
            new = worker.lane.on_let_go()
            worker.free.set()
        if new is not None:
            self._worker(new).reread()
        self._drop_if_idle(worker)

    def _let_lane_go(self, worker: LaneWorker, row: OutboxRow) -> None:
        """Another process sends there: what is in memory is the store's."""
        self._disclaim([row, *worker.queue.head.take(lambda _row: True)])
        self._drop_if_idle(worker)

    def _drop_if_idle(self, worker: LaneWorker) -> None:
        """Not while its queue reads the store: another worker would read the same rows."""
        if worker.lane.is_idle and not worker.queue.head:
            self._workers.pop(worker.lane.name, None)


class LongTexts:
    """Costly pure work beside the event loop: one thread at a time for the long texts of everybody, in turn."""

    def __init__(self) -> None:
        """Nothing is worked on."""
        self._turn = asyncio.Lock()
        self.under_way = 0  # texts that are worked on, or wait for it

    async def run(self, chars: int, work: Callable[[], T]) -> T:
        """What the work on a text of so many characters comes to. It goes on when nobody waits for it any more.

        Raises:
            TimeoutError: it did not come to an end within the deadline.
        """
        if chars <= AT_ONCE_CHARS:
            return work()
        self.under_way += 1
        try:
            async with asyncio.timeout(DEADLINE_S), self._turn:
                return await run_in_thread(work)
        finally:
            self.under_way -= 1
