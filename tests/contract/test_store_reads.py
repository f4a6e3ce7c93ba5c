"""Reads and stored values, the same on every store."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.util import await_only

from gateway.store.engine import Store, reading
from gateway.store.tables.people import audit
from gateway.store.tables.traffic import channel_accounts
from tests.contract.stores import StoreCase, note, subjects


class TestReads:
    async def test_a_read_sees_what_was_committed(self, store: Store) -> None:
        for n in range(20):
            await store.commit(note(str(n)))
            assert n + 1 == len(await store.read(subjects))

    async def test_one_read_sees_one_moment(self, store: Store) -> None:
        await store.commit(note("early"))

        async def write_late() -> None:
            await store.commit(note("late"))

        loop = asyncio.get_running_loop()

        def twice(connection: sa.Connection) -> tuple[list[str], list[str]]:
            before = subjects(connection)
            late = asyncio.run_coroutine_threadsafe(write_late(), loop)
            if store.dialect == "sqlite":  # read in a thread
                late.result(10)
            else:  # in the loop that writes, too
                await_only(asyncio.wrap_future(late))
            return before, subjects(connection)

        assert (["early"], ["early"]) == await store.read(twice)
        assert ["early", "late"] == await store.read(subjects)

    async def test_a_look_beside_the_writer_sees_what_is_committed(self, case: StoreCase, store: Store) -> None:
        await store.commit(note("early"))
        async with reading(case.url) as look:
            assert ["early"] == await look.read(subjects)
            await store.commit(note("late"))
            assert ["early", "late"] == await look.read(subjects)
            with pytest.raises(sa.exc.DBAPIError):
                await look.read(note("never"))
        assert ["early", "late"] == await store.read(subjects)

    async def test_a_write_in_a_read_is_refused(self, store: Store) -> None:
        with pytest.raises(sa.exc.DBAPIError):
            await store.read(note("never"))
        assert [] == await store.read(subjects)

    async def test_a_read_that_fails_leaves_nothing_of_what_it_saw(self, store: Store) -> None:
        first = [str(number) for number in range(50)]
        for subject in first:
            await store.commit(note(subject))

        def unreadable(row: sa.Row[Any]) -> str:
            raise LookupError(row.subject)

        def broken(connection: sa.Connection) -> list[str]:
            return [unreadable(row) for row in connection.execute(sa.select(audit))]  # its frame holds on to the rows

        kept: list[LookupError] = []
        for _ in range(8):  # more than there are readers
            try:
                await store.read(broken)
            except LookupError as error:
                kept.append(error)
        await store.commit(note("late"))
        for _ in kept:
            assert [*first, "late"] == await store.read(subjects)


class TestValues:
    @pytest.mark.parametrize(
        "moment",
        [
            datetime(2026, 11, 20, 17, 44, 3, 123_456, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        ],
    )
    async def test_an_instant_comes_back_to_the_microsecond(self, store: Store, moment: datetime) -> None:
        row = {"tenant_id": "t", "channel": "c", "account": "a", "last_heard_at": moment}
        await store.commit(lambda c: c.execute(channel_accounts.insert(), row) and None)
        later = sa.select(channel_accounts.c.last_heard_at).where(
            channel_accounts.c.last_heard_at > moment - timedelta(microseconds=1)
        )
        assert moment == await store.read(lambda c: c.execute(later).scalar_one())

    @pytest.mark.parametrize(
        "text", ["Grüße 👩‍👩‍👧 漢字", "\u202eRTL\u200b", "'; DROP TABLE audit; --", "\\x00 %s ? :a"]
    )
    async def test_text_comes_back_as_it_was(self, store: Store, text: str) -> None:
        """Cover A90."""
        await store.commit(note(text))
        assert [text] == await store.read(subjects)

    async def test_a_nul_in_a_text_is_kept_or_refused_but_never_cut(self, store: Store) -> None:
        """Cover F40."""
        good, nul = store.queue(note("good")), store.queue(note("a\0b"))
        if store.dialect == "postgresql":
            with pytest.raises(sa.exc.DBAPIError):
                await nul
        await good
        kept = await store.read(lambda c: set(c.execute(sa.select(audit.c.subject)).scalars()))
        assert kept <= {"good", "a\0b"}
        assert store.healthy
