"""The schema's version: a fresh database is created whole, an old one migrated, a newer one refused."""

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import Connection

from gateway.errors import SchemaDiffers
from gateway.store.tables import people, traffic, turns
from gateway.store.tables.base import metadata

VERSIONS = Path(__file__).parent / "migrations" / "versions"

HEAD = "0032"
"""The newest revision in `migrations/versions`: known here because importing alembic takes 0.7 s."""


TELL = """CREATE FUNCTION tenk_tell() RETURNS trigger LANGUAGE plpgsql AS $$
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


def known_revisions() -> frozenset[str]:
    """Every revision that this version can bring up to date; their numbers say nothing of their order."""
    return frozenset(path.name.partition("_")[0] for path in VERSIONS.glob("[0-9]*_*.py"))


CREATION_LOCK = 0x74656E6B  # "tenk": one process at a time makes or migrates a PostgreSQL database

ROOMS = (people, traffic, turns)  # a table exists by the import of its module
whole = metadata

version = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def current(connection: Connection) -> str | None:
    """The database's revision; None where nothing was created yet."""
    if not sa.inspect(connection).has_table(version.name):
        return None
    return connection.execute(sa.select(version.c.version_num)).scalar_one_or_none()


def ensure(connection: Connection) -> str | None:
    """The schema this code needs, in one transaction: created, migrated, or found as it should be.

    The result is the revision that was found, None for an empty database.

    Raises:
        SchemaTooNew: the database is ahead of this code; nothing was changed.
    """
    with connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATION_LOCK)))
        found = current(connection)
        if found is None:
            create(connection)
        elif found != HEAD:
            _migrate(connection, found)
    return found


def check(connection: Connection) -> None:
    """Refuse to read a database of another version: the start of a gateway migrates it, a look at it does not.

    Raises:
        SchemaDiffers: the message says what to do.
    """
    found = current(connection)
    if found != HEAD:
        which = "is empty" if found is None else f"is of version {found}, this is version {HEAD}"
        raise SchemaDiffers(f"the database {which}; start the gateway, or run `tenk db upgrade`")


def create(connection: Connection) -> None:
    """Everything at once; a house test shows that the migrations lead to the same."""
    whole.create_all(connection)
    version.create(connection)
    connection.execute(version.insert().values(version_num=HEAD))
    connection.execute(turns.shards.insert(), [{"shard": n, "epoch": 0} for n in range(turns.SHARDS)])
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(TELL)
        for table, column in TOLD.items():
            connection.exec_driver_sql(
                f"CREATE TRIGGER {table}_tell AFTER INSERT OR UPDATE OR DELETE ON {table} "
                f"FOR EACH ROW EXECUTE FUNCTION tenk_tell('{column}')"
            )


def probe(connection: Connection) -> None:
    """A write that changes nothing: whether the store takes writes."""
    connection.execute(version.update().values(version_num=version.c.version_num))


def _migrate(connection: Connection, found: str) -> None:
    from gateway.store.migrate import upgrade  # noqa: PLC0415  alembic takes 0.7 s to import, and is needed only here

    upgrade(connection, found)
