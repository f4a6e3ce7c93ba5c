"""Counts of outcomes: once, after their commit."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from gateway.store import inbox
from gateway.store.inbox import NewRow, Outcome
from gateway.telemetry import OUTCOMES, series
from tests.fakes.people import NOON, message
from tests.fakes.spine import quick_store


def refused(connection: sa.Connection) -> int | None:
    return inbox.admit(connection, NewRow(message("7"), outcome=Outcome.REFUSED), NOON)


def broken(connection: sa.Connection) -> None:
    refused(connection)
    raise ValueError("a bug")


async def test_an_outcome_is_counted_with_its_commit_alone(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    before = series(OUTCOMES, "refused")._value.get()  # noqa: SLF001  the client has no other way to read one series
    failing, first, again = (
        store.queue(broken),
        store.queue(refused),
        store.queue(refused),
    )
    with pytest.raises(ValueError, match="a bug"):
        await failing
    assert (1, None) == (await first, await again)
    after = series(OUTCOMES, "refused")._value.get()  # noqa: SLF001  as above
    await store.aclose()
    assert 1 == after - before
