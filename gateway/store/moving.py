"""A store is carried to another database, table by table, read back row by row, and lives in one of them at any time.

Each end keeps a row of the move (`gateway.store.schema.relocations`): a copy that is not whole yet is refused to every
gateway, and so is what was left behind. Only when all rows were read back does the first become "left", then the second
"filled": whoever is killed between leaves a store that opens nowhere, until the move is called again. Who holds the
home's lock, and what an operator reads, do not live here.
"""

import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from gateway.errors import GatewayError, StoreUnavailable
from gateway.store import agent_tables, schema
from gateway.store.addresses import file_of, public_url
from gateway.store.agent_tables import AgentTables
from gateway.store.inspection import refuse_replica, refuse_unfit
from gateway.store.leases import STORE_NOW
from gateway.store.looking import code_of, unavailable
from gateway.store.postgres import make_engine
from gateway.store.revisions import HEAD
from gateway.store.schema import relocations
from gateway.store.sqlite import make_file, writing_engine
from gateway.store.table_copy import Say, TableCopy, has_rows
from gateway.store.tables.base import new_id
from gateway.store.tables.turns import shards

MOVE_LOCK = 0x74656E6D  # "tenm": one move at a time fills a PostgreSQL database
LOCK_WAIT_MS = 2_000
STATEMENT_S = 3_600

OURS = (schema.version.name, relocations.name)
MADE_AT_ONCE = (shards.name, agent_tables.versions.name)
"""Tables with rows from the first moment on: a database with nothing else in it is empty."""

TablesOf = Callable[[str], AgentTables | None]
"""The tables of an agent of this name."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What was carried, all of it read back."""

    source: str  # without a password
    target: str
    tables: int
    rows: int
    mended: int  # texts with a NUL, in whose place U+FFFD stands now: PostgreSQL keeps none


async def move(source_url: str, target_url: str, tables_of: TablesOf, now: datetime, say: Say) -> Moved:
    """Carry everything over; called again after any end of it, it goes on. The caller holds the locks of both homes.

    Raises:
        GatewayError: there is nothing to move, somebody writes there, or the target is no place for it. The source is
            as it was.
        StoreUnavailable: an end does not answer; call it again.
    """
    if public_url(source_url) == public_url(target_url):
        raise GatewayError(f"{public_url(source_url)} is where it lives already")
    async with AsyncExitStack() as stack:
        try:
            source = await stack.enter_async_context(_connect(source_url, make=False))
            target = await stack.enter_async_context(_connect(target_url, make=True))
            work = _Move(source, target, (public_url(source_url), public_url(target_url)), now, say)
            return await _in_greenlet(partial(work.run, tables_of))
        except (OSError, SQLAlchemyError) as error:
            if code_of(error) == sqlite3.SQLITE_BUSY:
                files = " or ".join(public_url(url) for url in (source_url, target_url) if file_of(url) is not None)
                raise GatewayError(f"somebody writes to {files}; stop them first") from error
            raise unavailable(error) from error


async def _in_greenlet(call: Callable[[], Moved]) -> Moved:
    """Plain functions over a connection of asyncpg run in one."""
    from sqlalchemy.util import greenlet_spawn  # noqa: PLC0415  not every installation has greenlet

    result: Moved = await greenlet_spawn(call)
    return result


@asynccontextmanager
async def _connect(url: str, *, make: bool) -> AsyncIterator[sa.Connection]:
    """One writing connection.

    Raises:
        StoreUnavailable: there is no such database.
    """
    file = file_of(url)
    if file is None:
        server = make_engine(url, command_timeout_s=STATEMENT_S)
        try:
            async with server.connect() as connection:
                assert connection.sync_connection is not None, "it is connected"
                yield connection.sync_connection
        finally:
            await server.dispose()
        return
    if make:
        make_file(file)
    elif not file.exists():
        raise StoreUnavailable(f"there is no database {file} yet: no gateway has run on this home")
    engine = writing_engine(file)
    try:
        with engine.connect() as local:
            yield local
    finally:
        engine.dispose()


class _Move:
    """One call of it, over a connection to each end."""

    def __init__(
        self, source: sa.Connection, target: sa.Connection, where: tuple[str, str], now: datetime, say: Say
    ) -> None:
        self._source = source
        self._target = target
        self._from, self._to = where
        self._now = now
        self._say = say
        self._rows = TableCopy(source, target, say)

    def run(self, tables_of: TablesOf) -> Moved:
        """From the first look to the last mark."""
        for end in (self._source, self._target):
            if end.dialect.name == "postgresql":
                with end.begin():
                    (refuse_unfit if end is self._target else refuse_replica)(end)
                    end.exec_driver_sql("SET idle_in_transaction_session_timeout = 0")  # while the other one writes
        theirs = self._bring_up(tables_of)
        tables = [*schema.whole.sorted_tables, agent_tables.versions]
        tables += [table for found in theirs.values() for table in found.metadata.sorted_tables]
        self._refuse_strangers(tables)
        id_ = self._agree(tables, theirs)
        with self._source.begin():
            self._hold(tables)
            sums = self._rows.carry(tables)
            self._mark(self._source, id_, "left", self._to)
            self._say("everything is there, and the same")
        with self._target.begin():
            self._mark(self._target, id_, "filled", self._from)
        rows, mended = sum(found.rows for found in sums), sum(self._rows.mended.values())
        return Moved(self._from, self._to, len(tables), rows, mended)

    # ------------------------------------------------------------ before

    def _bring_up(self, tables_of: TablesOf) -> dict[str, AgentTables]:
        """The source's schema is this version's from here on; the tables of every agent that was at work here."""
        with self._source.begin():
            if schema.current(self._source) is None:
                raise GatewayError(f"there is nothing of a gateway in {self._from}")
            schema.bring_up(self._source)
            agent_tables.versions.create(self._source, checkfirst=True)
            agents = list(self._source.execute(sa.select(agent_tables.versions.c.agent)).scalars())
            theirs = {agent: found for agent in agents if (found := tables_of(agent)) is not None}
            for agent, found in theirs.items():
                agent_tables.bring_up(self._source, agent, found)
        return theirs

    def _refuse_strangers(self, tables: Sequence[sa.Table]) -> None:
        with self._source.begin():
            strange = set(sa.inspect(self._source).get_table_names()) - {table.name for table in tables} - set(OURS)
        if strange:
            raise GatewayError(
                f"{self._from} has tables that nobody here knows ({', '.join(sorted(strange))}): install the agent "
                "that they are of, or drop them"
            )

    def _agree(self, tables: Sequence[sa.Table], theirs: Mapping[str, AgentTables]) -> str:
        """The move's id, noted at both ends: a new one, or that of a move that was begun."""
        with self._source.begin():
            marks, newest = _marks(self._source), schema.newest_move(self._source)
        with self._target.begin():
            if self._target.dialect.name == "postgresql":
                self._refuse_company()
            there = schema.newest_move(self._target)
            begun = there.id if there is not None and there.state == "filling" else ""
            _refuse_both_ends(newest, begun, self._from)
            if not begun:
                self._refuse_strange_target(tables, there is not None and marks.get(there.id) == "filled")
        if begun and begun not in marks:
            raise GatewayError(f"{self._to} holds an unfinished copy of another database; name an empty one")
        id_ = begun or new_id()
        with self._source.begin():
            if not begun:
                self._mark(self._source, id_, "leaving", self._to)
        with self._target.begin():
            self._mark(self._target, id_, "filling", self._from)
            for table in reversed(tables[len(schema.whole.tables) :] if begun else ()):
                table.drop(self._target, checkfirst=True)  # they may be of another version of the agent; they are small
            for agent, found in theirs.items():
                agent_tables.bring_up(self._target, agent, found)
            agent_tables.versions.create(self._target, checkfirst=True)
        self._say(f"from {self._from} to {self._to}" + (", where it was begun before" if begun else ""))
        return id_

    def _refuse_strange_target(self, tables: Sequence[sa.Table], is_origin: bool) -> None:
        """It is empty, and made ready, or the source once came from it: what it has, the source had."""
        found, there = schema.current(self._target), set(sa.inspect(self._target).get_table_names())
        if found is None and there:
            raise GatewayError(f"{self._to} holds another program's tables; name an empty database")
        if found is None:
            schema.create(self._target)
        elif found != HEAD:
            raise GatewayError(f"{self._to} is of version {found}, this is {HEAD}; name an empty database")
        elif not is_origin and (full := self._with_rows(tables, there)):
            raise GatewayError(f"{self._to} is not empty: it has {', '.join(full)}; name an empty database")

    def _with_rows(self, tables: Sequence[sa.Table], there: Collection[str]) -> list[str]:
        grown = (table for table in tables if table.name in there and table.name not in MADE_AT_ONCE)
        return [table.name for table in grown if has_rows(self._target, table)]

    def _refuse_company(self) -> None:
        """Nobody else fills this database, and no gateway uses it."""
        if not self._target.execute(sa.select(sa.func.pg_try_advisory_lock(MOVE_LOCK))).scalar_one():
            raise GatewayError(f"another `tenk db move` to {self._to} is at work")
        if users := _users_of(self._target):
            raise GatewayError(f"a gateway uses {self._to} ({users}); stop it first")

    def _mark(self, end: sa.Connection, id_: str, state: str, other: str) -> None:
        relocations.create(end, checkfirst=True)
        end.execute(sa.delete(relocations).where(relocations.c.id == id_))
        end.execute(relocations.insert(), {"id": id_, "state": state, "other": other, "at": self._now})

    def _hold(self, tables: Sequence[sa.Table]) -> None:
        """Until the end nobody writes to the source: on SQLite the transaction has seen to that."""
        if self._source.dialect.name == "sqlite":
            return
        if users := _users_of(self._source):
            raise GatewayError(f"a gateway still uses {self._from} ({users}); stop it first")
        held = sa.select(sa.func.max(shards.c.until)).where(shards.c.owner.is_not(None), shards.c.until > STORE_NOW)
        if (until := self._source.execute(held).scalar()) is not None:
            raise GatewayError(
                f"a gateway holds sessions of {self._from} until {until:%H:%M:%S} UTC: stop it, or wait for that"
            )
        self._source.exec_driver_sql(f"SET LOCAL lock_timeout = {LOCK_WAIT_MS}")
        try:
            self._source.exec_driver_sql(f"LOCK TABLE {', '.join(table.name for table in tables)} IN EXCLUSIVE MODE")
        except SQLAlchemyError as error:
            raise GatewayError(f"somebody writes to {self._from}; stop them first") from error
        self._source.execute(sa.select(sa.func.pg_advisory_xact_lock(schema.CREATION_LOCK)))  # whoever opens it waits


def _refuse_both_ends(newest: sa.Row[Any] | None, begun: str, where: str) -> None:
    """What does not live at the source is not moved from it, but for the move that took it away."""
    if newest is not None and newest.state == "left" and newest.id != begun:
        raise GatewayError(f"{where} was moved to {newest.other} on {newest.at:%Y-%m-%d}, and lives there")
    if newest is not None and newest.state == "filling":
        raise GatewayError(f"{where} is an unfinished copy of {newest.other}: move it from there")


def _marks(end: sa.Connection) -> dict[str, str]:
    """Every move that it has been an end of, with its state."""
    if not sa.inspect(end).has_table(relocations.name):
        return {}
    return {row.id: row.state for row in end.execute(sa.select(relocations))}


_CLIENTS = sa.text(
    "SELECT coalesce(host(client_addr), 'this machine') FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid() AND application_name LIKE 'tenk%' ORDER BY 1"
)


def _users_of(connection: sa.Connection) -> str:
    """Where other connections of gateways to this database come from; "" where there are none."""
    found = list(connection.execute(_CLIENTS).scalars())
    return f"{len(found)} connections, from {', '.join(sorted(set(found)))}" if found else ""
