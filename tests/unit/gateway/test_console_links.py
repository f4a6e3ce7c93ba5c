"""Console links: once, within ten minutes, also after a restart; no table has the secret."""

from pathlib import Path

import sqlalchemy as sa

from gateway.access.codes import reveal
from gateway.console.logins import ConsoleLogins
from gateway.store.tables.people import tickets
from tests.fakes.people import KEY, NOON, minutes
from tests.fakes.spine import quick_store


async def test_a_link_opens_the_console_once_and_in_time(tmp_path: Path) -> None:
    store, now = await quick_store(tmp_path / "tenk.db"), NOON
    logins = ConsoleLogins(store, KEY, lambda: now, lambda: 0.0)
    (used, ref), (late, _) = await logins.make_token("cli"), await logins.make_token("cli")
    assert used == reveal(KEY, ref, "•" * 32)
    logins = ConsoleLogins(store, KEY, lambda: now, lambda: 0.0)
    opened = [await logins.open_with(secret) for secret in (used, used, "A" * 32)]
    assert [True, False, False] == [token is not None for token in opened]
    visitor = await logins.visitor(opened[0] or "")
    assert visitor is not None
    assert ("cli", True) == (visitor.by, visitor.acts)
    now += minutes(10)
    assert await logins.open_with(late) is None
    rows = await store.read(lambda connection: repr(connection.execute(sa.select(tickets)).all()))
    assert not [secret for secret in (used, late) if secret in rows]
    await store.aclose()
