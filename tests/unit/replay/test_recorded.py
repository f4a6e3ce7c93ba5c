"""Recorded turns as the store has them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from agent.ports import Summary
from agent.transcript import ModelResponded, Usage
from gateway.errors import GatewayError
from gateway.operators.actions import OperationRefused
from gateway.operators.process import DetachedProcess
from gateway.operators.replay_models import ReplayWish, TurnQuery
from gateway.operators.service import Operators
from gateway.sessions.surroundings import StoredSurroundings
from gateway.store import conversations, recorded
from gateway.store.recorded import StoredPast, StoredTurn
from gateway.store.tables.turns import events, usage
from tests.fakes.past import add_past, direct_key
from tests.fakes.people import KEY
from tests.fakes.spine import NOON, QuickStore, quick_store

SAID = [("one", "First."), ("two", "Second."), ("three", "Third.")]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[QuickStore]:
    opened = await quick_store(tmp_path / "tenk.db")
    yield opened
    await opened.aclose()


async def add_turns(store: QuickStore) -> list[StoredTurn]:
    ids = await store.commit(add_past, direct_key("1"), "u", SAID, NOON)
    found = [await store.read(lambda connection, id_=id_: recorded.read_turn(connection, id_)) for id_ in ids]
    return [turn for turn in found if turn is not None]


async def past_of(store: QuickStore, turn: StoredTurn, limit: int = 100) -> StoredPast:
    return await store.read(partial(recorded.read_past, turn=turn.row, limit=limit))


async def test_a_turn_stands_behind_what_had_ended_before_it(store: QuickStore) -> None:
    first, _, third = await add_turns(store)
    past = await past_of(store, first)
    assert ((), None, False) == (past.turns, past.summary, past.begins_later)
    assert 2 == len((await past_of(store, third)).turns)
    assert 1 == len((await past_of(store, third, 2)).turns)
    await store.commit(lambda c: c.execute(sa.delete(events).where(events.c.turn_id == first.row.id)))
    past = await past_of(store, third)
    assert (1, True) == (len(past.turns), past.begins_later)


async def test_notes_stand_in_a_turn_only_if_they_were_made_before_it(store: QuickStore) -> None:
    first, second, third = await add_turns(store)
    noted = NOON + timedelta(seconds=90)
    await store.commit(conversations.keep_summary, first.row, Summary("Notes.", second.row.id), noted)
    before = await past_of(store, second)
    after = await past_of(store, third)
    assert (None, True) == (before.summary, before.summarised_since)
    assert after.summary is not None
    assert ("Notes.", False) == (after.summary.notes, after.summarised_since)


async def test_a_turn_is_named_by_the_end_of_its_id(store: QuickStore) -> None:
    first, second, _ = await add_turns(store)
    operators = Operators(store, KEY, lambda: NOON, DetachedProcess())
    assert first.row.id == (await operators.show_turn("cli", f" {first.row.id[-12:].upper()} ", TurnQuery())).turn.turn
    await store.commit(lambda c: c.exec_driver_sql("UPDATE turns SET id = substr(id, 1, 30) || 'abcdef'"))
    with pytest.raises(OperationRefused, match="several turns have an id that ends in"):
        await operators.show_turn("cli", "abcdef", TurnQuery())
    with pytest.raises(OperationRefused, match="no turn 123456 is kept"):
        await operators.show_turn("cli", "123456", TurnQuery())
    with pytest.raises(GatewayError, match="start it, a replay asks its models"):
        await operators.replay_turn("cli", f"{second.row.id[:30]}abcdef", ReplayWish())


async def test_the_calls_of_a_replay_are_counted_to_no_person(store: QuickStore) -> None:
    first, *_ = await add_turns(store)
    around = StoredSurroundings(store, first.row, replace(first.row, user_id="replay"), lambda: NOON, str)
    for text in ("one", "two"):
        await around.note_cost(ModelResponded(0, text, usage=Usage(10, 1, cost_microusd=5), model="openai:a"))
    rows = (await store.read(lambda c: c.execute(sa.select(usage.c.user_id, usage.c.step)))).all()
    assert [("replay", -1), ("replay", -2)] == [tuple(row) for row in rows]
    assert await around.whole_result("no/0/0") is None
    assert {} == await around.load_pictures(["none"])
