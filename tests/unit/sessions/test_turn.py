"""The life of a turn and its cancellation, without a store, a model or a clock."""

from datetime import UTC, datetime

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agent.transcript import EndReason
from channels.messages import Address, ChatKind, InboundMessage, Sender
from gateway.sessions.turn_lifecycle import Cancellations, Claim, TurnLifecycle, TurnState
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


def a_claim(first_id: int, user: str = "p1") -> Claim:
    turn = TurnRow(f"t{first_id}", "default", "s1", user, "chat", PLACE, None, NOON)
    return Claim(turn, first_id, str(first_id), None, ())


@pytest.mark.parametrize(("before_id", "user"), [(5, "p1"), (5, None), (9, "p2")])
def test_an_earlier_or_another_persons_stop_does_not_cancel_it(before_id: int, user: str | None) -> None:
    told: list[EndReason] = []
    cancellations = Cancellations()
    turn = TurnLifecycle(a_claim(5), cancellations, told.append)
    turn.begin()
    cancellations.note(before_id, user)
    assert not turn.cancel(EndReason.STOPPED)
    assert ([], None) == (told, turn.cancelled)


@pytest.mark.parametrize(("user", "told"), [("p1", [EndReason.STOPPED]), ("p2", [])])
def test_a_persons_interruption_ends_only_their_own_turn(user: str, told: list[EndReason]) -> None:
    seen: list[EndReason] = []
    turn = TurnLifecycle(a_claim(5), Cancellations(), seen.append)
    turn.begin()
    turn.interrupt_for(a_row(6, user))
    assert told == seen


def test_a_turn_takes_no_way_that_is_not_drawn() -> None:
    turn = TurnLifecycle(a_claim(5), Cancellations(), print)
    with pytest.raises(RuntimeError, match="cannot go from claimed"):
        turn.begin_end()
    turn.begin()
    with pytest.raises(RuntimeError, match="cannot go from running"):
        turn.begin()
    turn.begin_end()
    for step in (turn.begin, turn.begin_end):
        with pytest.raises(RuntimeError, match="cannot go from ending"):
            step()


USERS = st.sampled_from(["p1", "p2"])


class TurnLives(RuleBasedStateMachine):
    """Turns, failed attempts and cancellations in any order, beside a list of the cancelled ones."""

    def __init__(self) -> None:
        super().__init__()
        self.cancellations = Cancellations()
        self.turn: TurnLifecycle | None = None
        self.next_id = 1
        self.cancelled: list[tuple[int, str | None]] = []
        self.told: list[EndReason] = []

    def is_cancelled(self, claim: Claim) -> bool:
        about = [before for before, user in self.cancelled if user in (None, claim.turn.user_id)]
        return any(claim.first_id < before for before in about)

    def claim(self, claim: Claim) -> None:
        self.told = []
        self.turn = TurnLifecycle(claim, self.cancellations, self.told.append)

    @precondition(lambda self: self.turn is None)
    @rule(user=USERS)
    def claim_a_row(self, user: str) -> None:
        self.claim(a_claim(self.next_id, user))
        self.next_id += 1

    @precondition(lambda self: self.turn is not None and not self.turn.is_live)
    @rule()
    def begin(self) -> None:
        assert self.turn is not None
        self.turn.begin()

    @precondition(lambda self: self.turn is not None and self.turn.state is TurnState.RUNNING)
    @rule()
    def begin_end(self) -> None:
        assert self.turn is not None
        self.turn.begin_end()

    @precondition(lambda self: self.turn is not None)
    @rule()
    def resume(self) -> None:
        assert self.turn is not None
        self.claim(self.turn.claim)

    @rule()
    def end(self) -> None:
        self.turn = None

    @rule(user=st.one_of(st.none(), USERS))
    def cancel(self, user: str | None) -> None:
        self.cancelled.append((self.next_id, user))
        self.cancellations.note(self.next_id, user)
        if self.turn is not None:
            assert self.is_cancelled(self.turn.claim) == self.turn.cancel(EndReason.STOPPED)
        self.next_id += 1

    @invariant()
    def a_running_turn_knows_what_is_about_it(self) -> None:
        if self.turn is not None and self.turn.state is TurnState.RUNNING:
            assert [EndReason.STOPPED] * self.is_cancelled(self.turn.claim) == self.told

    @invariant()
    def a_turn_that_does_not_run_yet_is_not_told(self) -> None:
        if self.turn is not None and not self.turn.is_live:
            assert ([], None) == (self.told, self.turn.cancelled)


TestTurnLives = TurnLives.TestCase
TestTurnLives.settings = settings(max_examples=share(200), stateful_step_count=30, deadline=None)
