"""Statements that were executed before, on both databases: the driver's answers are SQLAlchemy's."""

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from gateway.store.engine import Connection, Store
from gateway.store.prepared import Driven
from gateway.store.tables.traffic import parked_lanes

NOW = datetime(2026, 11, 28, 12, 30, tzinfo=UTC)
INSERT = sa.insert(parked_lanes)
FIND = (
    sa.select(parked_lanes.c.lane, parked_lanes.c.parked_at)
    .where(parked_lanes.c.reason == sa.bindparam("b_reason"))
    .order_by(parked_lanes.c.lane)
)
UNPARK = sa.delete(parked_lanes).where(parked_lanes.c.lane == sa.bindparam("b_lane"))


def park(connection: Connection, tenant: str, *lanes: str) -> None:
    for lane in lanes:
        values = {"tenant_id": tenant, "lane": lane, "reason": "blocked", "parked_at": NOW}
        connection.execute(INSERT, values)


def find(connection: Connection) -> list[tuple[str, datetime]]:
    result = connection.execute(FIND, {"b_reason": "blocked"})
    return [(row.lane, row.parked_at) for row in result]


async def test_rows_have_the_types_of_their_columns_each_time(store: Store) -> None:
    await store.commit(park, "default", "a", "b")

    for _ in range(3):
        assert await store.read(find) == [("a", NOW), ("b", NOW)]


async def test_the_driver_executes_a_statement_from_the_second_time_on(store: Store) -> None:
    def kinds(connection: Connection) -> list[bool]:
        again = sa.select(parked_lanes.c.lane)
        return [isinstance(connection.execute(again), Driven) for _ in range(3)]

    assert await store.commit(kinds) == [False, True, True]


async def test_a_repeated_statement_meets_only_the_acting_tenants_rows(store: Store) -> None:
    await store.commit(park, "blue", "a")
    await store.commit(park, "green", "b")

    for _ in range(2):
        assert [("a", NOW)] == await store.of("blue").read(find)
        assert [("b", NOW)] == await store.of("green").read(find)
        assert [("a", NOW), ("b", NOW)] == await store.read(find)


async def test_a_repeated_statement_tells_how_many_rows_it_changed(store: Store) -> None:
    await store.commit(park, "default", "a", "b", "c")

    def unpark(connection: Connection) -> list[int]:
        return [connection.execute(UNPARK, {"b_lane": lane}).rowcount for lane in ("a", "b", "b", "c")]

    assert await store.commit(unpark) == [1, 1, 0, 1]


async def test_a_repeated_statement_takes_several_rows(store: Store) -> None:
    def park_all(connection: Connection) -> None:
        for lanes in ("ab", "cd", "e"):
            connection.execute(
                INSERT,
                [{"tenant_id": "default", "lane": lane, "reason": "blocked", "parked_at": NOW} for lane in lanes],
            )

    await store.commit(park_all)

    assert [lane for lane, _ in await store.read(find)] == list("abcde")


async def test_a_repeated_statement_fails_as_sqlalchemy_fails(store: Store) -> None:
    with pytest.raises(sa.exc.IntegrityError):
        await store.commit(park, "default", "a", "b", "c", "a")

    assert await store.read(find) == []


async def test_a_value_that_cannot_be_bound_fails_as_with_sqlalchemy(store: Store) -> None:
    def park_without_offset(connection: Connection) -> None:
        park(connection, "default", "a", "b")
        values = {"tenant_id": "default", "lane": "c", "reason": "blocked", "parked_at": NOW.replace(tzinfo=None)}
        connection.execute(INSERT, values)

    with pytest.raises(sa.exc.StatementError):
        await store.commit(park_without_offset)

    assert await store.read(find) == []


async def test_a_swallowed_error_of_a_repeated_statement_undoes_the_job(store: Store) -> None:
    def swallow(connection: Connection) -> None:
        park(connection, "default", "a", "b")
        try:
            park(connection, "default", "a")
        except sa.exc.IntegrityError:
            return

    with pytest.raises(Exception, match="caught a database error"):
        await store.commit(swallow)

    assert await store.read(find) == []
