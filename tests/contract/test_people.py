"""People and pairing, the same on every engine."""

from functools import partial

from gateway.access import pairing
from gateway.access.codes import code_of
from gateway.access.pairing import Approved, NotApproved, TellCode, Why
from gateway.store import people
from gateway.store.engine import Store
from gateway.store.erasure import of_person
from gateway.store.people import Newcomer
from tests.fakes.people import KEY, NOON, message, minutes


async def test_a_request_lives_and_ends_alike(store: Store) -> None:
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
    guess = partial(pairing.approve_code, key=KEY, typed="22222222", approver="cli", now=NOON)
    outcomes = [await store.commit(guess) for _ in range(6)]
    assert [Why.WRONG] * 5 + [Why.LOCKED] == [one.why for one in outcomes if isinstance(one, NotApproved)]


async def test_a_block_denies_what_is_pending(store: Store) -> None:
    told = await store.commit(pairing.request, event=message("7"), now=NOON)
    assert isinstance(told, TellCode)
    block = partial(pairing.block, tenant="default", sender_key="telegram:7", name="Ben", by="cli", now=NOON)
    assert "blocked" == (await store.commit(block)).role
    approve = partial(pairing.approve_request, request_id=told.request.id, approver="cli", now=NOON)
    assert not isinstance(await store.commit(approve), Approved)


async def test_the_agents_chosen_at_accounts_are_kept_exported_and_taken_over_by_a_link(store: Store) -> None:
    store = store.of("default")
    ana = await store.commit(people.enrol, Newcomer("default", "telegram:1", "", "Ana", "member", "cli"), NOON)
    web = await store.commit(people.enrol, Newcomer("default", "web:2", "", "Ana", "member", "cli"), NOON)
    for user, account, agent in (
        (ana, "telegram:main", "finder"),
        (ana, "telegram:main", "host"),
        (web, "telegram:main", "clerk"),
        (web, "web:main", "finder"),
    ):
        await store.commit(people.set_agent, user.user_id, account, agent)
    await store.commit(people.join, web.user_id, ana.user_id)
    known = await store.read(partial(people.person_of, user_id=web.user_id))
    assert known is not None and {"telegram:main": "host", "web:main": "finder"} == known.agents
    exported = await store.read(partial(of_person, user_id=ana.user_id))
    assert "finder" in str(exported["users"])
