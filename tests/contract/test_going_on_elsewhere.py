"""A conversation that continues under another key, on every engine."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

import sqlalchemy as sa

from agent.ports import Summary
from agent.transcript import EndReason, TurnEnded, TurnStarted
from gateway.store import conversations, journal
from gateway.store.engine import Store
from gateway.store.tables.people import identities, users
from tests.contract.test_traffic_store import KEY, begun
from tests.fakes.people import NOON


async def test_a_conversation_is_continued_under_another_key(store: Store) -> None:
    there, turn = await begun(store)
    key, fast = "agent:coach:slack:main:direct:T1%3AU1:thread:7", NOON + timedelta(minutes=1)
    await store.commit(
        lambda c: journal.append(c, turn, 0, [TurnStarted(()), TurnEnded(EndReason.COMPLETED, "so")], fast)
    )
    await store.commit(journal.end_turn, turn_id="t1", reason=EndReason.COMPLETED, now=fast)

    def link(c: sa.Connection) -> None:
        row = {"tenant_id": "default", "role": "member", "display_name": "", "timezone": "UTC", "week_start": 0}
        for id_, alias_of in (("u9", None), ("u1", "u9")):
            c.execute(users.insert(), row | {"id": id_, "created_at": NOON, "alias_of": alias_of})
        row = {"tenant_id": "default", "user_id": "u9", "linked_at": NOON}
        for who in (("telegram", "", "42"), ("slack", "T1", "U1")):
            c.execute(identities.insert(), row | dict(zip(("channel", "scope", "sender"), who, strict=True)))
        conversations.keep_summary(c, turn, Summary("notes", "t1", 0, 1, 0), NOON)

    await store.commit(link)
    lists = partial(conversations.list_reachable, tenant="default", key=key, user_id="u9", most=5)
    (head,) = await store.read(lists)
    assert (there.id, KEY) == (head.id, head.key) and [head] == await store.read(partial(lists, id_end=there.id[-8:]))
    await store.commit(
        conversations.revive, tenant="default", key=key, session_id=there.id, user_id="u9", mode="steer", now=NOON
    )
    late, slow = replace(turn, id="t2"), NOON - timedelta(minutes=1)
    await store.commit(lambda c: journal.begin_turn(c, late))
    await store.commit(
        lambda c: journal.append(c, late, 2, [TurnStarted(()), TurnEnded(EndReason.COMPLETED, "no")], slow)
    )
    await store.commit(journal.end_turn, turn_id="t2", reason=EndReason.COMPLETED, now=slow)
    state = await store.read(partial(journal.load_session, tenant="default", key=key, limit=10))
    assert state is not None and [("u9", "t1", True)] == [(one.user_id, one.id, one.elsewhere) for one in state.past]
    assert ["u9"] == list(await store.read(partial(conversations.find_summaries, session_id=state.id)))
    by_id = {head.id: head for head in await store.read(lists)}
    assert ({there.id, state.id}, True, 0) == ({*by_id}, by_id[state.id].living, by_id[state.id].turns)
    ids = await store.read(lambda c: c.execute(conversations.gone_on(sa.select(sa.literal(there.id)))).scalars().all())
    assert {there.id, state.id} == set(ids)
