"""What `tenk status` says without SQLAlchemy is what the store says; what is out of the ordinary is left to that."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.dialects import sqlite

from gateway.cli.alone import stored_status
from gateway.store import glance, outbox, pairing, schema
from gateway.store.glance import glance_at
from tests.fakes.fresh_database import copy_fresh

PART = (
    "INSERT INTO outbox (tenant_id, cause, part, op, action, lane, channel, account, chat, rendered, plain, idem_key, "
    "state, attempts, marked, created_at) "
    "VALUES ('default', ?, 0, 0, 'send', 'l', 'slack', 'main', '1', 'x', 'x', 'k', ?, 1, false, 1)"
)
REQUEST = (
    "INSERT INTO pairing_requests (id, tenant_id, channel, account, sender, display_name, chat, state, created_at, "
    "expires_at, again) VALUES (?, 'default', 'slack', ?, 'slack:1', 'Ana', '1', ?, 1, 2, false)"
)


def test_a_glance_asks_what_the_store_asks() -> None:
    """Each statement is the text that SQLAlchemy makes of the store's own."""
    own = (*outbox.DEPTHS, pairing.PENDING_COUNTS, schema.REVISION)
    spelled = [str(query.compile(dialect=sqlite.dialect())) for query in own]
    assert [*glance.DEPTHS, glance.PENDING_COUNTS, glance.REVISION] == spelled


async def test_a_glance_sees_what_the_store_tells(tmp_path: Path) -> None:
    """The same states in the same order, and the same accounts."""
    file = tmp_path / "tenk.db"
    await copy_fresh(file)
    with closing(sqlite3.connect(file)) as connection, connection:
        states = ["dead", "unknown", "ready", "dead", "sent", "sending", "discarded"]
        connection.executemany(PART, [(f"t{place}", state) for place, state in enumerate(states)])
        asked = [
            ("r1", "main", "pending"),
            ("r2", "two", "pending"),
            ("r3", "main", "denied"),
            ("r4", "main", "pending"),
        ]
        connection.executemany(REQUEST, asked)
    seen = glance_at(file)
    assert {
        "outbox": {"ready": 1, "sending": 1, "unknown": 1, "dead": 2},
        "pairing_requests": {"slack:main": 2, "slack:two": 1},
    } == seen
    assert str(await stored_status(tmp_path, f"sqlite:///{file}")) == str(seen)


@pytest.mark.parametrize(
    "other", ["UPDATE alembic_version SET version_num = '0001'", "INSERT INTO final_dump VALUES (1)"]
)
async def test_a_glance_says_nothing_of_a_database_of_another_version_or_one_that_was_closed(
    tmp_path: Path, other: str
) -> None:
    """Nor of what is no database; where there is no file there is nothing to say, and none is made."""
    file = tmp_path / "tenk.db"
    assert ({}, False) == (glance_at(file), file.exists())
    await copy_fresh(file)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(other)
    assert glance_at(file) is None
    file.write_bytes(b"no database" * 100)
    assert glance_at(file) is None
