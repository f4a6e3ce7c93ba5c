"""Linking and roles as a state machine: no press, code or guess gives access to another person's data."""

from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime

import pytest
import sqlalchemy as sa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from agent.ports import Change, Principal
from gateway.access import linking
from gateway.access.codes import code_of
from gateway.access.config import Role
from gateway.access.linking import Linked, LinkWhy
from gateway.access.ranks import block_known, give_role, rank_of
from gateway.coach import writer
from gateway.store import approvals, people
from gateway.store.people import Newcomer, Person
from gateway.store.tickets import TICKETS, WAITING, TicketState, links_of
from tests.fakes.amounts import share
from tests.fakes.linked import link, log_practice, practised, side_of, with_practice
from tests.fakes.people import KEY, NOON, database, minutes

SENDERS = ("telegram:1", "discord:2", "slack:T1:3", "web:4", "telegram:5")
ANYBODY = st.sampled_from(SENDERS)
ROLES = st.sampled_from([Role.MEMBER, Role.OPERATOR, Role.OWNER])
SKILLS = st.sampled_from(["guitar", "piano"])


@dataclass
class Session:
    user_id: str
    skill: str
    minutes: int


class LinkedPeople(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._database = database(with_practice)
        self.connection = self._database.__enter__()
        self.now = NOON
        self.user_of: dict[str, str] = {}
        for sender in SENDERS:
            role = Role.OWNER if sender == SENDERS[0] else Role.MEMBER
            newcomer = Newcomer("default", sender, f"{sender.partition(':')[0]}:main", sender, role, "cli")
            self.user_of[sender] = people.enrol(self.connection, newcomer, self.now).user_id
        self.sessions: list[Session] = []
        self.own_id = dict(self.user_of)
        self.held: dict[str, str] = {}  # of each link: the user id of who joined by it
        self.steps: dict[str, list[tuple[str, str]]] = {}  # of each link: who did what, in order
        self.born: dict[str, datetime] = {}
        self.wrong: dict[str, list[datetime]] = {}

    def teardown(self) -> None:
        self._database.__exit__(None, None, None)

    def _person(self, sender: str) -> Person:
        person = people.find_sender(self.connection, "default", sender)
        assert person is not None
        return person

    @rule(pause=st.sampled_from([0.5, 4.0, 9.0, 10.0, 61.0]))
    def time_passes(self, pause: float) -> None:
        self.now += minutes(pause)

    @rule(sender=ANYBODY, skill=SKILLS, length=st.integers(1, 90))
    def a_person_practises(self, sender: str, skill: str, length: int) -> None:
        user_id = self._person(sender).user_id
        log_practice(self.connection, user_id, skill, length)
        self.sessions.append(Session(user_id, skill, length))

    @rule(sender=ANYBODY, other=ANYBODY, steps=st.sampled_from([4, 4, 4, 3, 2]))
    def two_link(self, sender: str, other: str, steps: int) -> None:
        made = self._offer(sender)
        if made is not None and steps > 1:
            self._give(other, made)
        for who in (other, sender)[: max(0, steps - 2)]:
            self._say_yes(who, made)

    @rule(sender=ANYBODY)
    def a_person_offers(self, sender: str) -> None:
        self._offer(sender)

    def _offer(self, sender: str) -> str | None:
        person = self._person(sender)
        if person.role == Role.BLOCKED:
            return None
        made = linking.offer(self.connection, "default", side_of(person, sender), self.now)
        self.steps[made.id], self.born[made.id] = [("offer", person.user_id)], self.now
        waiting = links_of(self.connection, person.user_id, WAITING)
        assert [made.id] == [link.id for link in waiting]
        return made.id

    @rule(sender=ANYBODY, data=st.data())
    @precondition(lambda self: self.born)
    def a_code_is_given(self, sender: str, data: st.DataObject) -> None:
        self._give(sender, data.draw(st.sampled_from(sorted(self.born))))

    def _give(self, sender: str, link_id: str) -> None:
        person = self._person(sender)
        if person.role == Role.BLOCKED:
            return
        before, locked = TICKETS.get(self.connection, id=link_id), self._locked(sender)
        given = linking.give(
            self.connection, KEY, "default", code_of(KEY, link_id).lower(), side_of(person, sender), self.now
        )
        assert locked == (given is LinkWhy.LOCKED)
        if isinstance(given, Linked):
            assert before is not None
            assert (TicketState.PENDING, True) == (before.state, self.now - self.born[link_id] < minutes(10))
            assert person.user_id != given.stays.user_id
            self.steps[link_id].append(("give", person.user_id))

    @rule(sender=ANYBODY, times=st.integers(1, 6))
    def codes_are_guessed(self, sender: str, times: int) -> None:
        person = self._person(sender)
        for _ in range(times if person.role != Role.BLOCKED else 0):
            expected = LinkWhy.LOCKED if self._locked(sender) else LinkWhy.WRONG
            told = linking.give(self.connection, KEY, "default", "2222 2222", side_of(person, sender), self.now)
            assert expected is told
            if told is LinkWhy.WRONG:
                self.wrong.setdefault(sender, []).append(self.now)
            self.now += minutes(0.1)

    @rule(sender=ANYBODY, data=st.data(), by_id=st.booleans())
    @precondition(lambda self: self.born)
    def a_person_says_yes(self, sender: str, data: st.DataObject, by_id: bool) -> None:
        self._say_yes(sender, data.draw(st.sampled_from(sorted(self.born))) if by_id else None)

    def _say_yes(self, sender: str, link_id: str | None) -> None:
        person = self._person(sender)
        if person.role == Role.BLOCKED:
            return
        agreed = linking.agree(self.connection, link_id, person.user_id, self.now)
        if isinstance(agreed, Linked):
            self.steps[agreed.link.id].append(("agree", person.user_id))
            return
        roles = {one.user_id: one.role for one in people.everybody(self.connection)}
        done = linking.connect(self.connection, link_id, person.user_id, self.now)
        if isinstance(done, Linked):
            self._joined(done, person.user_id, roles)

    def _joined(self, done: Linked, by: str, roles: dict[str, str]) -> None:
        stays, joins = done.stays.user_id, done.joins.user_id
        assert [("offer", stays), ("give", joins), ("agree", joins)] == self.steps[done.link.id]
        assert stays == by
        assert self.now - self.born[done.link.id] < minutes(10)
        lesser = min(roles[stays], roles[joins], key=rank_of)
        assert (Role.OWNER if roles[stays] == Role.OWNER else lesser) == done.stays.role
        self.held[done.link.id] = joins
        self._are(joins, stays)

    def _are(self, own_id: str, user_id: str) -> None:
        self.user_of |= {sender: user_id for sender, own in self.own_id.items() if own == own_id}

    @rule(sender=ANYBODY, data=st.data())
    @precondition(lambda self: self.born)
    def a_person_refuses(self, sender: str, data: st.DataObject) -> None:
        link_id, person = data.draw(st.sampled_from(sorted(self.born))), self._person(sender)
        before = TICKETS.get(self.connection, id=link_id)
        done = linking.refuse(self.connection, link_id, person.user_id, self.now)
        if not isinstance(done, LinkWhy):
            assert before is not None
            assert person.user_id in (before.user_id, before.other_id)

    @rule(sender=ANYBODY, data=st.data(), own=st.booleans())
    @precondition(lambda self: self.held)
    def a_person_undoes(self, sender: str, data: st.DataObject, own: bool) -> None:
        link_id = data.draw(st.sampled_from(sorted(self.held)))
        before = TICKETS.get(self.connection, id=link_id)
        assert before is not None
        person = self._person(before.sender if own else sender)
        if person.role == Role.BLOCKED:
            return
        stays = people.person_of(self.connection, before.user_id)
        done = linking.undo(self.connection, link_id, person.user_id, self.now)
        if isinstance(done, LinkWhy):
            return
        assert stays is not None
        assert before.user_id == person.user_id or rank_of(person.role) > max(rank_of(stays.role), rank_of(Role.MEMBER))
        assert rank_of(done.joins.role) <= rank_of(before.role)
        own_id = self.held.pop(link_id)
        self._are(own_id, own_id)

    @rule(
        actor=st.sampled_from(["cli", *SENDERS]),
        sender=ANYBODY,
        role=st.sampled_from([Role.MEMBER, Role.OPERATOR, Role.OWNER]),
    )
    def a_role_is_given(self, actor: str, sender: str, role: Role) -> None:
        person = self._person(sender)
        by = self._person(actor) if actor != "cli" else None
        above = by is None or (
            rank_of(by.role) >= rank_of(Role.OPERATOR) and max(map(rank_of, (person.role, role))) < rank_of(by.role)
        )
        give = (self.connection, person.user_id, role, "cli" if by is None else by.user_id, self.now)
        done = give_role(*give)
        assert above or not isinstance(done, Person)
        assert isinstance(done, Person) or self._person(sender).role == person.role

    @rule(actor=st.sampled_from(["cli", *SENDERS]), sender=ANYBODY)
    def a_person_is_blocked(self, actor: str, sender: str) -> None:
        by = "cli" if actor == "cli" else self._person(actor).user_id
        block_known(self.connection, "default", sender, sender, by, self.now)

    @invariant()
    def everybody_is_who_they_are(self) -> None:
        known = people.everybody(self.connection)
        expected = {sender: person.user_id for person in known for sender in person.identities}
        assert self.user_of == expected

    @invariant()
    def there_is_an_owner(self) -> None:
        assert [person for person in people.everybody(self.connection) if person.role == Role.OWNER]

    @invariant()
    def no_minute_is_lost_or_doubled(self) -> None:
        now_of = {own: self.user_of[sender] for sender, own in self.own_id.items()}
        expected = {user_id: Counter[str]() for user_id in now_of.values()}
        for session in self.sessions:
            expected[now_of[session.user_id]][session.skill] += session.minutes
        assert expected == {user_id: practised(self.connection, user_id) for user_id in expected}

    def _locked(self, sender: str) -> bool:
        at = self.wrong.get(sender, [])
        return any(
            at[last] - at[last - 4] <= minutes(15) and self.now - at[last] < minutes(60) for last in range(4, len(at))
        )


TestLinkedPeople = LinkedPeople.TestCase
TestLinkedPeople.settings = settings(max_examples=share(20), stateful_step_count=40)


@pytest.mark.gate
def test_linked_people_as_the_gate_tries_them() -> None:
    run_state_machine_as_test(LinkedPeople, settings=settings(max_examples=30, stateful_step_count=50, deadline=None))


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_linked_people_2000_times_50_steps() -> None:
    run_state_machine_as_test(LinkedPeople, settings=settings(max_examples=2000, stateful_step_count=50, deadline=None))


def test_a_link_changes_no_row_of_what_either_has() -> None:
    with database(with_practice) as connection:
        stays, joins = (
            people.enrol(connection, Newcomer("default", sender, "", sender, Role.MEMBER, "cli"), NOON)
            for sender in SENDERS[:2]
        )
        for user in (stays, joins):
            writer.set_weekly_goal(Change(connection, Principal(user.user_id, "default"), "k", NOON), 60)
        remembered = sa.text("INSERT INTO remembered_tools VALUES ('default', :who, 'look', 0)")
        connection.execute(remembered, {"who": joins.user_id})
        before = everything(connection)
        held = link(connection, stays, joins)
        assert frozenset(SENDERS[:2]) == people.everybody(connection)[0].identities
        assert approvals.is_remembered(connection, "default", stays.user_id, "look")
        linking.undo(connection, held, stays.user_id, NOON)
        assert before == everything(connection)


def everything(connection: sa.Connection) -> dict[str, list[object]]:
    named = [name for name in sa.inspect(connection).get_table_names() if name not in {"audit", "tickets"}]
    return {name: sorted(map(repr, connection.execute(sa.text(f'SELECT * FROM "{name}"')))) for name in named}


def test_the_only_owner_is_not_joined_away() -> None:
    with database(with_practice) as connection:
        owner, member = (
            people.enrol(connection, Newcomer("default", sender, "", sender, role, "cli"), NOON)
            for sender, role in zip(SENDERS, (Role.OWNER, Role.MEMBER), strict=False)
        )
        made = linking.offer(connection, "default", side_of(member, SENDERS[1]), NOON)
        own = side_of(owner, SENDERS[0])
        assert LinkWhy.ONLY_OWNER is linking.give(connection, KEY, "default", code_of(KEY, made.id), own, NOON)
        people.set_role(connection, member, Role.OWNER, "cli", NOON)
        assert isinstance(linking.give(connection, KEY, "default", code_of(KEY, made.id), own, NOON), Linked)
        linking.agree(connection, made.id, owner.user_id, NOON)
        demoted = people.person_of(connection, member.user_id)
        assert demoted is not None
        people.set_role(connection, demoted, Role.MEMBER, "cli", NOON)  # while the question stands
        assert LinkWhy.ONLY_OWNER is linking.connect(connection, made.id, member.user_id, NOON)


def test_a_link_waits_ten_minutes_also_when_the_clock_is_set_back() -> None:
    with database(with_practice) as connection:
        stays, joins = (
            people.enrol(connection, Newcomer("default", sender, "", sender, Role.MEMBER, "cli"), NOON)
            for sender in SENDERS[:2]
        )
        made = linking.offer(connection, "default", side_of(stays, SENDERS[0]), NOON)
        other = replace(side_of(joins, SENDERS[1]))
        linking.give(connection, KEY, "default", code_of(KEY, made.id), other, NOON)
        assert LinkWhy.NOTHING is linking.agree(connection, made.id, joins.user_id, NOON + minutes(10))
        assert LinkWhy.NOTHING is linking.agree(connection, made.id, joins.user_id, NOON)
        again = linking.give(connection, KEY, "default", code_of(KEY, made.id), other, NOON)
        assert LinkWhy.OVER is again


def test_a_linked_person_is_not_linked_again() -> None:
    with database(with_practice) as connection:
        first, second, joins = (
            people.enrol(connection, Newcomer("default", sender, "", sender, Role.MEMBER, "cli"), NOON)
            for sender in SENDERS[:3]
        )
        for stays, sender in ((first, SENDERS[0]), (second, SENDERS[1])):
            made = linking.offer(connection, "default", side_of(stays, sender), NOON)
            own = side_of(joins, SENDERS[2])
            linking.give(connection, KEY, "default", code_of(KEY, made.id), own, NOON)
            linking.agree(connection, made.id, joins.user_id, NOON)
        linked = linking.connect(connection, None, second.user_id, NOON)
        assert isinstance(linked, Linked)
        assert LinkWhy.OVER is linking.connect(connection, None, first.user_id, NOON)
        assert frozenset({joins.user_id}) == next(
            person.aliases for person in people.everybody(connection) if person.user_id == second.user_id
        )


def test_zone_and_language_of_who_stays_are_filled_in() -> None:
    with database(with_practice) as connection:
        stays, joins = (
            people.enrol(connection, Newcomer("default", sender, "", sender, Role.MEMBER, "cli"), NOON)
            for sender in SENDERS[:2]
        )
        people.set_timezone(connection, joins.user_id, "Europe/Madrid")
        people.set_locale(connection, joins.user_id, "es")
        link(connection, stays, joins)
        both = people.person_of(connection, joins.user_id)
        assert both is not None
        assert (stays.user_id, "Europe/Madrid", "es", False) == (
            both.user_id,
            both.timezone,
            both.locale,
            both.lacks_zone,
        )
