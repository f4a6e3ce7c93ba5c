"""Erasure of a person, on every engine: the same statements, the same rows left."""

from dataclasses import replace

import sqlalchemy as sa

from agent.budgets import Spending
from gateway.ops.personal_data import Eraser
from gateway.store import erasure
from gateway.store.budgets import Cap, reserve, used_of
from gateway.store.engine import Store
from gateway.store.erasure import Extent, Progress
from gateway.store.people import BY_POLICY, Newcomer, enrol, person_of
from gateway.store.tables.people import audit, users
from gateway.store.tables.traffic import inbox
from gateway.store.tables.turns import turns
from tests.fakes.spine import NOON
from tests.fakes.talks import ANA, BEN, carried_out, fill, mark

CAP = Cap("default", "user", ANA, "2026-03-04", None, 100, NOON.replace(hour=23))


async def keep_files(_tenant: str, _user_id: str) -> None:
    pass


async def test_everything_of_one_goes_and_the_other_stays(store: Store) -> None:

    def story(connection: sa.Connection) -> list[object]:
        fill(connection)
        reserve(connection, "hold", [CAP], Spending(90), NOON)
        done = [carried_out(connection, extent)[-1] for extent in (Extent.TALK, Extent.EVERYTHING)]
        assert [Progress.DONE, Progress.DONE] == done
        assert 1 == len(erasure.lately(connection)) and not erasure.pending(connection)
        newcomer = Newcomer("default", "telegram:42", "telegram:main", "Ana", "member", BY_POLICY, former_id=ANA)
        again = enrol(connection, newcomer, NOON)
        own = replace(CAP, key=again.user_id)
        assert Spending(90) == used_of(connection, own)
        left = list(connection.execute(sa.select(users.c.id)).scalars())
        assert {BEN, again.user_id} == set(left)
        rows = connection.execute(sa.select(inbox.c.sender).order_by(inbox.c.id)).scalars()
        return [*rows, *connection.execute(sa.select(turns.c.id)).scalars(), connection.execute(told).scalar_one()]

    told = sa.select(audit.c.detail).where(audit.c.action == "person_forgotten").order_by(audit.c.id.desc()).limit(1)
    left = ["forgotten", "forgotten", "telegram:43", "telegram:43", "turn3", "everything"]
    assert left == await store.commit(story)


async def test_another_tenants_rows_of_the_same_sender_stay(store: Store) -> None:
    waits = {
        "id": 1,
        "tenant_id": "acme",
        "channel": "telegram",
        "account": "acme",
        "chat": "42",
        "event_id": "update:900",
        "kind": "message",
        "sender": "telegram:42",
        "user_id": "019a0000-0000-7000-8000-0000000000aa",
        "session_key": "agent:coach:telegram:acme:direct:42",
        "payload": '{"text":"what acme was told"}',
        "received_at": NOON,
        "admitted_at": NOON,
        "attempts": 0,
        "outcome": None,
    }

    def story(connection: sa.Connection) -> None:
        fill(connection)
        connection.execute(sa.update(inbox).where(inbox.c.id == 1).values(id=10))
        connection.execute(sa.insert(inbox), waits)
        ana = person_of(connection, ANA)
        assert ana is not None
        erasure.ask(connection, ana, Extent.EVERYTHING, 10, NOON, NOON, mark)

    await store.commit(story)
    await Eraser(store, erasure.erase, lambda *_: None, keep_files, lambda: NOON).look()
    assert [] == await store.read(erasure.pending)
    of_acme = sa.select(inbox.c.payload, inbox.c.session_key, inbox.c.sender).where(inbox.c.tenant_id == "acme")
    [left] = await store.read(lambda connection: connection.execute(of_acme).all())
    assert (waits["payload"], waits["session_key"], waits["sender"]) == tuple(left)
