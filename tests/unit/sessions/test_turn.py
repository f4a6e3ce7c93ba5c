"""The life of a session's turn and its cancellation, without a store, a model or a clock."""

from datetime import UTC, datetime

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agent.transcript import EndReason
from channels.messages import Address, ChatKind, InboundMessage, Sender
from gateway.sessions.turn import ClaimedTurn, SessionTurn, TurnState
from gateway.store.inbox import InboxRow
from gateway.store.journal import TurnRow
from tests.fakes.amounts import share

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
PLACE = Address("sim", "main", "g1")


def a_row(id_: int, user: str = "p1") -> InboxRow:
    event = InboundMessage(
        event_id=f"e{id_}",
        message_id=str(id_),
        address=PLACE,
        sender=Sender(user, user),
        received_at=NOON,
        kind=ChatKind.GROUP,
        text="hello",
        mentions_bot=True,
    )
    return InboxRow(id_, "default", "key", user, event, NOON)


def a_claim(first_id: int, user: str = "p1") -> ClaimedTurn:
    turn = TurnRow(f"t{first_id}", "default", "s1", user, "chat", PLACE, None, NOON)
    return ClaimedTurn(turn, first_id, str(first_id), None, ())


def a_running_turn(told: list[EndReason]) -> SessionTurn:
    turn = SessionTurn()
    turn.begin()
    turn.claim(a_claim(5))
    turn.run(steers=True, on_cancel=told.append)
    return turn


@pytest.mark.parametrize(("before_id", "user"), [(5, "p1"), (5, None), (9, "p2")])
def test_an_earlier_or_another_persons_stop_does_not_cancel_it(before_id: int, user: str | None) -> None:
    told: list[EndReason] = []
    turn = a_running_turn(told)
    assert not turn.cancel(EndReason.STOPPED, before_id, user)
    assert ([], None) == (told, turn.cancelled)


def test_its_rows_are_free_to_change_until_they_are_claimed() -> None:
    turn = SessionTurn()
    turn.rows = [a_row(5)]
    turn.begin()
    turn.claim(a_claim(5))
    assert [] == turn.rows


def test_a_turn_takes_no_way_that_is_not_drawn() -> None:
    turn = a_running_turn([])
    for step in (turn.begin, lambda: turn.claim(a_claim(6)), lambda: turn.run(steers=True, on_cancel=print)):
        with pytest.raises(RuntimeError, match="cannot go from running"):
            step()
    turn.end()
    for step in (turn.finish, turn.retry):
        with pytest.raises(RuntimeError, match="cannot go from ended"):
            step()


USERS = st.sampled_from(["p1", "p2"])


class TurnLives(RuleBasedStateMachine):
    """Turns, failed attempts and cancellations in any order, beside a list of the cancelled ones."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = SessionTurn()
        self.next_id = 1
        self.cancelled: list[tuple[int, str | None]] = []
        self.told: list[EndReason] = []

    def is_cancelled(self, claimed: ClaimedTurn) -> bool:
        about = [before for before, user in self.cancelled if user in (None, claimed.turn.user_id)]
        return any(claimed.first_id < before for before in about)

    @precondition(lambda self: self.turn.state is TurnState.ENDED)
    @rule(user=USERS)
    def begin(self, user: str) -> None:
        self.turn.begin()
        self.turn.claim(a_claim(self.next_id, user))
        self.next_id += 1

    @precondition(lambda self: self.turn.state is TurnState.CLAIMING)
    @rule()
    def run_it(self) -> None:
        self.told = []
        self.turn.run(steers=True, on_cancel=self.told.append)

    @precondition(lambda self: self.turn.state is TurnState.RUNNING)
    @rule()
    def finish(self) -> None:
        self.turn.finish()

    @precondition(lambda self: self.turn.state is not TurnState.ENDED)
    @rule()
    def retry(self) -> None:
        self.turn.retry()

    @rule()
    def end(self) -> None:
        self.turn.end()

    @rule(user=st.one_of(st.none(), USERS))
    def cancel(self, user: str | None) -> None:
        claimed = self.turn.claimed
        self.cancelled.append((self.next_id, user))
        expected = claimed is not None and self.is_cancelled(claimed)
        assert expected == self.turn.cancel(EndReason.STOPPED, self.next_id, user)
        self.next_id += 1

    @invariant()
    def a_running_turn_knows_what_is_about_it(self) -> None:
        if self.turn.state is TurnState.RUNNING:
            assert self.turn.claimed is not None
            assert [EndReason.STOPPED] * self.is_cancelled(self.turn.claimed) == self.told

    @invariant()
    def nothing_is_left_of_a_turn_that_ended(self) -> None:
        if self.turn.state is TurnState.ENDED:
            assert (None, None) == (self.turn.claimed, self.turn.cancelled)


TestTurnLives = TurnLives.TestCase
TestTurnLives.settings = settings(max_examples=share(200), stateful_step_count=30, deadline=None)
