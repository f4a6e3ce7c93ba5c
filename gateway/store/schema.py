"""The schema's revision: an empty database is created whole, an older one migrated, an unknown one refused."""

from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy import Connection

from gateway.errors import SchemaDiffers, StoreClosed
from gateway.store.revisions import HEAD, refusal
from gateway.store.tables import boards, consolidation, delegation, memory, passages, people, schedules, traffic, turns
from gateway.store.tables.base import metadata
from gateway.store.tables.turns import final_dump

TELL = """CREATE OR REPLACE FUNCTION tenk_tell() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE changed jsonb := to_jsonb(CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END);
BEGIN
  PERFORM pg_notify('tenk', TG_TABLE_NAME || ' ' || (changed ->> TG_ARGV[0]));
  RETURN NULL;
END $$"""
"""On PostgreSQL: each change of who may do what is told to every process that keeps it in memory, with its commit."""

TOLD = {
    "users": "id",
    "identities": "user_id",
    "grants": "user_id",
    "groups": "id",
    "moved_chats": "new_chat",
    "forgotten_senders": "mark",
}
"""The tables that are told of, each with the column that says which row it was."""


CREATION_LOCK = 0x74656E6B  # "tenk": one process at a time makes or migrates a PostgreSQL database

ROOMS = (boards, consolidation, delegation, memory, passages, people, schedules, traffic, turns)
"""A table exists by the import of its module."""
whole = metadata

version = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)

REVISION = sa.select(version.c.version_num)


def current(connection: Connection) -> str | None:
    """Return the database's revision; None if it is empty."""
    if not sa.inspect(connection).has_table(version.name):
        return None
    return connection.execute(REVISION).scalar_one_or_none()


def is_older(connection: Connection) -> bool:
    """Return whether `ensure` would migrate this database.

    Raises:
        SchemaDiffers, StoreClosed: as `ensure`.
    """
    return _usable(connection) not in (None, HEAD)


def _usable(connection: Connection) -> str | None:
    """Return the revision, None of an empty database; refuse one that this version or any gateway may not use."""
    found = _known_revision(connection)
    if found is not None:
        refuse_closed(connection)
    return found


def _known_revision(connection: Connection) -> str | None:
    found = current(connection)
    if found is not None and (why := refusal(found)):
        raise SchemaDiffers(why)
    return found


def ensure(connection: Connection, on_wait: Callable[[], None] = lambda: None) -> str | None:
    """Create, migrate or find the schema that this code needs, in one transaction.

    Returns the revision that was found, None for an empty database. Calls `on_wait` if another process is migrating.

    Raises:
        SchemaDiffers: this code does not know its revision; nothing was changed.
        StoreClosed: its final dump was made; nothing was changed.
    """
    with connection.begin():
        if connection.dialect.name == "postgresql":
            _wait_for_turn(connection, on_wait)
        _usable(connection)
        return bring_up(connection)


def _wait_for_turn(connection: Connection, on_wait: Callable[[], None]) -> None:
    """One process at a time makes or migrates."""
    if not connection.execute(sa.select(sa.func.pg_try_advisory_xact_lock(CREATION_LOCK))).scalar_one():
        on_wait()
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATION_LOCK)))


def bring_up(connection: Connection) -> str | None:
    """Create or migrate in the caller's transaction, also after a final dump; return the revision that was found."""
    found = _known_revision(connection)
    if found is None:
        create(connection)
    elif found != HEAD:
        _migrate(connection)
    return found


def check(connection: Connection) -> None:
    """Refuse to read a database of another version: the start of a gateway migrates it, a look at it does not.

    Raises:
        SchemaDiffers, StoreClosed: the message says what to do.
    """
    check_revision(connection)
    refuse_closed(connection)


def check_revision(connection: Connection) -> None:
    """Refuse a database that is not at the newest revision.

    Raises:
        SchemaDiffers: the message says what to do.
    """
    found = _known_revision(connection)
    if found != HEAD:
        which = "is empty" if found is None else f"is of version {found}, this is version {HEAD}"
        raise SchemaDiffers(f"the database {which}; start the gateway, or run `tenk db upgrade`")


def refuse_closed(connection: Connection) -> None:
    """Refuse a database after its final dump: two that go on from one are two histories.

    Raises:
        StoreClosed: the message says what to do.
    """
    at = connection.execute(sa.select(sa.func.max(final_dump.c.at))).scalar()
    if at is not None:
        raise StoreClosed(
            f"this database was closed by `tenk db dump --final` on {at:%Y-%m-%d %H:%M} UTC: set DATABASE_URL to the "
            "one that the dump was loaded into, or run `tenk db reopen` to go on with this one"
        )


def create(connection: Connection) -> None:
    """Create every table as the models have it, at the newest revision; a test shows that the revisions lead there."""
    whole.create_all(connection)
    version.create(connection)
    connection.execute(version.insert().values(version_num=HEAD))
    connection.execute(turns.shards.insert(), [{"shard": n, "epoch": 0} for n in range(turns.SHARDS)])
    create_triggers(connection)


def create_triggers(connection: Connection) -> None:
    """On PostgreSQL, create the triggers that announce changes."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(TELL)
        for table, column in TOLD.items():
            connection.exec_driver_sql(
                f"CREATE OR REPLACE TRIGGER {table}_tell AFTER INSERT OR UPDATE OR DELETE ON {table} "
                f"FOR EACH ROW EXECUTE FUNCTION tenk_tell('{column}')"
            )


def probe(connection: Connection) -> None:
    """Make a write that changes nothing, to test if the store takes writes."""
    connection.execute(version.update().values(version_num=version.c.version_num))


def _migrate(connection: Connection) -> None:
    from gateway.store.migrate import upgrade  # noqa: PLC0415  alembic takes 0.7 s to import, and is needed only here

    upgrade(connection)
    create_triggers(connection)
