"""Rows of a table, the same on every engine."""

from dataclasses import replace

import pytest

from gateway.store.api_keys import KEYS, ApiKey
from gateway.store.engine import Store
from tests.fakes.people import NOON, minutes

KEY = ApiKey("aaaa", "default", "CI", "0" * 64, frozenset({"read", "chat"}), None, NOON, "cli")
OTHER = replace(KEY, id="bbbb", name="page", scopes=frozenset({"operate"}), created_at=NOON - minutes(1))


async def test_a_row_changes_once_on_a_condition(store: Store) -> None:
    await store.commit(KEYS.add, KEY)
    assert [1, 0] == [
        await store.commit(KEYS.patch, {"revoked_at": NOON}, id="aaaa", revoked_at=None) for _ in range(2)
    ]
    saved = replace(KEY, name="renamed")
    assert [True, False] == [await store.commit(KEYS.save, saved, revoked_at=NOON) for _ in range(2)]
    await store.commit(KEYS.put, OTHER)
    await store.commit(KEYS.put, replace(OTHER, scopes=frozenset()))
    assert [saved, replace(OTHER, scopes=frozenset())] == await store.read(KEYS.find)
    assert [1, 0] == [await store.commit(KEYS.delete, id="aaaa") for _ in range(2)]


async def test_a_tenant_reads_and_writes_its_own_rows_alone(store: Store) -> None:
    north, south = store.of("north"), store.of("south")
    await north.commit(KEYS.add, replace(KEY, tenant="north"))
    for write in (KEYS.add, KEYS.put, KEYS.save):
        with pytest.raises(RuntimeError, match="tenant 'south' writes a row of api_keys of another"):
            await south.commit(write, replace(KEY, tenant="north"))
    with pytest.raises(RuntimeError, match="the row of api_keys with this key is another tenant's"):
        await south.commit(KEYS.put, replace(KEY, tenant="south"))
    with pytest.raises(RuntimeError, match="tenant 'north' writes a row of api_keys of another"):
        await north.commit(KEYS.patch, {"tenant_id": "south"}, id="aaaa")
    assert 0 == await south.commit(KEYS.patch, {"name": "mine"}, id="aaaa")
    assert 0 == await south.commit(KEYS.delete, id="aaaa")
    assert [] == await south.read(KEYS.find)
    assert [replace(KEY, tenant="north")] == await north.read(KEYS.find)
