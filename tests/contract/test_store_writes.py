"""What every store promises of its writes: order, groups, bad jobs, cancellation, the end."""

import asyncio
from functools import partial

import pytest
import sqlalchemy as sa

from agent.errors import Fenced
from gateway.errors import StoreUnavailable
from gateway.store import journal
from gateway.store.dialect import insert_new, upsert
from gateway.store.engine import Store
from gateway.store.tables.base import EPOCH
from gateway.store.tables.traffic import channel_accounts
from gateway.store.writer import SwallowedError
from tests.contract.stores import StoreCase, note, subjects

ACCOUNT = {"tenant_id": "t", "channel": "telegram", "account": "a"}


def bad_job(connection: sa.Connection) -> None:
    """Violates a key after it wrote something."""
    note("written before the failure")(connection)
    connection.execute(channel_accounts.insert(), [ACCOUNT, ACCOUNT])


class TestWrites:
    """One class over every store."""

    async def test_jobs_commit_in_the_order_they_were_queued(self, store: Store) -> None:
        """Row numbers follow the order of the calls, across groups and tasks."""
        futures: list[asyncio.Future[int]] = []

        async def producer(number: int) -> None:
            for n in range(40):
                futures.append(store.write(note(f"{number}.{n}"), lasting=False))
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as group:
            for number in range(15):
                group.create_task(producer(number))
        numbers = [await future for future in futures]
        assert sorted(numbers) == numbers
        assert 600 == len(set(numbers))

    async def test_after_is_called_in_order_and_before_the_future_resolves(self, store: Store) -> None:
        """What hangs on a commit happens in commit order, and whoever waits for the job finds it done."""
        seen: list[int] = []
        futures = [store.write(note(str(n)), seen.append, lasting=False) for n in range(300)]
        first = await futures[0]
        assert first in seen
        assert [await future for future in futures] == seen

    async def test_what_a_group_asks_at_its_end_hurts_its_own_job_alone(self, store: Store) -> None:
        """A fence that fell is its job's error; what others wrote holds."""

        def fenced(connection: sa.Connection, epoch: int, subject: str) -> None:
            note(subject)(connection)
            journal.check_fence(connection, journal.Fence(epoch % 3, epoch))

        good = [store.write(partial(fenced, epoch=0, subject=str(n)), lasting=False) for n in range(3)]
        bad = store.write(partial(fenced, epoch=7, subject="fenced"), lasting=False)
        good.append(store.write(partial(fenced, epoch=0, subject="3"), lasting=False))
        with pytest.raises(Fenced):
            await bad
        assert [None] * 4 == [await one for one in good]
        assert ["0", "1", "2", "3"] == await store.read(subjects)

    async def test_a_bad_job_hurts_nobody_else_in_its_group(self, store: Store) -> None:
        """Its caller gets its own error, nothing of it holds, the jobs before and after it do."""
        before, bad, after = (
            store.write(note("before"), lasting=False),
            store.write(bad_job, lasting=False),
            store.write(note("after"), lasting=False),
        )
        with pytest.raises(sa.exc.IntegrityError):
            await bad
        assert await before < await after
        assert ["before", "after"] == await store.read(subjects)
        assert store.healthy

    async def test_an_error_that_is_no_database_error_reaches_the_caller_too(self, store: Store) -> None:
        """A job may refuse by raising; what it wrote until then is undone."""

        def refuse(connection: sa.Connection) -> None:
            note("never")(connection)
            raise LookupError("no such session")

        with pytest.raises(LookupError, match="no such session"):
            await store.write(refuse, lasting=False)
        assert [] == await store.read(subjects)

    async def test_a_job_that_swallows_a_database_error_does_not_hold(self, store: Store) -> None:
        """PostgreSQL would roll such a group back and report success; here the job's author hears of it."""

        def swallow(connection: sa.Connection) -> None:
            note("never")(connection)
            try:
                connection.execute(channel_accounts.insert(), [ACCOUNT, ACCOUNT])
            except sa.exc.IntegrityError:
                return

        good, swallowed = store.write(note("good"), lasting=False), store.write(swallow, lasting=False)
        with pytest.raises(SwallowedError):
            await swallowed
        await good
        assert ["good"] == await store.read(subjects)

    async def test_an_after_that_fails_is_told_to_its_caller_only(self, store: Store) -> None:
        """The job holds, its caller hears what went wrong, the next job's caller nothing."""

        def fail(_: int) -> None:
            raise ValueError("nobody listens")

        first, second = store.write(note("first"), fail, lasting=False), store.write(note("second"), lasting=False)
        with pytest.raises(ValueError, match="nobody listens"):
            await first
        await second
        assert ["first", "second"] == await store.read(subjects)

    async def test_a_group_of_thousands_with_bad_jobs_in_it_keeps_the_good_ones(self, store: Store) -> None:
        """More jobs than a group takes, every hundredth bad: the rest hold, in order."""
        futures = [store.write(bad_job if n % 100 == 50 else note(str(n)), lasting=False) for n in range(1000)]
        results = [result for future in futures if (result := await settled(future)) is not None]
        assert sorted(results) == results
        assert [str(n) for n in range(1000) if n % 100 != 50] == await store.read(subjects)

    async def test_a_cancelled_caller_does_not_take_the_job_back(self, store: Store) -> None:
        """Whoever waited is gone; what was queued holds, and what hangs on it happens."""
        seen: list[int] = []
        future = store.write(note("queued"), seen.append, lasting=False)
        future.cancel()
        writing = asyncio.ensure_future(store.write(note("written")))  # noqa: TID251  cancelled two lines below
        await asyncio.sleep(0)
        writing.cancel()
        await store.write(note("last"))
        assert ["queued", "written", "last"] == await store.read(subjects)
        assert 1 == len(seen)

    async def test_commit_passes_arguments_and_outlives_its_cancelled_caller(self, store: Store) -> None:
        """The job is queued by the call, is committed without its caller, and the next caller is behind it."""

        def add(connection: sa.Connection, subject: str, *, twice: bool) -> list[int]:
            return [note(subject)(connection) for _ in range(1 + twice)]

        async with asyncio.TaskGroup() as tasks:
            lost = tasks.create_task(store.commit(add, "lost", twice=False))
            await asyncio.sleep(0)
            lost.cancel()
        assert [2, 3] == await store.commit(add, "told", twice=True)
        assert ["lost", "told", "told"] == await store.read(subjects)

    async def test_insert_new_leaves_a_row_that_is_there(self, store: Store) -> None:
        """A retry of the same insert changes nothing and says so."""

        def admit(connection: sa.Connection) -> int:
            return connection.execute(insert_new(connection, channel_accounts), ACCOUNT | {"cursor": "1"}).rowcount

        def admit_again(connection: sa.Connection) -> str | None:
            insert = insert_new(connection, channel_accounts).returning(channel_accounts.c.cursor)
            return connection.execute(insert, ACCOUNT | {"cursor": "2"}).scalar()

        assert 1 == await store.write(admit)
        assert 0 == await store.write(admit)
        assert await store.write(admit_again) is None

    async def test_upsert_sets_only_what_it_names(self, store: Store) -> None:
        """A row that is there keeps its other columns."""

        def move(cursor: str) -> None:
            def job(connection: sa.Connection) -> None:
                values = ACCOUNT | {"cursor": cursor, "last_heard_at": EPOCH}
                connection.execute(upsert(connection, channel_accounts, ("cursor",)), values)

            return job

        await store.write(move("1"))
        await store.write(move("2"))
        rows = await store.read(lambda c: c.execute(sa.select(channel_accounts.c.cursor)).all())
        assert [("2",)] == rows

    async def test_aclose_commits_what_is_queued_and_takes_no_more(self, case: StoreCase) -> None:
        """Nothing accepted is lost by a stop; what comes later is refused, not hung."""
        store = await case.open()
        futures = [store.write(note(str(n)), lasting=False) for n in range(600)]
        await store.aclose()
        assert all(future.done() for future in futures)
        with pytest.raises(StoreUnavailable):
            await store.write(note("late"), lasting=False)
        await store.aclose()
        again = await case.open()
        assert [str(n) for n in range(600)] == await again.read(subjects)
        await again.aclose()


async def settled(future: asyncio.Future[int]) -> int | None:
    """The future's result; None where the job failed on its keys."""
    try:
        return await future
    except sa.exc.IntegrityError:
        return None
