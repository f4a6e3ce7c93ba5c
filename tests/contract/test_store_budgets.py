"""Caps on cost under concurrency, repetition and kills; the same on every store."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.budgets import Spending
from gateway.store import budgets, retention
from gateway.store.budgets import Cap, CapReached
from gateway.store.engine import Store
from gateway.store.tables.base import metadata
from gateway.store.tables.turns import budget_holds, budget_use

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
TOMORROW = datetime(2026, 3, 5, tzinfo=UTC)
USER = Cap("t", "user", "ana", "2026-03-04", 1000, None, TOMORROW)
TENANT = Cap("t", "tenant", "", "2026-03-04", None, 5000, TOMORROW)


def reserve(id_, most, caps=(USER, TENANT)):
    return partial(budgets.reserve, id_=id_, caps=caps, most=most, now=NOW)


def settle(id_, spent, caps=(USER, TENANT)):
    return partial(budgets.settle, id_=id_, caps=caps, spent=spent)


async def used(store: Store, cap: Cap = USER) -> Spending:
    return await store.read(partial(budgets.used_of, cap=cap))


async def test_what_is_settled_makes_room(store: Store) -> None:
    for _ in range(2):
        await store.commit(reserve("a", Spending(100, 1000)))
    with pytest.raises(CapReached) as reached:
        await store.commit(reserve("b", Spending(100, 1)))
    assert ("user", "usd") == (reached.value.cap.scope, reached.value.limit)
    for _ in range(2):
        await store.commit(settle("a", Spending(30, 999)))
    assert Spending(30, 999) == await used(store) == await used(store, TENANT)
    await store.commit(reserve("b", Spending(100, 1)))
    assert Spending(130, 1000) == await used(store)


async def test_calls_of_a_process_that_died_count_in_full(store: Store) -> None:
    await store.commit(reserve("a", Spending(100, 600)))
    assert 1 == await store.commit(budgets.forget_holds)
    await store.commit(settle("a", Spending()))
    assert Spending(100, 600) == await used(store)
    assert 0 == await store.read(lambda c: c.execute(sa.select(sa.func.count()).select_from(budget_holds)).scalar_one())


async def test_each_cap_is_told_of_once_when_it_is_nearly_used(store: Store) -> None:
    turn = Cap("t", "turn", "t1", "", 790, None, None)
    await store.commit(reserve("a", Spending(10, 790), caps=(USER, TENANT, turn)))
    near = partial(budgets.nearly_used, now=NOW, percent=80)
    assert [] == await store.read(near)
    await store.commit(reserve("b", Spending(10, 10)))
    (use,) = await store.read(near)
    assert (USER, Spending(20, 800), 80) == (use.cap, use.used, use.percent)
    assert [True, False] == [await store.commit(budgets.mark_told, cap=USER) for _ in range(2)]
    assert [] == await store.read(near)
    next_day = replace(USER, day="2026-03-05", resets_at=TOMORROW + timedelta(days=1))
    await store.commit(reserve("c", Spending(0, 990), caps=(next_day,)))
    assert [next_day] == [use.cap for use in await store.read(near)]
    in_use = await store.read(partial(budgets.in_use, now=NOW, limit=9))
    assert [next_day, USER, TENANT] == [use.cap for use in in_use]
    assert 4 == await store.commit(retention.take_budgets, before=NOW + timedelta(seconds=1))


# ---------------------------------------------------------------- whatever comes in whatever order

CALL = st.tuples(st.integers(0, 2), st.integers(1, 400), st.integers(0, 100))
STEPS = st.lists(st.one_of(CALL, st.integers(0, 20), st.just("kill")), max_size=30)


class Providers:
    def __init__(self, connection: sa.Connection, own: Sequence[Cap], whole: Cap) -> None:
        self.connection = connection
        self.own = own
        self.whole = whole
        self.taken = dict.fromkeys([*own, whole], Spending())
        self.open: dict[str, tuple[Cap, Spending, int]] = {}
        self.made = 0

    def begin(self, who: int, size: int, percent: int) -> None:
        """Ask, if there is room; in the end it takes so much of what is set aside."""
        self.made += 1
        id_, most = f"c{self.made}", Spending(size, size)
        with suppress(CapReached), self.connection.begin_nested():
            budgets.reserve(self.connection, id_, (self.own[who], self.whole), most, NOW)
            self.open[id_] = self.own[who], most, percent

    def end(self, number: int) -> None:
        if self.open:
            id_ = sorted(self.open)[number % len(self.open)]
            cap, most, percent = self.open.pop(id_)
            spent = Spending(most.tokens * percent // 100, most.microusd * percent // 100)
            budgets.settle(self.connection, id_, (cap, self.whole), spent)
            self._take(cap, spent)

    def kill(self) -> None:
        for cap, most, _ in self.open.values():
            self._take(cap, most)
        self.open.clear()
        budgets.forget_holds(self.connection)

    def _take(self, own: Cap, spent: Spending) -> None:
        for cap in (own, self.whole):
            before = self.taken[cap]
            self.taken[cap] = Spending(before.tokens + spent.tokens, before.microusd + spent.microusd)


@given(st.integers(1, 900), st.integers(1, 900), STEPS)
@settings(max_examples=25, deadline=None)
def test_no_interleaving_spends_more_than_a_cap(
    most_microusd: int, most_tokens: int, steps: list[tuple[int, int, int] | int | str]
) -> None:
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        metadata.create_all(connection, tables=[budget_use, budget_holds])
        own = [replace(USER, key=key, most_microusd=most_microusd) for key in "abc"]
        world = Providers(connection, own, replace(TENANT, most_tokens=most_tokens))
        for step in steps:
            match step:
                case tuple():
                    world.begin(*step)
                case int():
                    world.end(step)
                case _:
                    world.kill()
        assert all(world.taken[cap].microusd <= most_microusd for cap in own)
        assert world.taken[world.whole].tokens <= most_tokens
        if not world.open:
            assert all(spent == budgets.used_of(connection, cap) for cap, spent in world.taken.items())
    engine.dispose()
