"""Rows of memories, the same on every engine."""

from dataclasses import fields, replace

import pytest
import sqlalchemy as sa

from agent.memory.memory import Memory, MemoryOrigin, MemoryType
from gateway.store import memory as rows
from gateway.store import people
from gateway.store.engine import Store
from gateway.store.erasure import ERASURES, Erasure, Extent, Progress, erase, of_person
from gateway.store.memory import MAX_MEMORIES, MEMORIES, MemoryFull, MemoryOwner, NameTaken
from gateway.store.people import Newcomer
from gateway.store.tables.base import new_id
from tests.fakes.people import NOON, minutes

MORNINGS = Memory(
    name="mornings",
    type=MemoryType.USER,
    description="Practises best in the morning",
    body="Mornings work better than evenings.",
    origin=MemoryOrigin.SAID,
    source="turn/0/0",
    created_at=NOON,
    updated_at=NOON,
)
GOAL = replace(MORNINGS, name="goal", description="Wants to play a concert on 2027-06-01", updated_at=NOON + minutes(5))
ANN = MemoryOwner("default", "coach", "ann")


async def test_a_memory_is_added_once_changed_and_forgotten(store: Store) -> None:
    await store.commit(rows.save_memory, ANN, MORNINGS)
    with pytest.raises(NameTaken):
        await store.commit(rows.save_memory, ANN, MORNINGS)
    later = replace(MORNINGS, body="Not on Mondays.", origin=MemoryOrigin.PERSON, updated_at=NOON + minutes(9))
    changed = await store.commit(rows.change_memory, ANN, later)
    await store.commit(rows.put_memory, ANN, GOAL)
    assert changed is not None and (changed.revision, changed.created_at) == (2, NOON)
    listed = await store.read(lambda tx: rows.list_memories(tx, ANN))
    assert [("mornings", "Not on Mondays."), ("goal", GOAL.body)] == [(each.name, each.body) for each in listed]
    assert ["mornings"] == [each.name for each in await store.read(lambda tx: rows.list_heads(tx, ANN, 1))]
    assert [True, False] == [await store.commit(rows.forget_memory, ANN, "goal") for _ in range(2)]
    assert await store.commit(rows.change_memory, ANN, GOAL) is None


async def test_agents_people_and_tenants_have_memories_of_their_own(store: Store) -> None:
    owners = [ANN, replace(ANN, user_id="bob"), replace(ANN, agent="planner"), replace(ANN, tenant="north")]
    for each in owners:
        await store.of(each.tenant).commit(rows.save_memory, each, replace(MORNINGS, body=str(each)))
    for each in owners:
        found = await store.of(each.tenant).read(lambda tx, each=each: rows.list_memories(tx, each))
        assert [str(each)] == [memory.body for memory in found]
    assert 1 == await store.of("default").commit(rows.forget_memories, ANN)
    assert 3 == await store.read(MEMORIES.count)


async def _enrol(store: Store, sender: str) -> str:
    known = await store.commit(people.enrol, Newcomer("default", sender, "", sender, "member", "cli"), NOON)
    return known.user_id


async def test_linked_users_share_their_memories_and_part_with_their_own(store: Store) -> None:
    ann, phone = await _enrol(store, "telegram:1"), await _enrol(store, "web:2")
    mine, theirs = replace(ANN, user_id=ann), replace(ANN, user_id=phone)
    await store.commit(rows.save_memory, mine, MORNINGS)
    await store.commit(rows.save_memory, theirs, replace(MORNINGS, body="newer", updated_at=NOON + minutes(1)))
    await store.commit(rows.save_memory, theirs, GOAL)
    await store.commit(people.join, phone, ann)
    listed = await store.read(lambda tx: rows.list_memories(tx, mine))
    assert ["goal", "mornings"] == [each.name for each in listed]
    assert "newer" == listed[1].body
    await store.commit(people.part, phone)
    assert ["mornings"] == [each.name for each in await store.read(lambda tx: rows.list_memories(tx, mine))]


@pytest.mark.parametrize("extent", Extent)
async def test_an_erasure_takes_the_memories_and_an_export_has_them(store: Store, extent: Extent) -> None:
    store = store.of("default")
    ann, bob = await _enrol(store, "telegram:1"), await _enrol(store, "telegram:2")
    for user_id in (ann, bob):
        await store.commit(rows.save_memory, replace(ANN, user_id=user_id), MORNINGS)
    exported = (await store.read(lambda tx: of_person(tx, ann)))["memories"]
    assert isinstance(exported, list) and [MORNINGS.body] == [row["body"] for row in exported if isinstance(row, dict)]
    erasure = Erasure(new_id(), "default", ann, extent, (), (), (), 0, NOON)
    await store.commit(ERASURES.add, erasure)
    assert Progress.DONE is await store.commit(erase, erasure, NOON)
    assert [bob] == [row.user_id for row in await store.read(MEMORIES.find)]


async def test_an_agent_keeps_a_bounded_number(store: Store) -> None:
    first = await store.commit(rows.save_memory, ANN, MORNINGS)
    values = {each.name: getattr(first, each.name) for each in fields(first) if each.name != "tenant"}

    def fill(connection: people.Connection) -> None:
        more = [
            {**values, "tenant_id": first.tenant, "id": new_id(), "name": f"memory-{number}"}
            for number in range(1, MAX_MEMORIES)
        ]
        connection.execute(sa.insert(MEMORIES.table), more)

    await store.commit(fill)
    with pytest.raises(MemoryFull):
        await store.commit(rows.save_memory, ANN, GOAL)
    assert 200 == len(await store.read(lambda tx: rows.list_heads(tx, ANN, 200)))
