"""The state machine of a lane: events of one outbox row go in, the next step comes out. Pure.

`lane_worker` carries out the steps and reports the results; `retry_policy` decides about failures.

    on_row → LoadChannel → on_channel → [FindTarget → on_target →] AskPacer → on_paced → [Sleep → on_awake →]
    [MarkSending → on_marked →] Call → on_sent → RecordSent → on_recorded → Done
    MarkSending → on_ended → Done
                         Call → on_failed → SaveOutcome → on_saved → (once more | MoveChat → on_moved_away | Done)
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from channels.bounded_dict import BoundedDict
from channels.errors import ChannelError, Unknown
from channels.messages import Address
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.retry_policy import AttemptOutcome, decide
from gateway.store.outbox import OPEN, Action, OutboxPart, OutboxRow, PartState

FOREVER = datetime.max.replace(tzinfo=UTC)
"""Time for which a row may wait for a channel that does not load."""

RETRY_EVERY = timedelta(minutes=1)
"""Interval between tries of a parked lane: each may be refused, and platforms count refusals (Discord bans for an hour
at 10,000 in 10 minutes: discord.com/developers/docs/topics/rate-limits, read 2026-11).
"""

REMEMBERED = 10_000  # lanes whose last try is remembered; the oldest is forgotten first


# ---------------------------------------------------------------- steps


@dataclass(frozen=True, slots=True)
class AwaitLane:
    """Wait for the lane that is sending this row, whose chat moved here; then read the store again."""

    lane: str


@dataclass(frozen=True, slots=True)
class LoadChannel:
    """Wait for the channel of this address."""

    address: Address


@dataclass(frozen=True, slots=True)
class FindTarget:
    """Find the message that the part's earlier revisions left in the chat."""

    part: OutboxPart


@dataclass(frozen=True, slots=True)
class AskPacer:
    """Ask the pacer when the next call to this chat may go."""

    chat: str


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait until the row is due."""

    seconds: float


@dataclass(frozen=True, slots=True)
class MarkSending:
    """Persist the attempt that is about to be made, and its action."""

    row_id: int
    action: Action


@dataclass(frozen=True, slots=True)
class Call:
    """Make the call."""

    row: OutboxRow


@dataclass(frozen=True, slots=True)
class RecordSent:
    """Persist the receipt."""

    row: OutboxRow
    platform_id: str


@dataclass(frozen=True, slots=True)
class SaveOutcome:
    """Persist the decision after a failed attempt."""

    row: OutboxRow
    failure: ChannelError
    outcome: AttemptOutcome


@dataclass(frozen=True, slots=True)
class MoveChat:
    """Tell the chat's other lane that the chat moved; the store knows already."""

    old: Address
    new_chat: str


@dataclass(frozen=True, slots=True)
class Done:
    """End the work on a row: it is finished, or its lane is parked or moved."""

    row: OutboxRow
    platform_id: str | None  # None: not sent


Step = LoadChannel | FindTarget | AskPacer | Sleep | MarkSending | Call | RecordSent | SaveOutcome
"""Steps that a worker carries out by itself; the other three concern more than one lane."""

NextStep = Step | MoveChat | Done


# ---------------------------------------------------------------- state


class ParkedLanes:
    """Lanes of unreachable people, with the time of their last try."""

    def __init__(self) -> None:
        self._lanes: set[str] = set()
        self._tried_at: BoundedDict[str, datetime] = BoundedDict(REMEMBERED)

    def replace(self, lanes: Iterable[str]) -> None:
        """Replace all parked lanes by those of the store."""
        self._lanes = set(lanes)

    def put(self, lanes: Iterable[str]) -> None:
        """Park these lanes."""
        self._lanes.update(lanes)

    def __len__(self) -> int:
        return len(self._lanes)

    def __contains__(self, lane: str) -> bool:
        return lane in self._lanes

    def may_try(self, lane: str, now: datetime) -> bool:
        """Return True if a parked lane may be tried again; a clock that was set back does not delay it."""
        tried_at = self._tried_at.get(lane)
        return lane in self._lanes and (tried_at is None or not timedelta(0) <= now - tried_at < RETRY_EVERY)

    def resume(self, lane: str, now: datetime) -> None:
        """Resume a lane, to see if its person can be reached."""
        self._lanes.discard(lane)
        self._tried_at[lane] = now

    def forget(self, lane: str) -> None:
        """Forget a lane whose chat has another id now."""
        self._lanes.discard(lane)


@dataclass(frozen=True, slots=True)
class SharedLaneState:
    """State that outlives a lane object, which exists only while its lane has rows."""

    parked: ParkedLanes = field(default_factory=ParkedLanes)
    claimed: BoundedDict[str, str] = field(default_factory=lambda: BoundedDict(REMEMBERED))
    """By part key: lanes of parts whose commit records the first attempt, before it is made."""
    delivering: dict[int, str] = field(default_factory=dict)
    """By row id: lanes that are sending the row. After a chat moved, its new lane may find such a row."""


class LaneState:
    """State of one lane: its current row, the row's due time, and the lane its chat moved to."""

    __slots__ = (
        "_can_edit",
        "_claimed",
        "_config",
        "_idempotent",
        "_platform_id",
        "_shared",
        "_stored_action",
        "_targets",
        "moved_to",
        "name",
        "row",
        "wake_at",
    )

    def __init__(self, name: str, config: DeliveryConfig, shared: SharedLaneState) -> None:
        self.name = name
        self.row: OutboxRow | None = None  # the row being sent
        self.wake_at: datetime | None = None  # the row waits until then; None: it does not wait
        self.moved_to: str | None = None  # lane of the chat's new id, if it moved during the row
        self._config = config
        self._shared = shared
        self._targets: dict[tuple[str, int], str] = {}  # placeholders' messages, until their final edit
        self._platform_id: str | None = None
        self._claimed = False
        self._stored_action = Action.SEND
        self._idempotent = self._can_edit = False

    @property
    def is_parked(self) -> bool:
        return self.name in self._shared.parked

    @property
    def is_idle(self) -> bool:
        """Return True if this object has no state worth keeping."""
        return self.row is None and not self._targets

    def acts_before(self, deadline: datetime) -> bool:
        """Return True if something may happen to its row before this instant."""
        return self.row is not None and (self.wake_at or deadline) <= deadline

    # ------------------------------------------------------------ one row

    def on_row(self, row: OutboxRow) -> AwaitLane | NextStep:
        """Start with the oldest open row of the lane."""
        if (other := self._shared.delivering.get(row.id)) is not None:
            return AwaitLane(other)
        self._shared.delivering[row.id] = self.name
        self.row, self.wake_at, self._platform_id = row, FOREVER, None
        return LoadChannel(row.part.address)

    def on_channel(self, now: datetime, *, idempotent: bool, can_edit: bool) -> NextStep:
        """Continue with a loaded channel; `idempotent`: it recognises a repeated send by its key."""
        self.wake_at, self._idempotent, self._can_edit = None, idempotent, can_edit
        if self._row.state is PartState.SENDING and self._row.idem_key not in self._shared.claimed:
            return self.on_failed(Unknown("the process ended during the call"), now)
        return self._go_on()

    def _go_on(self) -> NextStep:
        row = self._row
        if row.state not in OPEN or self.is_parked or self.moved_to is not None:
            return Done(row, self._platform_id)
        if row.part.action not in (Action.EDIT, Action.DELETE) or row.part.target is not None:
            return self._aim(row.part)
        target = self._targets.get((row.part.source_id, row.part.number))
        return FindTarget(row.part) if target is None and self._can_edit else self.on_target(target)

    def on_target(self, target: str | None) -> NextStep:
        """Edit the message `target`; None: send the part as a new message, which may not be repeated without a mark."""
        part = self._row.part
        if not self._can_edit:
            target = None
        if target is None and part.action is Action.EDIT:
            return self._aim(replace(part, action=Action.SEND))
        return self._aim(replace(part, target=target))

    def _aim(self, part: OutboxPart) -> NextStep:
        reserved = self._shared.claimed.pop(self._row.idem_key, None) is not None
        self._claimed = reserved and self._row.state is PartState.SENDING
        self._stored_action = self._row.part.action
        if part is not self._row.part:
            self.row = replace(self._row, part=part)
        return AskPacer(part.address.chat)

    def on_paced(self, pace_s: float, now: datetime) -> NextStep:
        """Continue with the pacer's wait; the platform may have named a later time."""
        due_s = 0.0 if self._row.not_before is None else (self._row.not_before - now).total_seconds()
        wait_s = max(due_s, pace_s)
        if wait_s <= 0:
            return self.on_awake()
        wait_s = min(wait_s, self._config.longest_wait_s)  # also a wait stored by an earlier version
        self.wake_at = now + timedelta(seconds=wait_s)
        return Sleep(wait_s)

    def on_awake(self) -> NextStep:
        """Start the attempt, unless the row's own commit has recorded it already."""
        self.wake_at = None
        row = self._row
        if self._claimed and row.part.action is self._stored_action:
            return Call(row)
        return MarkSending(row.id, row.part.action)

    def on_marked(self) -> NextStep:
        """Continue after the attempt was persisted."""
        self.row = replace(self._row, attempts=self._row.attempts + 1)
        return Call(self.row)

    def on_ended(self) -> Done:
        """Finish: the row was finished in the store already, our copy was stale."""
        self.row = replace(self._row, state=PartState.SENT)
        return Done(self.row, None)

    def on_sent(self, platform_id: str) -> NextStep:
        """Continue after the platform accepted the call."""
        return RecordSent(self._row, platform_id)

    def on_recorded(self, platform_id: str) -> NextStep:
        """Continue after the receipt was persisted."""
        part = self._row.part
        if part.action is Action.PLACEHOLDER:
            self._targets[part.source_id, part.number] = platform_id
        self.row, self._platform_id = replace(self._row, state=PartState.SENT), platform_id
        return self._go_on()

    def on_failed(self, failure: ChannelError, now: datetime) -> NextStep:
        """Decide about a failed or unknown attempt."""
        outcome = decide(
            self._row,
            failure,
            now,
            self._config.give_up_after_s,
            idempotent=self._idempotent,
            longest_wait_s=self._config.longest_wait_s,
        )
        if outcome.park:
            self._shared.parked.put([self.name])
        return SaveOutcome(self._row, failure, outcome)

    def on_saved(self, outcome: AttemptOutcome) -> NextStep:
        """Continue after the decision was persisted."""
        if outcome.moved_to is not None:
            return MoveChat(self._row.part.address, outcome.moved_to)
        if outcome.drop_rest:
            self._targets = {key: id_ for key, id_ in self._targets.items() if key[0] != outcome.row.part.source_id}
        self.row = outcome.row
        return self._go_on()

    def on_moved_away(self) -> Done:
        """Finish in this lane; the chat's new lane has the row."""
        self.row = replace(self._row, state=PartState.DISCARDED)  # in memory only
        return Done(self.row, None)

    def on_finished(self) -> str | None:
        """Forget the row; return the lane of the chat's new id if it moved meanwhile."""
        row, new = self._row, self.moved_to
        del self._shared.delivering[row.id]
        if row.part.action is not Action.PLACEHOLDER:
            self._targets.pop((row.part.source_id, row.part.number), None)
        self.row = self.wake_at = self.moved_to = None
        return new

    def on_moved(self, new: str) -> None:
        """Record that the chat moved to another lane, which waits until the current row is finished."""
        self._targets.clear()  # the new lane finds them in the store
        if self.row is not None:
            self.moved_to = new

    @property
    def _row(self) -> OutboxRow:
        if self.row is None:
            raise RuntimeError(f"the lane {self.name} delivers nothing")
        return self.row
