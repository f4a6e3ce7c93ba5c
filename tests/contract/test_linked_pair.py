"""Two linked users as one person in every count, decision, export and deletion; on every engine."""

from datetime import timedelta
from functools import partial

import pytest
import sqlalchemy as sa

from agent.budgets import Spending
from agent.coach.practice import WeeklyPlan
from agent.consent import Consent
from agent.permission_rules import Verdict
from agent.ports import Change, Principal
from channels.messages import Address
from gateway.access import linking
from gateway.access.buttons import short_id
from gateway.access.config import AccessConfig, Role
from gateway.access.policy import AccessSnapshot, Silence, decide
from gateway.access.ranks import block_known
from gateway.coach import practice_rows, writer
from gateway.coach.tables import PRACTICE_TABLES
from gateway.commands.base import Write
from gateway.commands.decisions import answer_question
from gateway.inbound.bounds import InboundBounds
from gateway.store import approvals, budgets, credentials, erasure, journal, people, session_rules
from gateway.store.agent_tables import bring_up
from gateway.store.approvals import Approval
from gateway.store.budgets import Cap, CapReached
from gateway.store.credentials import Connected
from gateway.store.engine import Store
from gateway.store.erasure import Extent, of_person
from gateway.store.journal import TurnRow
from gateway.store.people import Newcomer, Person
from gateway.store.session_rules import SessionRule
from gateway.store.tables.base import new_id
from tests.fakes.invocations import invocation
from tests.fakes.linked import link, log_practice, practised
from tests.fakes.people import NOON, message

TABLES = PRACTICE_TABLES.metadata.sorted_tables


async def two_people(store: Store) -> tuple[Person, Person]:
    await store.commit(bring_up, agent="coach", tables=PRACTICE_TABLES)
    found = []
    for sender in ("telegram:1", "discord:2"):
        newcomer = Newcomer("default", sender, f"{sender.partition(':')[0]}:main", sender, Role.MEMBER, "cli")
        found.append(await store.commit(people.enrol, newcomer=newcomer, now=NOON))
        await store.commit(log_practice, user_id=found[-1].user_id, skill="guitar", length=30)
    return found[0], found[1]


def cap_of(person: Person) -> Cap:
    return Cap("default", "user", person.user_id, "2026-03-02", None, 100, NOON + timedelta(hours=12))


async def spend(store: Store, person: Person, tokens: int) -> None:
    """Set so many tokens aside in the person's cap, as a call does."""
    caps = await store.read(partial(budgets.running, caps=[cap_of(person)], now=NOON))
    job = partial(budgets.reserve, id_=f"{person.user_id[-12:]} {tokens}", caps=caps, most=Spending(tokens), now=NOON)
    await store.commit(job)


async def test_what_both_used_counts_against_one_cap(store: Store) -> None:
    stays, joins = await two_people(store)
    await spend(store, joins, 80)
    for _ in range(2):
        held = await store.commit(link, stays=stays, joins=joins)
        with pytest.raises(CapReached):
            await spend(store, stays, 21)
        await store.commit(linking.undo, link_id=held, by=stays.user_id, now=NOON)
    await store.commit(link, stays=stays, joins=joins)
    await spend(store, stays, 20)
    both = await store.read(partial(people.person_of, user_id=stays.user_id))
    assert both is not None
    asked = await store.commit(
        lambda c: erasure.ask(c, both, Extent.EVERYTHING, 0, NOON, NOON, lambda _tenant, sender: sender)
    )
    assert {"telegram:1": stays.user_id, "discord:2": joins.user_id} == {
        each.mark: each.former_id for each in asked.forgotten
    }


async def test_both_chats_share_one_limit(store: Store) -> None:
    stays, joins = await two_people(store)
    await store.commit(link, stays=stays, joins=joins)
    snapshot, access = AccessSnapshot(await store.read(people.everybody)), AccessConfig(direct="pairing")
    access = access.model_copy(update={"limits": access.limits.model_copy(update={"burst_messages": 3})})
    bounds = InboundBounds(access, snapshot, lambda: 0.0)
    over = []
    for sender, channel in (("1", "telegram"), ("2", "discord")) * 2:
        event = message(sender, channel=channel)
        counted = bounds.key_of(event, decide(snapshot, access, event))
        assert counted is not None
        over.append(bounds.charge(event, counted, 0) is not None)
    assert [False, False, False, True] == over


async def test_a_block_of_one_holds_for_both_and_after_the_link(store: Store) -> None:
    stays, joins = await two_people(store)
    held = await store.commit(link, stays=stays, joins=joins)
    await store.commit(block_known, tenant="default", sender="discord:2", name="", by="cli", now=NOON)
    for _ in range(2):
        snapshot = AccessSnapshot(await store.read(people.everybody))
        for event in (message("1"), message("2", channel="discord")):
            assert Silence("blocked") == decide(snapshot, AccessConfig(direct="pairing"), event)
        await store.commit(linking.undo, link_id=held, by="cli", now=NOON)


async def test_an_export_holds_what_both_have(store: Store) -> None:
    stays, joins = await two_people(store)
    held = await store.commit(link, stays=stays, joins=joins)
    exported = partial(of_person, user_id=stays.user_id, own_tables=TABLES)
    both = await store.of("default").read(exported)
    assert [2, 2, 2, 2] == [len(both[name]) for name in ("users", "identities", "practice_sessions", "skills")]
    await store.commit(linking.undo, link_id=held, by=stays.user_id, now=NOON)
    own = await store.of("default").read(exported)
    assert [1, 1, 1, 1] == [len(own[name]) for name in ("users", "identities", "practice_sessions", "skills")]


async def test_who_is_forgotten_leaves_no_row_of_either(store: Store) -> None:
    stays, joins = await two_people(store)
    await store.commit(link, stays=stays, joins=joins)
    both = await store.read(partial(people.find_sender, tenant="default", sender_key="discord:2"))
    assert both is not None
    await store.commit(lambda c: erasure.ask(c, both, Extent.EVERYTHING, 0, NOON, NOON, lambda *_: "mark"))
    for wish in await store.read(erasure.pending):
        done = erasure.Progress.MORE
        while done is erasure.Progress.MORE:
            done = await store.commit(erasure.erase, erasure=wish, now=NOON, own_tables=TABLES)
        assert erasure.Progress.DONE is done
    for person in (stays, joins):
        left = await store.of("default").read(partial(of_person, user_id=person.user_id, own_tables=TABLES))
        assert {} == {name: rows for name, rows in left.items() if rows}


async def test_what_one_allowed_or_connected_both_have(store: Store) -> None:
    stays, joins = await two_people(store)
    both = ("default", stays.user_id)

    def of_joins(connection: sa.Connection) -> None:
        remembered = sa.text("INSERT INTO remembered_tools VALUES ('default', :who, 'look', 0)")
        connection.execute(remembered, {"who": joins.user_id})
        for who, provider in ((joins, "acme"), (joins, "zeta"), (stays, "zeta")):
            credentials.put(connection, "default", who.user_id, Connected(provider, "api", NOON), f"of {who.user_id}")

    await store.commit(of_joins)
    held = await store.commit(link, stays=stays, joins=joins)
    assert await store.read(lambda c: approvals.is_remembered(c, *both, "look"))
    for provider, owner in (("acme", joins), ("zeta", stays)):
        found = await store.read(lambda c, provider=provider: credentials.find(c, *both, provider))
        assert found is not None
        assert (f"of {owner.user_id}", owner.user_id) == (found.sealed, found.user_id)
    assert ["acme", "zeta"] == [
        each.provider for each in await store.read(lambda c: credentials.list_connected(c, *both))
    ]
    await store.commit(linking.undo, link_id=held, by=stays.user_id, now=NOON)
    assert ["zeta"] == [each.provider for each in await store.read(lambda c: credentials.list_connected(c, *both))]
    assert not await store.read(lambda c: approvals.is_remembered(c, *both, "look"))
    await store.commit(link, stays=stays, joins=joins)
    await store.commit(lambda c: approvals.forget(c, *both, "look"))
    assert not await store.read(lambda c: approvals.is_remembered(c, *both, "look"))


async def test_a_question_to_who_joins_is_withdrawn_and_a_later_one_is_asked_of_both(store: Store) -> None:
    stays, joins = await two_people(store)

    async def asked_of(person: Person, id_: str) -> Approval:
        state = await store.commit(lambda c: journal.open_session(c, "default", f"key {id_}", "steer", 1, NOON))
        place = Address("telegram", "main", "1")
        turn = TurnRow(id_, "default", state.id, person.user_id, "chat", place, "1", NOON)
        await store.commit(lambda c: journal.begin_turn(c, turn))
        question = Approval(
            id=id_,
            tenant="default",
            turn_id=id_,
            user_id=person.user_id,
            call_key=f"{id_}/0/0",
            tool="look",
            fingerprint="f",
            may_remember=True,
            numbered=False,
            asked_at=NOON,
            until=NOON + timedelta(hours=1),
        )
        await store.commit(lambda c: approvals.ask(c, question))
        return question

    await asked_of(joins, "before")
    await store.commit(link, stays=stays, joins=joins)
    first = await store.read(partial(approvals.by_id, id_="before"))
    assert first is not None and Consent.WITHDRAWN is first.state
    after = new_id()
    await asked_of(stays, after)
    sender = await store.read(partial(people.find_sender, tenant="default", sender_key="discord:2"))
    assert sender is not None
    asked = invocation("run", short_id(after), Principal(sender.user_id, "default"))
    wanted = await answer_question(asked)
    assert isinstance(wanted, Write)
    assert (after,) == (await store.commit(wanted.run)).changed.unparked


async def test_two_skills_of_one_name_are_shown_until_they_are_merged(store: Store) -> None:
    stays, joins = await two_people(store)
    held = await store.commit(link, stays=stays, joins=joins)
    who = Principal(stays.user_id, "default")
    found = await store.read(lambda c: practice_rows.all_skills(c, who, include_archived=False))
    assert [("guitar", 30), ("guitar", 30)] == [(skill.name, skill.total_minutes) for skill in found]
    merged = await store.commit(lambda tx: writer.merge_skills(Change(tx, who, "k", NOON), "guitar", "guitar"))
    assert (1, 60) == (merged["sessions_moved"], merged["total_minutes"])
    await store.commit(linking.undo, link_id=held, by=stays.user_id, now=NOON)
    for person, minutes in ((stays, {"guitar": 60}), (joins, {})):
        assert minutes == await store.read(partial(practised, user_id=person.user_id))


async def test_of_two_plans_for_a_week_the_newer_holds(store: Store) -> None:
    stays, joins = await two_people(store)
    week = NOON.date()
    for number, person in enumerate((stays, joins)):
        who, now = Principal(person.user_id, "default"), NOON + timedelta(hours=number)
        keep = partial(writer.save_plan, plan=WeeklyPlan(week, f"plan {number}"))
        await store.commit(lambda tx, who=who, now=now, keep=keep: keep(Change(tx, who, "k", now)))
    who = Principal(stays.user_id, "default")
    held = await store.commit(link, stays=stays, joins=joins)
    for expected in ("plan 1", "plan 0"):
        plan_now = await store.read(partial(practice_rows.plan_of, principal=who, week=week))
        assert (expected, [expected]) == (
            plan_now and plan_now.content,
            [each.content for each in await store.read(partial(practice_rows.plans, principal=who, limit=5))],
        )
        await store.commit(linking.undo, link_id=held, by=stays.user_id, now=NOON)


async def test_rules_of_a_conversation_hold_for_both(store: Store) -> None:
    stays, joins = await two_people(store)

    def of_both(connection: sa.Connection) -> str:
        session = journal.open_session(connection, "default", "agent:coach:sim:main:group:1", "steer", 1, NOON)
        for who, fingerprint in ((joins, ""), (joins, "abc"), (stays, "")):
            rule = SessionRule(
                tenant="default",
                session_id=session.id,
                user_id=who.user_id,
                verdict=Verdict.DENY,
                rule="look",
                fingerprint=fingerprint,
                since=NOON,
            )
            assert session_rules.put(connection, rule)
        return session.id

    session_id = await store.commit(of_both)
    apart = await store.read(lambda c: session_rules.of_session(c, session_id))
    assert {joins.user_id: 2, stays.user_id: 1} == {user_id: len(rules) for user_id, rules in apart.items()}
    await store.commit(link, stays=stays, joins=joins)
    together = await store.read(lambda c: session_rules.of_session(c, session_id))
    assert {stays.user_id: 3} == {user_id: len(rules) for user_id, rules in together.items()}
    mine = await store.read(lambda c: session_rules.find(c, session_id, stays.user_id))
    await store.commit(session_rules.take_back, unwanted=mine)
    assert {} == await store.read(lambda c: session_rules.of_session(c, session_id))
