"""A lane alone: parts stay in order and none is lost, whatever fails, dies or moves between two steps."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from channels.errors import ChannelError, Permanent, PermanentKind, Retryable, Unknown
from channels.messages import Address, Rendered
from gateway.delivery.config import DeliveryConfig
from gateway.delivery.lane import (
    AskPacer,
    AwaitLane,
    Call,
    Done,
    FindTarget,
    LaneState,
    LoadChannel,
    MarkSending,
    MoveChat,
    NextStep,
    RecordSent,
    SaveOutcome,
    SharedLaneState,
    Sleep,
)
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.store.outbox import OPEN, Action, OutboxPart, OutboxRow, PartState, idem_key
from tests.fakes.amounts import share
from tests.fakes.chat import FakeChannel

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
MARK = "↻"


@dataclass(frozen=True)
class Fate:
    failure: Callable[[], ChannelError] | None = None
    happens: bool = True


FINE = Fate()


class World:
    def __init__(self) -> None:
        self.rows: dict[int, OutboxRow] = {}
        self.platform_ids: dict[int, str] = {}
        self.parked: set[str] = set()
        self.messages: dict[str, tuple[str, str]] = {}  # by id: chat and text
        self.moved_chats: dict[str, str] = {}
        self.numbers = count(1)  # of messages

    def put(self, parts: list[OutboxPart], *, first_claimed: bool) -> list[OutboxRow]:
        """Commit parts."""
        made = []
        for index, part in enumerate(parts):
            state = PartState.SENDING if first_claimed and index == 0 else PartState.READY
            id_ = len(self.rows) + 1
            self.rows[id_] = OutboxRow(id_, "default", part, idem_key(part), state, created_at=NOON)
            made.append(self.rows[id_])
        return made

    def oldest_open(self, lane: str) -> OutboxRow | None:
        rows = (row for row in self.rows.values() if row.state in OPEN and row.part.address.lane == lane)
        return next(rows, None)

    def save(self, step: SaveOutcome) -> None:
        row, stored = step.outcome.row, self.rows[step.row.id]
        part = replace(row.part, target=None, address=stored.part.address)
        self.rows[row.id] = replace(row, part=part, attempts=stored.attempts)
        if step.outcome.moved_to is not None:
            self.move(row.part.address, step.outcome.moved_to)
        if step.outcome.park:
            self.parked.add(row.part.address.lane)
        if step.outcome.drop_rest:
            for other in self.rows.values():
                if other.part.source_id == row.part.source_id and other.id > row.id and other.state in OPEN:
                    self.rows[other.id] = replace(other, state=PartState.DEAD)

    def move(self, old: Address, new_chat: str) -> None:
        for row in self.rows.values():
            if row.state in OPEN and row.part.address.lane == old.lane:
                part = replace(row.part, address=replace(old, chat=new_chat))
                self.rows[row.id] = replace(row, part=part)
        self.parked.discard(old.lane)

    def find_target(self, part: OutboxPart) -> str | None:
        for row in self.rows.values():
            is_earlier = row.part.revision < part.revision and row.id in self.platform_ids
            if (row.part.source_id, row.part.number) == (part.source_id, part.number) and is_earlier:
                return self.platform_ids[row.id]
        return None

    def call(self, row: OutboxRow, fate: Fate) -> str | ChannelError:
        part = row.part
        if (new_chat := self.moved_chats.get(part.address.chat)) is not None:
            return Permanent("moved", PermanentKind.MOVED, moved_to=new_chat)
        is_edit = part.action is Action.EDIT and part.target is not None
        id_ = part.target if is_edit and part.target is not None else f"m{next(self.numbers)}"
        if fate.happens:
            self.messages[id_] = (part.address.chat, part.plain + (MARK if row.maybe_duplicate else ""))
        if fate.failure is None:
            return id_
        failure = fate.failure()
        if isinstance(failure, Permanent) and failure.kind is PermanentKind.TARGET_GONE:
            self.messages.pop(id_, None)  # as the platform says
        return failure


CHATS = st.sampled_from(["c1", "c2"])


FATES = st.sampled_from(
    [
        FINE,
        FINE,
        FINE,
        Fate(lambda: Retryable("busy", retry_after_s=0.0), happens=False),
        Fate(lambda: Unknown("cut before"), happens=False),
        Fate(lambda: Unknown("cut behind")),
        Fate(lambda: Permanent("no"), happens=False),
        Fate(lambda: Permanent("what is this", PermanentKind.MALFORMED), happens=False),
        Fate(lambda: Permanent("it is gone", PermanentKind.TARGET_GONE), happens=False),
        Fate(lambda: Permanent("blocked", PermanentKind.BLOCKED), happens=False),
    ]
)


class LaneMachine(RuleBasedStateMachine):
    """Replies to two chats, each rule one step of one lane; a process that dies between any two of them."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.channel = FakeChannel()
        self.now = NOON
        self.now_at = {"c1": "c1", "c2": "c2"}  # a chat's id by now
        self.heard_at = dict(self.now_at)  # and as far as the gateway has heard
        self.replies = 0
        self.moves = 0
        self.words: list[tuple[str, str]] = []  # chat and first word of each part, in order
        self.begin()

    def begin(self) -> None:
        self.shared = SharedLaneState()
        self.shared.parked.put(self.world.parked)
        self.lanes: dict[str, LaneState] = {}
        self.steps: dict[str, NextStep] = {}
        self.answers: dict[str, str | ChannelError] = {}  # of calls that were made and are not noted yet

    def lane(self, name: str) -> LaneState:
        if name not in self.lanes:
            self.lanes[name] = LaneState(name, DeliveryConfig(), self.shared)
        return self.lanes[name]

    def address(self, chat: str) -> Address:
        return Address("sim", "main", self.heard_at[chat])

    # ------------------------------------------------------------ what happens

    @rule(chat=CHATS, parts=st.integers(1, 3), claimed=st.booleans())
    def reply(self, chat: str, parts: int, claimed: bool) -> None:
        self.replies += 1
        words = [f"r{self.replies}p{number}." for number in range(parts)]
        text = "\n\n".join(f"{word} " + "x" * 90 for word in words)
        address = self.address(chat)
        composed = to_parts(self.channel, OutboundMessage(address, f"t{self.replies}", text))
        self.words += [(chat, word) for word in words]
        lane = self.lane(address.lane)
        rests = address.lane not in self.steps and self.world.oldest_open(address.lane) is None
        first_claimed = claimed and rests and not lane.is_parked
        if first_claimed:
            self.shared.claimed[idem_key(composed[0])] = lane.name
        self.world.put(composed, first_claimed=first_claimed)

    @rule(chat=CHATS, fate=FATES, steps=st.integers(1, 12))
    def go_on(self, chat: str, fate: Fate, steps: int) -> None:
        for _ in range(steps):
            for name in [name for name in self.lane_names() if name.split(":")[2].partition(".")[0] == chat]:
                self.step(name, fate)

    def lane_names(self) -> list[str]:
        return list(dict.fromkeys([*self.steps, *(row.part.address.lane for row in self.world.rows.values())]))

    def step(self, name: str, fate: Fate) -> bool:
        lane = self.lane(name)
        self.now += timedelta(milliseconds=1)
        if name not in self.steps:
            row = None if lane.is_parked else self.world.oldest_open(name)
            step = None if row is None else lane.on_row(row)
            if step is None or isinstance(step, AwaitLane):
                return False
            self.steps[name] = step
            return True
        step = self.steps[name]
        following = self.carry_out(lane, step, fate)
        if isinstance(step, LoadChannel | SaveOutcome) and isinstance(following, FindTarget | AskPacer):
            assert not lane.is_parked, "an attempt in a chat that cannot be reached"
            assert lane.moved_to is None, "an attempt in a chat that has moved"
        if following is not None:
            self.steps[name] = following
        if isinstance(following, Done):
            del self.steps[name]
            lane.on_finished()
        return True

    def carry_out(self, lane: LaneState, step: NextStep, fate: Fate) -> NextStep | None:
        world = self.world
        match step:
            case LoadChannel():
                return lane.on_channel(self.now, idempotent=False, can_edit=True)
            case FindTarget(part):
                return lane.on_target(world.find_target(part))
            case AskPacer():
                return lane.on_paced(0.0, self.now)
            case Sleep(seconds):
                self.now += timedelta(seconds=seconds)
                return lane.on_awake()
            case MarkSending(row_id, action):
                row = world.rows[row_id]
                part = replace(row.part, action=action)
                world.rows[row_id] = replace(row, part=part, state=PartState.SENDING, attempts=row.attempts + 1)
                return lane.on_marked()
            case Call(row):
                return self.call(lane, row, fate)
            case RecordSent(row, platform_id):
                world.rows[row.id] = replace(world.rows[row.id], state=PartState.SENT)
                world.platform_ids[row.id] = platform_id
                return lane.on_recorded(platform_id)
            case SaveOutcome(_, failure, outcome):
                refused = isinstance(failure, Permanent) or outcome.row.state is not PartState.DEAD
                assert refused or self.now - NOON > timedelta(days=1), "given up though it was not refused"
                world.save(step)
                return lane.on_saved(outcome)
            case MoveChat(old, new_chat):
                self.hear_of_move(old, new_chat)
                return lane.on_moved_away()
        return None

    def call(self, lane: LaneState, row: OutboxRow, fate: Fate) -> NextStep | None:
        if lane.name not in self.answers:
            stored = self.world.rows[row.id]
            assert stored.state is PartState.SENDING, "a call whose attempt is not persisted"
            assert stored.part.action is row.part.action, "a call that is persisted as another one"
            self.answers[lane.name] = self.world.call(row, fate)
            return None
        answer = self.answers.pop(lane.name)
        return lane.on_sent(answer) if isinstance(answer, str) else lane.on_failed(answer, self.now)

    @rule(chat=CHATS)
    def unpark(self, chat: str) -> None:
        for where in {self.now_at[chat], self.heard_at[chat]}:
            lane = Address("sim", "main", where).lane
            if lane in self.world.parked:
                self.world.parked.discard(lane)
                self.shared.parked.resume(lane, self.now)

    @rule(chat=CHATS, heard=st.booleans())
    def move(self, chat: str, heard: bool) -> None:
        self.hear_of_moves(chat)
        self.moves += 1
        new_chat = f"{chat}.{self.moves}"
        self.world.moved_chats[self.now_at[chat]] = new_chat
        self.now_at[chat] = new_chat
        if heard:
            self.hear_of_moves(chat)

    def hear_of_moves(self, chat: str) -> None:
        if self.heard_at[chat] != self.now_at[chat]:
            old = self.address(chat)
            self.world.move(old, self.now_at[chat])
            self.hear_of_move(old, self.now_at[chat])
            self.heard_at[chat] = self.now_at[chat]

    def hear_of_move(self, old: Address, new_chat: str) -> None:
        self.shared.parked.forget(old.lane)
        self.lane(old.lane).on_moved(replace(old, chat=new_chat).lane)

    @rule(late=st.booleans())
    def crash(self, late: bool) -> None:
        for name, step in self.steps.items():
            if late and isinstance(step, Call) and name not in self.answers:
                self.world.call(step.row, FINE)
        self.begin()

    # ------------------------------------------------------------ what holds

    @invariant()
    def a_row_is_in_one_lane(self) -> None:
        rows = [lane.row.id for lane in self.lanes.values() if lane.row is not None]
        assert sorted(set(rows)) == sorted(rows)

    @invariant()
    def a_lane_between_rows_holds_nothing(self) -> None:
        for name, lane in self.lanes.items():
            assert (name in self.steps) is (lane.row is not None)
            assert lane.row is not None or lane.moved_to is None

    def teardown(self) -> None:
        """Let everything go out, then compare the chats with the store."""
        for _ in range(3):
            for chat in ("c1", "c2"):
                self.hear_of_moves(chat)
                self.unpark(chat)
            self.run_dry()
            self.begin()
        assert {row.state for row in self.world.rows.values()} <= {PartState.SENT, PartState.UNKNOWN, PartState.DEAD}
        for chat in ("c1", "c2"):
            self.each_part_arrived_or_is_recorded(chat)

    def run_dry(self) -> None:
        steps = [True]
        while any(steps):
            steps = [self.step(name, FINE) for name in self.lane_names()]

    def each_part_arrived_or_is_recorded(self, chat: str) -> None:
        texts = [text for where, text in self.world.messages.values() if where.partition(".")[0] == chat]
        words = [word for where, word in self.words if where == chat]
        for word in words:
            arrived = [text for text in texts if text.startswith(word)]
            rows = [row for row in self.world.rows.values() if row.part.plain.startswith(word)]
            if any(row.state is PartState.SENT for row in rows):
                assert arrived, f"{word} is recorded as sent and is not there"
            assert len(arrived) <= 2, f"{word} was said {len(arrived)} times"
            assert len(arrived) < 2 or any(MARK in text for text in arrived[1:]), f"{word} twice, unmarked"
        first = list(dict.fromkeys(word for text in texts if (word := text.split()[0]) in words))
        assert [word for word in words if word in first] == first, "out of order"


ADDRESS = Address("sim", "main", "c1")
ROW = OutboxRow(
    1,
    "default",
    OutboxPart("t1", 0, 0, Action.SEND, ADDRESS, Rendered("hi"), "hi"),
    "k",
    PartState.READY,
    created_at=NOON,
)


def begun(row: OutboxRow = ROW, *, claimed: bool = False) -> tuple[LaneState, NextStep]:
    shared = SharedLaneState()
    lane = LaneState(ADDRESS.lane, DeliveryConfig(longest_wait_s=60.0), shared)
    if claimed:
        shared.claimed[row.idem_key] = lane.name
    lane.on_row(row)
    return lane, lane.on_channel(NOON, idempotent=False, can_edit=True)


def test_an_attempt_that_came_with_its_commit_is_not_persisted_again() -> None:
    row = replace(ROW, state=PartState.SENDING, attempts=1)
    lane, _ = begun(row, claimed=True)
    assert Call(row) == lane.on_paced(0.0, NOON)


def test_a_row_waits_for_the_later_of_pace_and_platform_within_a_bound() -> None:
    row = replace(ROW, not_before=NOON + timedelta(seconds=20))
    for pace_s, wait_s in ((5.0, 20.0), (30.0, 30.0), (3600.0, 60.0)):
        lane, _ = begun(row)
        assert Sleep(wait_s) == lane.on_paced(pace_s, NOON)
        assert not lane.acts_before(NOON + timedelta(seconds=wait_s - 1))
        assert lane.acts_before(NOON + timedelta(seconds=wait_s))


@pytest.mark.timeout(120)  # not on the class that both are made of: its limit would be that of both
class TestLane(LaneMachine.TestCase):  # type: ignore[misc,name-defined]  hypothesis makes the class
    settings = settings(max_examples=share(200), stateful_step_count=40, deadline=None)


@pytest.mark.long
@pytest.mark.timeout(1800)
class TestLaneAtLength(LaneMachine.TestCase):  # type: ignore[misc,name-defined]  hypothesis makes the class
    settings = settings(max_examples=20_000, stateful_step_count=80, deadline=None)
