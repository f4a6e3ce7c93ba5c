"""Writes on every store: order, groups, bad jobs, cancellation, the end."""

import asyncio

import pytest
import sqlalchemy as sa

from agent.errors import Fenced
from gateway.errors import StoreUnavailable
from gateway.store import journal
from gateway.store.dialect import upsert
from gateway.store.engine import Store
from gateway.store.tables.base import EPOCH
from gateway.store.tables.people import audit
from gateway.store.tables.traffic import channel_accounts
from gateway.store.writer import SwallowedError
from tests.contract.stores import StoreCase, note, subjects

ACCOUNT = {"tenant_id": "t", "channel": "telegram", "account": "a"}


def bad_job(connection: sa.Connection) -> None:
    note("written before the failure")(connection)
    connection.execute(channel_accounts.insert(), [ACCOUNT, ACCOUNT])


class TestWrites:
    async def test_callers_hear_in_the_order_of_their_commits(self, store: Store) -> None:
        heard: list[int] = []

        async def commit(number: int) -> None:
            heard.append(await store.commit(note(str(number))))

        async with asyncio.TaskGroup() as tasks:
            for number in range(300):
                tasks.create_task(commit(number))
        assert sorted(heard) == heard

    async def test_what_a_group_asks_at_its_end_hurts_its_own_job_alone(self, store: Store) -> None:

        def fenced(connection: sa.Connection, epoch: int, subject: str) -> None:
            note(subject)(connection)
            journal.check_fence(connection, journal.Fence(epoch % 3, epoch))

        good = [store.queue(fenced, epoch=0, subject=str(n)) for n in range(3)]
        bad = store.queue(fenced, epoch=7, subject="fenced")
        good.append(store.queue(fenced, epoch=0, subject="3"))
        with pytest.raises(Fenced):
            await bad
        assert [None] * 4 == [await one for one in good]
        assert ["0", "1", "2", "3"] == await store.read(subjects)

    async def test_a_job_that_swallows_a_database_error_does_not_hold(self, store: Store) -> None:

        def swallow(connection: sa.Connection) -> None:
            note("never")(connection)
            try:
                connection.execute(channel_accounts.insert(), [ACCOUNT, ACCOUNT])
            except sa.exc.IntegrityError:
                return

        good, swallowed = store.queue(note("good")), store.queue(swallow)
        with pytest.raises(SwallowedError):
            await swallowed
        await good
        assert ["good"] == await store.read(subjects)

    async def test_a_text_that_is_longer_than_its_column_is_refused(self, store: Store) -> None:
        room = audit.c.action.type.length
        assert isinstance(room, int)

        def act(connection: sa.Connection, action: str) -> None:
            values = {"tenant_id": "t", "at": EPOCH, "actor": "cli", "action": action, "subject": "s", "detail": ""}
            connection.execute(audit.insert(), values)

        await store.commit(act, "é" * room)
        with pytest.raises(sa.exc.DBAPIError):
            await store.commit(act, "é" * (room + 1))

    async def test_a_group_of_thousands_with_bad_jobs_in_it_keeps_the_good_ones(self, store: Store) -> None:
        futures = [store.queue(bad_job if n % 100 == 50 else note(str(n))) for n in range(1000)]
        results = [result for future in futures if (result := await settled(future)) is not None]
        assert sorted(results) == results
        assert [str(n) for n in range(1000) if n % 100 != 50] == await store.read(subjects)

    async def test_commit_passes_arguments_and_outlives_its_cancelled_caller(self, store: Store) -> None:

        def add(connection: sa.Connection, subject: str, *, twice: bool) -> list[int]:
            return [note(subject)(connection) for _ in range(1 + twice)]

        async with asyncio.TaskGroup() as tasks:
            lost = tasks.create_task(store.commit(add, "lost", twice=False))
            await asyncio.sleep(0)
            lost.cancel()
        assert [2, 3] == await store.commit(add, "told", twice=True)
        assert ["lost", "told", "told"] == await store.read(subjects)

    async def test_upsert_sets_only_what_it_names(self, store: Store) -> None:

        def move(cursor: str) -> None:
            def job(connection: sa.Connection) -> None:
                values = ACCOUNT | {"cursor": cursor, "last_heard_at": EPOCH}
                connection.execute(upsert(connection, channel_accounts, ("cursor",)), values)

            return job

        await store.commit(move("1"))
        await store.commit(move("2"))
        rows = await store.read(lambda c: c.execute(sa.select(channel_accounts.c.cursor)).all())
        assert [("2",)] == rows

    async def test_aclose_commits_what_is_queued_and_takes_no_more(self, case: StoreCase) -> None:
        store = await case.open()
        futures = [store.queue(note(str(n))) for n in range(600)]
        await store.aclose()
        assert all(future.done() for future in futures)
        with pytest.raises(StoreUnavailable):
            await store.try_commit(note("late"))
        await store.aclose()
        again = await case.open()
        assert [str(n) for n in range(600)] == await again.read(subjects)
        await again.aclose()


async def settled(future: asyncio.Future[int]) -> int | None:
    try:
        return await future
    except sa.exc.IntegrityError:
        return None
