"""Pairing as a state machine of strangers, operators and clocks."""

from datetime import datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from gateway.access import pairing
from gateway.access.codes import code_of
from gateway.access.pairing import AlreadyIn, AlreadyTold, Approved, Full, NotApproved, TellCode, Why
from gateway.store import people
from gateway.store.tickets import TICKETS, TicketState
from tests.fakes.amounts import share
from tests.fakes.people import KEY, NOON, database, message, minutes

SENDERS = st.sampled_from(["1", "2", "3", "4", "5", "6"])
PLACES = 3
APPROVERS = st.sampled_from(["cli", "u-owner", "u-operator"])
PAUSES = st.sampled_from([0.5, 3.0, 9.0, 10.0, 15.0, 50.0, 60.0, 61.0])


class Pairing(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._database = database()
        self.connection = self._database.__enter__()
        self.now = NOON
        self.born: dict[str, datetime] = {}  # request id → when
        self.asked_by: dict[str, str] = {}  # request id → sender
        self.told: dict[str, datetime] = {}  # sender → when last
        self.used: set[str] = set()
        self.inside: set[str] = set()
        self.blocked: set[str] = set()
        self.guesses: list[tuple[str, datetime]] = []

    def teardown(self) -> None:
        self._database.__exit__(None, None, None)

    @rule(pause=PAUSES)
    def time_passes(self, pause: float) -> None:
        self.now += minutes(pause)

    @rule(sender=SENDERS)
    def a_person_writes(self, sender: str) -> None:
        came_before = pairing.requests_of(self.connection, message(sender))
        outcome = pairing.request(self.connection, message(sender), self.now, places=PLACES)
        if not came_before and sender not in self.blocked | self.inside:
            assert isinstance(outcome, TellCode)  # a first-timer always gets a place
        if sender in self.blocked:
            assert AlreadyTold() == outcome
        elif sender in self.inside:
            assert isinstance(outcome, AlreadyIn)
        if isinstance(outcome, TellCode):
            assert sender not in self.told or self.now - self.told[sender] >= minutes(10)
            self.told[sender] = self.now
            self.born.setdefault(outcome.request.id, self.now)
            self.asked_by[outcome.request.id] = sender
        if isinstance(outcome, Full):
            waiting = pairing.pending(self.connection)
            assert PLACES == len(waiting)
            assert came_before
            assert all(self.now - one.created_at < minutes(10) for one in waiting if one.again)

    @rule(data=st.data(), approver=APPROVERS)
    @precondition(lambda self: self.born)
    def a_code_is_given(self, data: st.DataObject, approver: str) -> None:
        request_id = data.draw(st.sampled_from(sorted(self.born)))
        before = TICKETS.get(self.connection, id=request_id)
        outcome = pairing.approve_code(self.connection, KEY, code_of(KEY, request_id), approver, self.now)
        if self._locked(approver):
            assert isinstance(outcome, NotApproved)
            assert (Why.LOCKED, True) == (outcome.why, (outcome.until or self.now) > self.now)
        elif isinstance(outcome, Approved):
            assert request_id not in self.used
            assert self.now - self.born[request_id] < minutes(60)
            assert self.asked_by[request_id] not in self.blocked
            assert (not self.inside) == outcome.became_owner
            self.used.add(request_id)
            self.inside.add(self.asked_by[request_id])
        else:
            dead = before is None or before.state is not TicketState.PENDING or self.now >= before.expires_at
            assert dead or self.asked_by[request_id] in self.blocked

    @rule(approver=APPROVERS, times=st.integers(1, 6))
    def wrong_codes_are_given(self, approver: str, times: int) -> None:
        for _ in range(times):
            locked = self._locked(approver)
            outcome = pairing.approve_code(self.connection, KEY, "22222222", approver, self.now)
            assert isinstance(outcome, NotApproved)
            assert (Why.LOCKED if locked else Why.WRONG) == outcome.why
            if not locked:
                self.guesses.append((approver, self.now))
            self.now += timedelta(seconds=1)

    @rule(data=st.data())
    @precondition(lambda self: self.born)
    def a_request_is_denied(self, data: st.DataObject) -> None:
        request_id = data.draw(st.sampled_from(sorted(self.born)))
        if pairing.deny(self.connection, request_id, "cli", self.now) is not None:
            self.used.add(request_id)

    @rule(sender=SENDERS)
    @precondition(lambda self: self.inside)
    def a_person_is_blocked(self, sender: str) -> None:
        if sender not in self.inside:
            pairing.block(self.connection, "default", f"telegram:{sender}", sender, "cli", self.now)
            self.blocked.add(sender)

    @invariant()
    def no_more_wait_than_there_are_places_and_one_a_person(self) -> None:
        waiting = [one.sender for one in pairing.pending(self.connection)]
        assert len(waiting) <= PLACES
        assert len(waiting) == len(set(waiting))

    @invariant()
    def who_is_in_is_in_the_store(self) -> None:
        known = people.everybody(self.connection)
        granted = {person for person in known if "telegram:main" in person.grants}
        assert self.inside == {next(iter(person.identities)).removeprefix("telegram:") for person in granted}
        assert min(1, len(self.inside)) == sum(person.role == "owner" for person in known)

    def _locked(self, approver: str) -> bool:
        if sum(self.now - at < minutes(60) for _, at in self.guesses) >= 20:
            return True
        own = [at for who, at in self.guesses if who == approver]
        return any(
            own[last] - own[last - 4] <= minutes(15) and self.now - own[last] < minutes(60)
            for last in range(4, len(own))
        )


TestPairing = Pairing.TestCase
TestPairing.settings = settings(max_examples=share(40), stateful_step_count=30)


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_s8_pairing_2000_times_50_steps() -> None:
    run_state_machine_as_test(Pairing, settings=settings(max_examples=2000, stateful_step_count=50, deadline=None))
