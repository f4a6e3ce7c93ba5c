"""A lane decides what happens next to the outbox row it delivers: events go in, one step comes out. Pure.

`lane_worker` carries the steps out and tells the lane how they went; what a failure leads to is `retry_policy`'s
decision. Nothing here waits, stores or sends.

    on_row → LoadChannel → on_channel → [FindTarget → on_target →] TakeTurn → on_turn → [Sleep → on_awake →]
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
"""How long a row may wait for a channel that does not load."""

RETRY_EVERY = timedelta(minutes=1)
"""Between two tries of a parked lane: each may be refused, and platforms count refusals (Discord bans for an hour at
10,000 in 10 minutes: discord.com/developers/docs/topics/rate-limits, read 2026-11)."""

REMEMBERED = 10_000  # lanes whose last try is known; the oldest is forgotten first


# ---------------------------------------------------------------- steps


@dataclass(frozen=True, slots=True)
class AwaitLane:
    """The row is being delivered by another lane, whose chat moved here: wait for its end, then read the store anew."""

    lane: str


@dataclass(frozen=True, slots=True)
class LoadChannel:
    """Wait for the channel of this address."""

    address: Address


@dataclass(frozen=True, slots=True)
class FindTarget:
    """Ask the store which message the part's earlier revisions left standing."""

    part: OutboxPart


@dataclass(frozen=True, slots=True)
class TakeTurn:
    """Ask the pacer when the next call to this chat may go."""

    chat: str


@dataclass(frozen=True, slots=True)
class Sleep:
    """It is not time yet."""

    seconds: float


@dataclass(frozen=True, slots=True)
class MarkSending:
    """Persist the attempt that is about to be made, and as what."""

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
    """Persist what the failure of an attempt at this row leads to."""

    row: OutboxRow
    failure: ChannelError
    outcome: AttemptOutcome


@dataclass(frozen=True, slots=True)
class MoveChat:
    """The chat goes on under another id, which the store knows already: tell its other lane."""

    old: Address
    new_chat: str


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing more happens to the row here: it has its end, or its lane is parked or has moved."""

    row: OutboxRow
    platform_id: str | None  # None: it was not sent


Step = LoadChannel | FindTarget | TakeTurn | Sleep | MarkSending | Call | RecordSent | SaveOutcome
"""What a worker carries out by itself; the other three concern more than one lane."""

NextStep = Step | MoveChat | Done


# ---------------------------------------------------------------- state


class ParkedLanes:
    """The lanes whose people cannot be reached, and when one may be tried again."""

    def __init__(self) -> None:
        self._lanes: set[str] = set()
        self._tried_at: BoundedDict[str, datetime] = BoundedDict(REMEMBERED)

    def replace(self, lanes: Iterable[str]) -> None:
        """These and no others say nothing more: so the store has it."""
        self._lanes = set(lanes)

    def put(self, lanes: Iterable[str]) -> None:
        """These say nothing more."""
        self._lanes.update(lanes)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._lanes)

    def __contains__(self, lane: str) -> bool:
        """Whether a lane is parked."""
        return lane in self._lanes

    def may_try(self, lane: str, now: datetime) -> bool:
        """Whether a parked lane may be tried again; a clock that was set back does not hold it."""
        tried_at = self._tried_at.get(lane)
        return lane in self._lanes and (tried_at is None or not timedelta(0) <= now - tried_at < RETRY_EVERY)

    def resume(self, lane: str, now: datetime) -> None:
        """A lane goes on, to see whether it can be written to."""
        self._lanes.discard(lane)
        self._tried_at[lane] = now

    def forget(self, lane: str) -> None:
        """The lane's chat goes on under another id."""
        self._lanes.discard(lane)


@dataclass(frozen=True, slots=True)
class SharedLaneState:
    """What outlives a lane, which is there only while it has something to say."""

    parked: ParkedLanes = field(default_factory=ParkedLanes)
    claimed: BoundedDict[str, str] = field(default_factory=lambda: BoundedDict(REMEMBERED))
    """Lanes by the key of the part whose first attempt is recorded by the commit that adds it; not attempted yet."""
    delivering: dict[int, str] = field(default_factory=dict)
    """Rows at work and their lanes: who moves may come to one that its old lane is in the middle of."""


class LaneState:
    """One lane: what it delivers, when that goes on, and where its chat went meanwhile."""

    __slots__ = (
        "_can_edit", "_claimed", "_config", "_idempotent", "_platform_id", "_shared",
        "_stored_action", "_targets", "moved_to", "name", "row", "wake_at",
    )  # fmt: skip

    def __init__(self, name: str, config: DeliveryConfig, shared: SharedLaneState) -> None:
        self.name = name
        self.row: OutboxRow | None = None  # what is being delivered, as it stands
        self.wake_at: datetime | None = None  # nothing happens to that row before; None: something does
        self.moved_to: str | None = None  # the lane where its chat went while the row was being delivered
        self._config = config
        self._shared = shared
        self._targets: dict[tuple[str, int], str] = {}  # what placeholders became whose final edit is to come
        self._platform_id: str | None = None
        self._claimed = False
        self._stored_action = Action.SEND
        self._idempotent = self._can_edit = False

    @property
    def is_parked(self) -> bool:
        """Whether its person cannot be reached."""
        return self.name in self._shared.parked

    @property
    def is_idle(self) -> bool:
        """Whether nothing would be lost with this object."""
        return self.row is None and not self._targets

    def acts_before(self, deadline: datetime) -> bool:
        """Whether something may happen to its row before this instant."""
        return self.row is not None and (self.wake_at or deadline) <= deadline

    # ------------------------------------------------------------ one row

    def on_row(self, row: OutboxRow) -> AwaitLane | NextStep:
        """The oldest open row of the lane."""
        if (other := self._shared.delivering.get(row.id)) is not None:
            return AwaitLane(other)
        self._shared.delivering[row.id] = self.name
        self.row, self.wake_at, self._platform_id = row, FOREVER, None
        return LoadChannel(row.part.address)

    def on_channel(self, now: datetime, *, idempotent: bool, can_edit: bool) -> NextStep:
        """The channel is there; `idempotent`: it knows a repeated send by its key."""
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
        """The message to edit. Where there is none the part is a send, and no longer repeatable."""
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
        return TakeTurn(part.address.chat)

    def on_turn(self, pace_s: float, now: datetime) -> NextStep:
        """The pacer lets the call go in so many seconds; the platform may have named a later time."""
        due_s = 0.0 if self._row.not_before is None else (self._row.not_before - now).total_seconds()
        wait_s = max(due_s, pace_s)
        if wait_s <= 0:
            return self.on_awake()
        wait_s = min(wait_s, self._config.longest_wait_s)  # whatever an earlier life of this row was told
        self.wake_at = now + timedelta(seconds=wait_s)
        return Sleep(wait_s)

    def on_awake(self) -> NextStep:
        """It is time; the row's own commit may have persisted this attempt already."""
        self.wake_at = None
        row = self._row
        if self._claimed and row.part.action is self._stored_action:
            return Call(row)
        return MarkSending(row.id, row.part.action)

    def on_marked(self) -> NextStep:
        """The attempt is persisted."""
        self.row = replace(self._row, attempts=self._row.attempts + 1)
        return Call(self.row)

    def on_ended(self) -> Done:
        """The store has its end already: what is at hand was read before that."""
        self.row = replace(self._row, state=PartState.SENT)
        return Done(self.row, None)

    def on_sent(self, platform_id: str) -> NextStep:
        """The platform took it."""
        return RecordSent(self._row, platform_id)

    def on_recorded(self, platform_id: str) -> NextStep:
        """The receipt is persisted."""
        part = self._row.part
        if part.action is Action.PLACEHOLDER:
            self._targets[part.source_id, part.number] = platform_id
        self.row, self._platform_id = replace(self._row, state=PartState.SENT), platform_id
        return self._go_on()

    def on_failed(self, failure: ChannelError, now: datetime) -> NextStep:
        """The attempt failed, or nobody knows."""
        outcome = decide(
            self._row, failure, now, self._config.give_up_after_s,
            idempotent=self._idempotent, longest_wait_s=self._config.longest_wait_s,
        )  # fmt: skip
        if outcome.park:
            self._shared.parked.put([self.name])
        return SaveOutcome(self._row, failure, outcome)

    def on_saved(self, outcome: AttemptOutcome) -> NextStep:
        """What follows is persisted."""
        if outcome.moved_to is not None:
            return MoveChat(self._row.part.address, outcome.moved_to)
        if outcome.drop_rest:
            self._targets = {key: id_ for key, id_ in self._targets.items() if key[0] != outcome.row.part.source_id}
        self.row = outcome.row
        return self._go_on()

    def on_moved_away(self) -> Done:
        """Its new lane knows of the row."""
        self.row = replace(self._row, state=PartState.DISCARDED)  # here; the store has it in its new lane
        return Done(self.row, None)

    def on_let_go(self) -> str | None:
        """The delivery is over, or broke: the lane that goes on with the chat, if it moved meanwhile."""
        row, new = self._row, self.moved_to
        del self._shared.delivering[row.id]
        if row.part.action is not Action.PLACEHOLDER:
            self._targets.pop((row.part.source_id, row.part.number), None)
        self.row = self.wake_at = self.moved_to = None
        return new

    def on_moved(self, new: str) -> None:
        """The chat goes on in another lane, which waits for the end of what this one is in the middle of."""
        self._targets.clear()  # the store knows them too, and the new lane asks it
        if self.row is not None:
            self.moved_to = new

    @property
    def _row(self) -> OutboxRow:
        if self.row is None:
            raise RuntimeError(f"the lane {self.name} delivers nothing")
        return self.row
