"""Alembic behind two functions: bring a database to the newest revision, and write the next revision.

`python -m gateway.store.migrate "what changes"` compares the tables with what the revisions so far lead to and
writes the difference as a new file. There is no way down: a backup is the way back.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.operations import ops
from alembic.runtime.migration import MigrationContext
from alembic.script import Script

from gateway.store.revisions import FIRST, HEAD, VERSIONS
from gateway.store.tables.turns import SHARDS

SEED_SHARDS = (
    "INSERT INTO shards (shard, epoch) WITH RECURSIVE n (s) AS "  # noqa: S608  our own number
    f"(SELECT 0 UNION ALL SELECT s + 1 FROM n WHERE s < {SHARDS - 1}) SELECT s, 0 FROM n"
)


def upgrade(connection: sa.Connection) -> None:
    """Bring an empty database or one of a known revision to the newest, in the caller's transaction."""
    command.upgrade(_config(connection, batch=True), "head")


def write_revision(message: str) -> Path:
    """Write what the tables have beyond the newest revision as the next one; read the file before you keep it."""
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection, connection.begin():
        config = _config(connection, batch=bool(HEAD))
        if HEAD:
            command.upgrade(config, "head")
        number = f"{int(HEAD) + 1:04}" if HEAD else FIRST
        written = command.revision(
            config, message, autogenerate=True, rev_id=number, process_revision_directives=None if HEAD else _seed
        )
    engine.dispose()
    assert isinstance(written, Script), "one revision was asked for"
    return Path(written.path)


def _seed(_context: MigrationContext, _revision: object, directives: Iterable[ops.MigrationScript]) -> None:
    for script in directives:
        assert script.upgrade_ops is not None, "an upgrade is what autogenerate writes"
        script.upgrade_ops.ops.append(ops.ExecuteSQLOp(SEED_SHARDS))


def _config(connection: sa.Connection, *, batch: bool) -> Config:
    config = Config(attributes={"connection": connection, "batch": batch})
    config.set_main_option("script_location", str(VERSIONS.parent).replace("%", "%%"))
    config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    return config


if __name__ == "__main__":
    sys.stdout.write(f"{write_revision(' '.join(sys.argv[1:]) or 'unnamed')}\n")
