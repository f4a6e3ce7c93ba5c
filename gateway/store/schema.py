"""The schema's revision: an empty database is created whole, an older one migrated, an unknown one refused."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from gateway.errors import SchemaDiffers, StoreMoved
from gateway.store.revisions import HEAD, refusal
from gateway.store.tables import people, traffic, turns
from gateway.store.tables.base import Id, Instant, metadata
from gateway.store.tenancy import raise_wall

TELL = """CREATE OR REPLACE FUNCTION tenk_tell() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE changed jsonb := to_jsonb(CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END);
BEGIN
  PERFORM pg_notify('tenk', TG_TABLE_NAME || ' ' || (changed ->> TG_ARGV[0]));
  RETURN NULL;
END $$"""
"""On PostgreSQL: each change of who may do what is told to every process that keeps it in memory, with its commit."""

TOLD = {
    "users": "id", "identities": "user_id", "grants": "user_id", "groups": "id",
    "moved_chats": "new_chat", "forgotten_senders": "mark",
}  # fmt: skip
"""The tables that are told of, each with the column that says which row it was."""


CREATION_LOCK = 0x74656E6B  # "tenk": one process at a time makes or migrates a PostgreSQL database

ROOMS = (people, traffic, turns)  # a table exists by the import of its module
whole = metadata

version = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)

REVISION = sa.select(version.c.version_num)
"""`gateway.store.glance` has its text."""

relocations = sa.Table(  # made by the first move: where this store went, or came from; the newest row is in force
    "relocations",
    sa.MetaData(),
    sa.Column("id", Id, primary_key=True),  # the same at both ends
    sa.Column("state", sa.String(8), nullable=False),  # leaving | left | filling | filled
    sa.Column("other", sa.Text, nullable=False),  # the database at the other end, without a password
    sa.Column("at", Instant, nullable=False),
)


def current(connection: Connection) -> str | None:
    """The database's revision; None where nothing was created yet."""
    if not sa.inspect(connection).has_table(version.name):
        return None
    return connection.execute(REVISION).scalar_one_or_none()


def is_older(connection: Connection) -> bool:
    """Return whether `ensure` would migrate this database.

    Raises:
        SchemaDiffers, StoreMoved: as `ensure`.
    """
    refuse_moved(connection)
    found = current(connection)
    _refuse_unknown(found)
    return found not in (None, HEAD)


def _refuse_unknown(found: str | None) -> None:
    if found is not None and (why := refusal(found)):
        raise SchemaDiffers(why)


def ensure(connection: Connection, on_wait: Callable[[], None] = lambda: None) -> str | None:
    """The schema this code needs, in one transaction: created, migrated, or found as it should be.

    The result is the revision that was found, None for an empty database. `on_wait` hears that another is at it.

    Raises:
        SchemaDiffers: this code does not know its revision; nothing was changed.
        StoreMoved: it lives elsewhere, or not yet here; nothing was changed.
    """
    with connection.begin():
        if connection.dialect.name == "postgresql":
            _wait_for_turn(connection, on_wait)
        refuse_moved(connection)
        return bring_up(connection)


def _wait_for_turn(connection: Connection, on_wait: Callable[[], None]) -> None:
    """One process at a time makes or migrates."""
    if not connection.execute(sa.select(sa.func.pg_try_advisory_xact_lock(CREATION_LOCK))).scalar_one():
        on_wait()
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATION_LOCK)))


def bring_up(connection: Connection) -> str | None:
    """The same within the caller's transaction, whatever became of the store."""
    found = current(connection)
    _refuse_unknown(found)
    if found is None:
        create(connection)
    elif found != HEAD:
        _migrate(connection)
    return found


def check(connection: Connection) -> None:
    """Refuse to read a database of another version: the start of a gateway migrates it, a look at it does not.

    Raises:
        SchemaDiffers, StoreMoved: the message says what to do.
    """
    refuse_moved(connection)
    found = current(connection)
    _refuse_unknown(found)
    if found != HEAD:
        which = "is empty" if found is None else f"is of version {found}, this is version {HEAD}"
        raise SchemaDiffers(f"the database {which}; start the gateway, or run `tenk db upgrade`")


def newest_move(connection: Connection) -> sa.Row[Any] | None:
    """What became of this store last; None where it was never moved."""
    if not sa.inspect(connection).has_table(relocations.name):
        return None
    return connection.execute(sa.select(relocations).order_by(relocations.c.id.desc()).limit(1)).first()


def refuse_moved(connection: Connection) -> None:
    """Two stores that go on from one are two histories: only the newer one is used.

    Raises:
        StoreMoved: the message says where it is.
    """
    move = newest_move(connection)
    if move is None or move.state in ("leaving", "filled"):
        return
    if move.state == "left":
        raise StoreMoved(
            f"this database was moved to {move.other} on {move.at:%Y-%m-%d %H:%M} UTC and is the past: set "
            "DATABASE_URL to that one; `tenk db move`, called with that, brings it back"
        )
    raise StoreMoved(f"this is an unfinished copy of {move.other}: call `tenk db move` there again, it goes on")


def create(connection: Connection) -> None:
    """Create every table as the models have it, at the newest revision; a test shows that the revisions lead there."""
    whole.create_all(connection)
    version.create(connection)
    connection.execute(version.insert().values(version_num=HEAD))
    connection.execute(turns.shards.insert(), [{"shard": n, "epoch": 0} for n in range(turns.SHARDS)])
    guard(connection)


def guard(connection: Connection) -> None:
    """On PostgreSQL, put row-level security and the triggers that announce changes on tables without them."""
    raise_wall(connection, whole.sorted_tables)
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(TELL)
        for table, column in TOLD.items():
            connection.exec_driver_sql(
                f"CREATE OR REPLACE TRIGGER {table}_tell AFTER INSERT OR UPDATE OR DELETE ON {table} "
                f"FOR EACH ROW EXECUTE FUNCTION tenk_tell('{column}')"
            )


def probe(connection: Connection) -> None:
    """A write that changes nothing: whether the store takes writes."""
    connection.execute(version.update().values(version_num=version.c.version_num))


def _migrate(connection: Connection) -> None:
    from gateway.store.migrate import upgrade  # noqa: PLC0415  alembic takes 0.7 s to import, and is needed only here

    upgrade(connection)
    guard(connection)
