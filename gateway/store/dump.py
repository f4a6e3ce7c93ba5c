"""A database dumped as JSON lines, all of one moment; what reads them is `gateway.store.load`.

The first line says what wrote it and at which revision. `{"table": ..., "columns": [...]}` stands before the rows of a
table, which are JSON arrays, and `{"rows": N}` is the last line. Instants are microseconds since 1970, bytes stand as
`{"base64": ...}`.
"""

import base64
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import TextIO, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from gateway.errors import GatewayError, StoreUnavailable
from gateway.store import agent_tables, schema
from gateway.store.addresses import file_of, public_url
from gateway.store.agent_tables import AgentTables
from gateway.store.backup import write_new
from gateway.store.inspection import refuse_replica
from gateway.store.leases import STORE_NOW
from gateway.store.looking import code_of, engine_to_look_at, unavailable
from gateway.store.postgres import make_engine
from gateway.store.revisions import HEAD
from gateway.store.search_index import INDEX
from gateway.store.sqlite import writing_engine
from gateway.store.tables.turns import final_dump, members

T = TypeVar("T")

FORMAT = 1
BATCH_ROWS = 1_000
LOCK_WAIT_MS = 2_000
STATEMENT_S = 3_600

TablesOf = Callable[[str], AgentTables | None]
"""The tables of an agent of this name; None if it is not installed."""


@dataclass(frozen=True, slots=True)
class Carried:
    """The size of a dump."""

    tables: int
    rows: int
    mended: int = 0  # rows with a NUL in a text, in whose place U+FFFD stands now: PostgreSQL keeps none


async def dump(url: str, destination: Path, tables_of: TablesOf, final_at: datetime | None = None) -> Carried:
    """Write every row, as of one moment, to a new file of mode 0600.

    A gateway may run meanwhile. With `final_at` none may: the database is closed until `reopen`, and the caller holds
    the home's lock.

    Raises:
        GatewayError: the destination exists, a process writes (with `final_at`), or a table is of no installed agent.
        SchemaDiffers: the database is of another revision.
        StoreUnavailable: the database does not answer.
    """
    job = partial(_dump, destination=destination, tables_of=tables_of, final_at=final_at)
    return await on_connection(url, job, writes=final_at is not None)


async def reopen(url: str) -> bool:
    """Let gateways start again on a database after its final dump; return whether it was closed."""

    def job(connection: sa.Connection) -> bool:
        with connection.begin():
            schema.check_revision(connection)
            return bool(connection.execute(sa.delete(final_dump)).rowcount)

    return await on_connection(url, job, writes=True)


async def on_connection(url: str, job: Callable[[sa.Connection], T], *, writes: bool) -> T:
    """Run a job over one connection; without `writes` it sees one moment and can change nothing.

    Raises:
        GatewayError: another process writes to the file.
        StoreUnavailable: there is no such database, or it does not answer.
    """
    file = file_of(url)
    try:
        if file is not None:
            if not file.exists():
                raise StoreUnavailable(f"there is no database {file} yet: no gateway has run on this home")
            engine = writing_engine(file) if writes else engine_to_look_at(file)
            try:
                with engine.connect() as connection:
                    return job(connection)
            finally:
                engine.dispose()
        server = make_engine(url, command_timeout_s=STATEMENT_S)
        try:
            async with server.connect() as remote:
                if not writes:
                    snapshot = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
                    remote = await remote.execution_options(**snapshot)  # noqa: PLW2901  the same connection
                return await remote.run_sync(job)
        finally:
            await server.dispose()
    except (OSError, SQLAlchemyError) as error:
        if code_of(error) == sqlite3.SQLITE_BUSY:
            raise GatewayError(f"somebody writes to {public_url(url)}; stop them first") from error
        raise unavailable(error) from error


def _dump(connection: sa.Connection, destination: Path, tables_of: TablesOf, final_at: datetime | None) -> Carried:
    with connection.begin():
        schema.check_revision(connection)
        agents = _agents(connection)
        tables = tables_in(agents, tables_of)
        if strange := names_of(connection) - {table.name for table in tables} - {schema.version.name, final_dump.name}:
            raise GatewayError(
                f"the database has tables that nobody here knows ({', '.join(sorted(strange))}): install the agent "
                "that they are of, or drop them"
            )
        if final_at is not None:
            _hold(connection, tables)
        rows = 0

        def write(draft: Path) -> None:
            nonlocal rows
            with draft.open("w", encoding="utf-8", newline="\n") as file:
                _put(file, {"tenk_dump": FORMAT, "revision": HEAD, "agents": agents})
                rows = sum(_put_table(connection, table, file) for table in tables)
                _put(file, {"rows": rows})

        write_new(destination, write, f"{destination} is there already; name a file that is not")
        if final_at is not None:
            connection.execute(final_dump.insert(), {"at": final_at})
    return Carried(len(tables), rows)


def _agents(connection: sa.Connection) -> dict[str, int]:
    """Return how many steps the tables of each agent have taken."""
    if agent_tables.versions.name not in names_of(connection):
        return {}
    return {row.agent: row.steps for row in connection.execute(sa.select(agent_tables.versions))}


def tables_in(agents: Mapping[str, int], tables_of: TablesOf) -> list[sa.Table]:
    """Return every table that is carried, parents before children.

    Raises:
        GatewayError: the tables of an agent are older or newer than this installation's.
    """
    tables = [table for table in schema.whole.sorted_tables if table is not final_dump]
    if agents:
        tables.append(agent_tables.versions)
    for agent, steps in agents.items():
        known = tables_of(agent)
        if known is None:
            continue
        if steps != len(known.steps):
            raise GatewayError(
                f"the tables of the agent {agent} are at step {steps}, this version has {len(known.steps)}: "
                "`tenk db upgrade` brings a database up to date, after that dump it"
            )
        tables += known.metadata.sorted_tables
    return tables


def names_of(connection: sa.Connection) -> set[str]:
    """Return the names of all tables in the database, but for those of the index that SQLite makes of passages."""
    return {name for name in sa.inspect(connection).get_table_names() if not name.startswith(INDEX)}


def _put_table(connection: sa.Connection, table: sa.Table, file: TextIO) -> int:
    _put(file, {"table": table.name, "columns": table.columns.keys()})
    rows = 0
    for row in connection.execute(sa.select(plain(table)), execution_options={"yield_per": BATCH_ROWS}):
        _put(file, list(row))
        rows += 1
    return rows


def _put(file: TextIO, line: object) -> None:
    file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=_spell) + "\n")


def _spell(value: object) -> object:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"no column of ours holds a {type(value).__name__}")


def _hold(connection: sa.Connection, tables: Sequence[sa.Table]) -> None:
    """Keep everybody from writing until the transaction ends; on SQLite its beginning has done so."""
    if connection.dialect.name == "sqlite":
        return
    refuse_replica(connection)
    refuse_company(connection)
    held = sa.select(sa.func.max(members.c.until)).where(members.c.until > STORE_NOW)
    if (until := connection.execute(held).scalar()) is not None:
        raise GatewayError(f"a gateway holds sessions of it until {until:%H:%M:%S} UTC: stop it, or wait for that")
    connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {LOCK_WAIT_MS}")
    try:
        connection.exec_driver_sql(f"LOCK TABLE {', '.join(table.name for table in tables)} IN EXCLUSIVE MODE")
    except SQLAlchemyError as error:
        raise GatewayError("somebody writes to the database; stop them first") from error
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(schema.CREATION_LOCK)))  # a start waits


_CLIENTS = sa.text(
    "SELECT coalesce(host(client_addr), 'this machine') FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid() AND application_name LIKE 'tenk%' ORDER BY 1"
)


def refuse_company(connection: sa.Connection) -> None:
    """Refuse a PostgreSQL database that a gateway is connected to."""
    if found := list(connection.execute(_CLIENTS).scalars()):
        raise GatewayError(
            f"a gateway uses this database ({len(found)} connections, from {', '.join(sorted(set(found)))}); stop it "
            "first"
        )


def plain(table: sa.Table) -> sa.TableClause:
    """Return the table with raw column types, without defaults and conversions."""
    columns = (
        sa.column(column.name, column.type.impl_instance if isinstance(column.type, sa.TypeDecorator) else column.type)
        for column in table.columns
    )
    return sa.table(table.name, *columns)
