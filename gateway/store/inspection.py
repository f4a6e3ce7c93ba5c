"""Looks at a database from outside and changes nothing: whether it is whole, and which revision it is at."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from gateway.errors import GatewayError, SettingsError, StoreClosed
from gateway.store import schema
from gateway.store.addresses import file_of, public_url, server_of
from gateway.store.backup import BUSY_S
from gateway.store.looking import NOT_OURS, is_denied, why_not
from gateway.store.revisions import HEAD, refusal
from gateway.threads import run_in_thread

CONNECT_S = 10.0


@dataclass(frozen=True, slots=True)
class Inspection:
    """The findings of a look at a database."""

    where: str  # without password
    exists: bool = True  # it holds a schema of ours
    revision: str = ""  # "0023"; "" where nobody knows
    problem: str = ""  # why it cannot be used; "" where it can
    is_denied: bool = False  # it may be whole: this user may not use it
    risks: tuple[str, ...] = ()  # what its server has off that keeps data whole
    closed: str = ""  # why no gateway uses it after its final dump, and what to do; "" if it is in use

    @property
    def is_behind(self) -> bool:
        """The next start brings it up to date."""
        return self.exists and not self.problem and self.revision != HEAD and not self.refusal

    @property
    def refusal(self) -> str:
        """Why this version cannot use a database of this revision; empty if it can."""
        return refusal(self.revision) if self.revision else ""


async def inspect(url: str) -> Inspection:
    """Inspect the database of a store URL; every page of an SQLite file is read."""
    file = file_of(url)
    if file is not None:
        return await run_in_thread(_inspect_file, file)
    return await _inspect_server(url)


def _inspect_file(file: Path) -> Inspection:
    where = str(file)
    if not file.exists() or not file.stat().st_size:
        return Inspection(where, exists=False)
    address = f"{file.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=BUSY_S)) as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
            closed = _look_if_closed(file)
    except (sqlite3.Error, sa.exc.SQLAlchemyError) as error:
        denied = is_denied(error)
        return Inspection(where, problem=NOT_OURS if denied else str(error), is_denied=denied)
    return Inspection(where, revision=row[0] if row else "", problem="" if found == ["ok"] else found[0], closed=closed)


def _look_if_closed(file: Path) -> str:
    """Return the words that a start would refuse with."""
    engine = sa.create_engine(
        "sqlite://", creator=lambda: sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
    )
    try:
        with engine.connect() as connection:
            return _refusal(connection)
    finally:
        engine.dispose()


def _refusal(connection: sa.Connection) -> str:
    found = schema.current(connection)
    if found is None or refusal(found):
        return ""  # it may have no such table
    try:
        schema.refuse_closed(connection)
    except StoreClosed as closed:
        return str(closed)
    return ""


async def _inspect_server(url: str) -> Inspection:
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415  only where there is such a server

    where = public_url(url)
    try:
        address, behind = server_of(url)
    except SettingsError as error:
        return Inspection(where, problem=str(error))
    engine = create_async_engine(address, connect_args={"timeout": CONNECT_S, **behind})
    try:
        async with asyncio.timeout(2 * CONNECT_S), engine.connect() as connection:
            if problem := await connection.run_sync(unfit_for):
                return Inspection(where, problem=f"it {problem}")
            risks = tuple(await connection.run_sync(risks_of))
            revision = await connection.run_sync(schema.current)
            closed = await connection.run_sync(_refusal)
    except (OSError, ValueError, sa.exc.SQLAlchemyError) as error:  # ValueError: what the driver cannot be told
        return Inspection(where, problem=why_not(error))
    finally:
        await engine.dispose()
    return Inspection(where, exists=revision is not None, revision=revision or "", risks=risks, closed=closed)


_SERVER = sa.text(
    "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool"
    ", current_setting('server_encoding'), coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)"
    ", quote_ident(current_database()) || ' OWNER TO ' || quote_ident(current_user)"
)

OURS_WAIT = "synchronous_commit"
"""Our connections have it on, whatever the server says."""

RISKS = {
    "fsync": "set it to on: when the machine dies, the whole database may be lost",
    "full_page_writes": "set it to on: when the machine dies, pages may be left torn",
    OURS_WAIT: "nothing: the gateway's own commits wait for the disk; those of others here do not",
}
"""Advice for a server setting that is off."""
_RISKS = sa.text(
    "SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'"
)


def risks_of(connection: sa.Connection) -> list[str]:
    """Return the settings of RISKS that the server has off."""
    return list(connection.execute(_RISKS).scalars())


NO_WRITES = "takes no writes: it is a replica, or set to read-only; name the primary"


def unfit_for(connection: sa.Connection) -> str:
    """Why nothing can be kept in this database of a server's, or nothing be made in an empty one; "" where it can."""
    read_only, encoding, makes_tables, owner = connection.execute(_SERVER).one()
    if read_only:
        return NO_WRITES
    if encoding != "UTF8":
        return f"is in {encoding}, which holds no emoji: make one WITH TEMPLATE template0 ENCODING 'UTF8'"
    if schema.current(connection) is not None:
        return ""
    if taken := sorted(set(sa.inspect(connection).get_table_names()) & set(schema.whole.tables)):
        return f"holds another program's tables ({', '.join(taken)}): name an empty database"
    return "" if makes_tables else f"lets this role make no tables: ALTER DATABASE {owner}"


def refuse_replica(connection: sa.Connection) -> None:
    """Raise GatewayError where nothing can be changed."""
    if connection.execute(_SERVER).one()[0]:
        _refuse(connection, NO_WRITES)


def refuse_unfit(connection: sa.Connection) -> None:
    """Raise GatewayError where nothing can be kept."""
    if problem := unfit_for(connection):
        _refuse(connection, problem)


def _refuse(connection: sa.Connection, problem: str) -> None:
    where = connection.engine.url.set(drivername="postgresql").render_as_string(hide_password=True)
    raise GatewayError(f"{where} {problem}")
