"""A session in all modes, on the pure objects: each message in exactly one turn of its person's, or cleared.

The decisions are the product's (`TurnLifecycle`, `inbox_rules`); a dictionary stands for the store, and one rule
a step for the worker. `test_session_machine` plays the same over the real store, a hundred times more slowly.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from agent.transcript import EndReason
from channels.messages import Address, ChatKind, InboundMessage, Sender
from gateway.commands.base import MODES
from gateway.sessions.inbox_rules import join_rows, joins, read_words, rows_to_merge, rows_to_steer
from gateway.sessions.turn_lifecycle import Cancellations, Claim, TurnLifecycle, TurnState
from gateway.store.inbox import InboxRow
from gateway.store.journal import TurnRow
from tests.fakes.amounts import share

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
PLACE = Address("sim", "main", "g1")
STEPS = st.integers(0, 4)
USERS = st.sampled_from(["p1", "p2"])


def a_row(id_: int, user: str, text: str) -> InboxRow:
    event = InboundMessage(
        event_id=f"e{id_}",
        message_id=str(id_),
        address=PLACE,
        sender=Sender(user, user),
        received_at=NOON,
        kind=ChatKind.GROUP,
        text=text,
        mentions_bot=True,
    )
    return InboxRow(id_, "default", "key", user, event, NOON)


def marked(row: InboxRow) -> bool:
    return read_words(row.event, "talk").is_marked


@dataclass
class KeptTurn:
    claim: Claim
    rows: list[InboxRow]  # as they read when they were taken
    ended: EndReason | None = None
    why: str | None = None  # whose word ended it


@dataclass
class Kept:
    mode: str = "steer"
    waiting: dict[int, InboxRow] = field(default_factory=dict)
    turns: list[KeptTurn] = field(default_factory=list)
    cleared: dict[int, str] = field(default_factory=dict)  # by whom
    said: dict[int, InboxRow] = field(default_factory=dict)  # as each reads in the end
    newest: int = 0


class ModesMachine(RuleBasedStateMachine):
    """Two people, one session, a worker that moves when a rule says so, and a process that may die between any two."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = Kept()
        self.stops: list[EndReason] = []
        self.begin()

    def begin(self) -> None:
        self.cancellations = Cancellations()
        self.taken: list[InboxRow] = []  # as the session keeps them until they are claimed
        self.turn: TurnLifecycle | None = None
        self.at_work: KeptTurn | None = None
        under_way = [kept for kept in self.kept.turns if kept.ended is None]
        assert len(under_way) <= 1, "one turn at a time"
        if under_way:
            self.turn = self.a_turn(under_way[0].claim)
            self.at_work = under_way[0]

    def a_turn(self, claim: Claim) -> TurnLifecycle:
        return TurnLifecycle(claim, self.cancellations, self.stops.append)

    # ------------------------------------------------------------ what people do

    @rule(user=USERS, mark=st.sampled_from(["", "", "! "]), then=STEPS)
    def say(self, user: str, mark: str, then: int) -> None:
        self.kept.newest += 1
        row = a_row(self.kept.newest, user, f"{mark}w{self.kept.newest}")
        self.kept.said[row.id] = self.kept.waiting[row.id] = row
        self.offer(row)
        self.work(then)

    def offer(self, row: InboxRow) -> None:
        if self.turn is not None and (marked(row) or self.kept.mode == "interrupt"):
            before = self.turn.cancelled
            self.turn.interrupt_for(row)
            if before is None and self.turn.cancelled is not None and self.at_work is not None:
                self.at_work.why = row.user_id

    @precondition(lambda self: self.kept.waiting)
    @rule(data=st.data(), mark=st.sampled_from(["", "! "]))
    def edit(self, data: st.DataObject, mark: str) -> None:
        old = self.kept.waiting[data.draw(st.sampled_from(sorted(self.kept.waiting)))]
        assert isinstance(old.event, InboundMessage)
        row = replace(old, event=replace(old.event, text=f"{mark}w{old.id}"))
        self.kept.said[row.id] = self.kept.waiting[row.id] = row
        self.taken = [row if other.id == row.id else other for other in self.taken]
        self.offer(row)

    @rule(user=USERS)
    def stop(self, user: str) -> None:
        self.kept.newest += 1
        self.cancellations.note(self.kept.newest, user)
        if self.turn is not None and self.turn.cancel(EndReason.STOPPED) and self.at_work is not None:
            self.at_work.why = self.at_work.why or user
        for id_, row in list(self.kept.waiting.items()):
            if row.user_id == user:
                self.kept.cleared[id_] = user
                del self.kept.waiting[id_]

    @rule(mode=st.sampled_from(MODES))
    def set_mode(self, mode: str) -> None:
        self.kept.mode = mode

    @rule(then=STEPS)
    def ask_beside(self, then: int) -> None:
        self.work(then)

    # ------------------------------------------------------------ what the worker does

    def work(self, times: int) -> None:
        for _ in range(times):
            self.work_once()

    def work_once(self) -> None:
        if self.turn is None and not self.taken:
            self.take()
        elif self.turn is None:
            self.claim()
        elif self.turn.state is TurnState.CLAIMED:
            self.turn.begin()
        elif self.turn.state is TurnState.RUNNING:
            self.go_on(self.turn)
        else:
            self.end(EndReason.COMPLETED)

    def take(self) -> None:
        if waiting := self.in_order():
            first, *others = waiting
            self.taken = [first, *rows_to_merge(first, others, self.kept.mode, joins=lambda _: True, is_marked=marked)]

    def claim(self) -> None:
        rows, self.taken = [row for row in self.taken if row.id in self.kept.waiting], []
        if rows:
            row = join_rows(rows[:1])
            turn = TurnRow(f"t{len(self.kept.turns)}", "default", "s1", row.user_id, "chat", PLACE, None, NOON)
            self.at_work = KeptTurn(Claim(turn, row.id, None, None, ()), [])
            self.kept.turns.append(self.at_work)
            self.turn = self.a_turn(self.at_work.claim)
            self.read(rows)

    def read(self, rows: list[InboxRow]) -> None:
        assert self.at_work is not None
        for row in rows:
            self.at_work.rows.append(self.kept.waiting.pop(row.id))

    def go_on(self, turn: TurnLifecycle) -> None:
        assert self.at_work is not None
        row = turn.claim.turn
        mine = [other for other in self.in_order() if other.user_id == row.user_id]
        ending = next((other for other in mine if marked(other) or self.kept.mode == "interrupt"), None)
        if turn.cancelled is None and ending is not None:
            turn.interrupt_for(ending)
            self.at_work.why = ending.user_id
        if turn.cancelled is not None:
            turn.begin_end()
            self.end(turn.cancelled)
            return
        steering = rows_to_steer(self.in_order(), joins=lambda other: joins(other, row), is_marked=marked)
        if turn.may_steer(self.kept.mode) and steering:
            self.read(steering)
        else:
            turn.begin_end()

    def in_order(self) -> list[InboxRow]:
        return sorted(self.kept.waiting.values(), key=lambda row: row.id)

    def end(self, reason: EndReason) -> None:
        assert self.at_work is not None
        self.at_work.ended, self.at_work = reason, None
        self.turn = None

    @rule(then=STEPS)
    def kill(self, then: int) -> None:
        self.begin()
        self.work(then)

    # ------------------------------------------------------------ what must hold

    def teardown(self) -> None:
        """Let everything come to its end, then count."""
        for _ in range(10 * (len(self.kept.said) + 2)):
            self.work_once()
        assert not self.kept.waiting and self.at_work is None, "something waits for ever"
        read = [row for kept in self.kept.turns for row in kept.rows]
        assert len(read) == len({row.id for row in read}), "a message is in two turns"
        assert {row.id for row in read} | set(self.kept.cleared) == set(self.kept.said), "a message is in no turn"
        assert not {row.id for row in read} & set(self.kept.cleared), "a message was cleared and read"
        assert all(self.kept.said[id_].user_id == who for id_, who in self.kept.cleared.items())
        for kept in self.kept.turns:
            owner = kept.claim.turn.user_id
            assert {owner} == {row.user_id for row in kept.rows}, "another member's words in a turn"
            assert kept.ended is EndReason.COMPLETED or kept.why == owner, "somebody else ended it"
        for user in ("p1", "p2"):
            mine = [row.id for row in read if row.user_id == user]
            assert sorted(mine) == mine, "a person's own order"
        assert all(read_words(row.event, "talk").said == f"w{row.id}" for row in read), (
            "as it reads in the end, without the mark"
        )


TestModes = ModesMachine.TestCase
TestModes.settings = settings(max_examples=share(120), stateful_step_count=50, deadline=None)


@pytest.mark.gate
@pytest.mark.timeout(300)
class TestModesAtLength(ModesMachine.TestCase):  # type: ignore[misc,name-defined]  hypothesis makes the class
    settings = settings(max_examples=800, stateful_step_count=50, deadline=None)
