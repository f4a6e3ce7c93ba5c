"""People and pairing mean the same on every engine."""

from dataclasses import replace
from functools import partial

from channels.messages import Address
from gateway.access import linking, pairing
from gateway.access.codes import code_of
from gateway.access.linking import Linked
from gateway.access.pairing import Approved, NotApproved, TellCode, Why
from gateway.coach.tables import PRACTICE_TABLES
from gateway.store import groups, people
from gateway.store.agent_tables import bring_up
from gateway.store.engine import Store
from gateway.store.people import BY_POLICY, Newcomer
from tests.fakes.linked import link, log_practice, practised
from tests.fakes.people import KEY, NOON, message, minutes


async def test_a_request_lives_and_ends_alike(store: Store) -> None:
    """Told, displaced, approved, used, expired: the same rows lead to the same answers."""
    asked = []
    for number in range(4):
        event = message(str(number), name="Añ\x00a\n", locale="es")
        told = await store.commit(pairing.request, event=event, now=NOON + minutes(5 * number), places=3)
        assert isinstance(told, TellCode)
        asked.append(told.request.id)
    at = NOON + minutes(16)
    give = [
        partial(pairing.approve_code, key=KEY, typed=code_of(KEY, request_id), approver="cli", now=at)
        for request_id in (asked[0], asked[1], asked[1])
    ]
    outcomes = [await store.commit(job) for job in give]
    late = partial(pairing.approve_request, request_id=asked[2], approver="cli", now=NOON + minutes(70))
    outcomes.append(await store.commit(late))
    assert [Why.DISPLACED, "owner", Why.USED, Why.EXPIRED] == [
        one.why if isinstance(one, NotApproved) else one.person.role for one in outcomes
    ]


async def test_a_lock_is_counted_alike(store: Store) -> None:
    """From rows, by one approver and by all."""
    guess = partial(pairing.approve_code, key=KEY, typed="22222222", approver="cli", now=NOON)
    outcomes = [await store.commit(guess) for _ in range(6)]
    assert [Why.WRONG] * 5 + [Why.LOCKED] == [one.why for one in outcomes if isinstance(one, NotApproved)]


async def test_enrolling_twice_makes_one_user(store: Store) -> None:
    """Whose grant by policy gives way to somebody's word, and not back."""
    by_policy = Newcomer("default", "slack:T1:U2", "slack:main", "Ana", "member", BY_POLICY)
    by_word = Newcomer("default", "slack:T1:U2", "slack:main", "Ana", "owner", "cli")
    seen = [
        await store.commit(people.enrol, newcomer=newcomer, now=NOON)
        for newcomer in (by_policy, by_policy, by_word, by_policy)
    ]
    assert 1 == len({person.user_id for person in seen})
    assert [False, False, True, True] == [person.grants == {"slack:main"} for person in seen]
    assert [seen[-1]] == await store.read(people.everybody)


async def test_a_block_denies_what_is_pending(store: Store) -> None:
    """And stays when the person asks again."""
    told = await store.commit(pairing.request, event=message("7"), now=NOON)
    assert isinstance(told, TellCode)
    block = partial(pairing.block, tenant="default", sender_key="telegram:7", name="Ben", by="cli", now=NOON)
    assert "blocked" == (await store.commit(block)).role
    approve = partial(pairing.approve_request, request_id=told.request.id, approver="cli", now=NOON)
    assert not isinstance(await store.commit(approve), Approved)


async def test_two_users_are_one_and_two_again_alike(store: Store) -> None:
    """Each has what was logged under their own user id, on every engine."""
    await store.commit(bring_up, agent="coach", tables=PRACTICE_TABLES)
    both = []
    for sender, skills in (("telegram:1", ("guitar",)), ("slack:T1:2", ("guitar", "piano"))):
        newcomer = Newcomer("default", sender, f"{sender.partition(':')[0]}:main", "Ana", "member", "cli")
        person = await store.commit(people.enrol, newcomer=newcomer, now=NOON)
        both.append(person)
        for skill in skills:
            logged = partial(log_practice, user_id=person.user_id, skill=skill, length=30)
            await store.commit(logged)
    stays, joins = both
    held = await store.commit(link, stays=stays, joins=joins)
    assert {"guitar": 60, "piano": 30} == await store.read(partial(practised, user_id=stays.user_id))
    await store.commit(log_practice, user_id=stays.user_id, skill="piano", length=5)
    undo = partial(linking.undo, link_id=held, by=stays.user_id, now=NOON)
    assert isinstance(await store.commit(undo), Linked)
    for person, expected in ((stays, {"guitar": 30, "piano": 5}), (joins, {"guitar": 30, "piano": 30})):
        assert expected == await store.read(partial(practised, user_id=person.user_id))
    assert both == await store.read(people.everybody)


async def test_groups_are_kept_alike(store: Store) -> None:
    """Made once, changed as often as it is said."""
    where = Address("telegram", "main", "-100")
    found = [await store.commit(groups.find, tenant="default", where=where) for _ in range(2)]
    assert found[0] == found[1]
    changed = replace(found[0], allowed=True, every_message=True, context=3)
    saved = [await store.commit(groups.GROUPS.save, row=changed) for _ in range(2)]
    assert [True, True] == saved
    assert [changed] == await store.read(groups.GROUPS.find)
    assert changed == await store.read(partial(groups.GROUPS.get, id=changed.id))
