"""Console links and sessions: once, in time, also after a restart; no table has the secret."""

from pathlib import Path

import sqlalchemy as sa

from gateway.access.codes import reveal
from gateway.console.logins import SESSION_VALID, ConsoleLogins
from gateway.store.tables.people import tickets
from gateway.store.tickets import end_consoles
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
    session = opened[0] or ""
    visitor = await ConsoleLogins(store, KEY, lambda: now, lambda: 0.0).visitor(session)  # as after a restart
    assert visitor is not None
    assert ("cli", True) == (visitor.by, visitor.acts)
    assert await logins.visitor(used) is None, "the link's secret is no session"
    now += minutes(10)
    assert await logins.open_with(late) is None
    rows = await store.read(lambda connection: repr(connection.execute(sa.select(tickets)).all()))
    assert not [secret for secret in (used, late) if secret in rows]
    assert session not in rows
    await store.aclose()


async def test_a_session_ends_by_time_by_signing_out_and_by_an_operator(tmp_path: Path) -> None:
    store, now = await quick_store(tmp_path / "tenk.db"), NOON
    logins = ConsoleLogins(store, KEY, lambda: now, lambda: 0.0)

    async def opened() -> str:
        return await logins.open_with((await logins.make_token("cli"))[0]) or ""

    left, kept, other = await opened(), await opened(), await opened()
    await logins.leave(left)
    assert [True, False] == [await logins.visitor(each) is None for each in (left, kept)]
    now += SESSION_VALID
    assert await logins.visitor(kept) is None
    now = NOON
    unused, _ = await logins.make_token("cli")
    assert 2 == await store.commit(lambda connection: end_consoles(connection, "cli", now))
    assert [None, None] == [await logins.visitor(each) for each in (kept, other)]
    assert await logins.open_with(unused) is None
    await store.aclose()
