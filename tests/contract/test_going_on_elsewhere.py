"""A conversation is gone on with under another key, on every engine; what people meet is in `tests/unit/sessions`."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

import sqlalchemy as sa

from agent.ports import Summary
from agent.transcript import EndReason, TurnEnded, TurnStarted
from gateway.store import journal, reach, summaries
from gateway.store.engine import Store
from gateway.store.tables.people import identities, users
from tests.contract.test_traffic_store import KEY, begun
from tests.fakes.people import NOON


async def test_a_conversation_is_gone_on_with_under_another_key(store: Store) -> None:
    """By who joined them by a link, with what had ended there and the notes; what is said there later is not in it."""
    there, turn = await begun(store)
    await store.write(
        lambda c: journal.append(c, turn, 0, [TurnStarted(()), TurnEnded(EndReason.COMPLETED, "so")], NOON)
    )
    await store.write(partial(journal.end_turn, turn_id="t1", reason=EndReason.COMPLETED, now=NOON))
    key, later = "agent:coach:slack:main:direct:T1%3AU1:thread:7", NOON + timedelta(minutes=1)

    def link(c: sa.Connection) -> None:
        row = {"tenant_id": "default", "role": "member", "display_name": "", "timezone": "UTC", "week_start": 0}
        for id_, joined in (("u9", None), ("u1", "u9")):
            c.execute(users.insert(), row | {"id": id_, "created_at": NOON, "joined": joined})
        row = {"tenant_id": "default", "user_id": "u9", "linked_at": NOON}
        for who in (("telegram", "", "42"), ("slack", "T1", "U1")):
            c.execute(identities.insert(), row | dict(zip(("channel", "scope", "sender"), who, strict=True)))
        summaries.keep(c, turn, Summary("notes", "t1", 0, 1, 0), NOON)

    await store.write(link)
    lists = partial(reach.list_reachable, tenant="default", key=key, user_id="u9", most=5)
    (head,) = await store.read(lists)
    assert (there.id, KEY) == (head.id, head.key) and [head] == await store.read(partial(lists, id_end=there.id[-8:]))
    await store.write(
        partial(reach.revive, tenant="default", key=key, session_id=there.id, user_id="u9", mode="steer", now=later)
    )
    late = replace(turn, id="t2")
    await store.write(lambda c: journal.begin_turn(c, late))
    await store.write(
        lambda c: journal.append(
            c, late, 2, [TurnStarted(()), TurnEnded(EndReason.COMPLETED, "no")], later + timedelta(1)
        )
    )
    await store.write(partial(journal.end_turn, turn_id="t2", reason=EndReason.COMPLETED, now=later + timedelta(1)))
    state = await store.read(partial(journal.load_session, tenant="default", key=key, limit=10))
    assert state is not None and [("u9", "t1", True)] == [(one.user_id, one.id, one.elsewhere) for one in state.past]
    assert ["u9"] == list(await store.read(partial(summaries.find, session_id=state.id)))
    _, here = await store.read(lists)
    assert (state.id, True, 0) == (here.id, here.living, here.turns)
    ids = await store.read(lambda c: c.execute(reach.gone_on(sa.select(sa.literal(there.id)))).scalars().all())
    assert {there.id, state.id} == set(ids)
