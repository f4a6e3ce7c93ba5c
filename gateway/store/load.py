"""A dump of `gateway.store.dump` loaded into an empty database, of either kind, in one transaction."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import sqlalchemy as sa

from gateway.errors import GatewayError
from gateway.safety.private_files import BESIDE_DATABASE
from gateway.store import agent_tables, schema
from gateway.store.addresses import file_of
from gateway.store.agent_tables import AgentTables
from gateway.store.dump import (
    BATCH_ROWS,
    FORMAT,
    Carried,
    TablesOf,
    names_of,
    on_connection,
    plain,
    refuse_company,
    tables_in,
)
from gateway.store.inspection import refuse_unfit
from gateway.store.revisions import HEAD, refusal
from gateway.store.sqlite import make_file
from gateway.store.tables.turns import shards

MADE_AT_ONCE = (shards.name, agent_tables.versions.name)
"""Tables with rows from the first moment on: a database with nothing else in it is empty."""

NUL, INSTEAD_OF_NUL = "\x00", "\ufffd"


async def load(source: Path, url: str, tables_of: TablesOf) -> Carried:
    """Fill an empty database with a dump. The caller holds the home's lock.

    Raises:
        GatewayError: the dump cannot be read or is not whole, or the database is not empty; nothing was written.
        StoreUnavailable: the database does not answer.
    """
    file = file_of(url)
    is_new = file is not None and not file.exists()
    try:
        with source.open(encoding="utf-8", newline="\n") as text:
            lines = _Lines(source, text)
            agents = _read_header(lines, tables_of)
            if file is not None:
                make_file(file)
            return await on_connection(url, partial(_load, lines=lines, agents=agents), writes=True)
    except BaseException as error:
        if is_new and file is not None:
            for left_over in (file, *(file.with_name(file.name + end) for end in BESIDE_DATABASE)):
                left_over.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise GatewayError(f"{source} cannot be read: {error.strerror}") from error
        raise


class _Lines:
    """The lines of a dump, each read as JSON, with the number of the newest."""

    def __init__(self, source: Path, file: TextIO) -> None:
        self._source = source
        self._file = file
        self.number = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            text = self._file.readline()
            self.number += 1
            if text.endswith("\n"):
                return json.loads(text)
        except (ValueError, RecursionError):
            raise self.error("is no JSON") from None
        raise self.error("is missing: the file was cut short" if not text else "was cut short")

    def at_end(self) -> bool:
        return not self._file.read(1)

    def error(self, why: str) -> GatewayError:
        return GatewayError(f"line {self.number} of {self._source} {why}; nothing was loaded")


def _read_header(lines: _Lines, tables_of: TablesOf) -> dict[str, AgentTables]:
    """Return the tables of each agent in the dump.

    Raises:
        GatewayError: this version cannot load it.
    """
    match next(lines):
        case {"tenk_dump": int(form), "revision": str(revision), "agents": dict(agents)}:
            pass
        case _:
            raise lines.error("is not the beginning of a dump of `tenk db dump`")
    if form > FORMAT:
        raise lines.error(f"is of dump format {form}, this version knows {FORMAT}: run the newer tenk-gateway")
    if revision != HEAD:
        why = refusal(revision).replace("the database has", "the dump has")
        raise GatewayError(why or f"the dump has schema version {revision}: load it with the version that made it")
    found = {}
    for agent, steps in agents.items():
        known = tables_of(agent)
        if known is None or steps != len(known.steps):
            here = "not installed here" if known is None else f"at step {len(known.steps)} here and {steps} in the dump"
            raise lines.error(f"names the agent {agent}, which is {here}")
        found[agent] = known
    return found


def _load(connection: sa.Connection, lines: _Lines, agents: Mapping[str, AgentTables]) -> Carried:
    with connection.begin():
        is_server = connection.dialect.name == "postgresql"
        if is_server:
            refuse_unfit(connection)
            refuse_company(connection)
            connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(schema.CREATION_LOCK)))
        _make_empty(connection, agents)
        tables = {table.name: table for table in tables_in({a: len(t.steps) for a, t in agents.items()}, agents.get)}
        carried = _fill(connection, lines, dict(tables))
        for table in tables.values() if is_server else ():
            _go_on_counting(connection, table)
    return carried


def _make_empty(connection: sa.Connection, agents: Mapping[str, AgentTables]) -> None:
    """Make the tables where they are missing; refuse rows in them."""
    if schema.current(connection) is None and names_of(connection):
        raise GatewayError("the database holds another program's tables; name an empty one")
    schema.bring_up(connection)
    for agent, found in agents.items():
        agent_tables.bring_up(connection, agent, found)
    names = names_of(connection)
    grown = sorted(names - {*MADE_AT_ONCE, schema.version.name})
    if full := [
        name for name in grown if connection.execute(sa.select(sa.exists().select_from(sa.table(name)))).scalar()
    ]:
        raise GatewayError(f"the database is not empty: it has {', '.join(full)}; a dump is loaded into an empty one")
    for name in names.intersection(MADE_AT_ONCE):
        connection.execute(sa.delete(sa.table(name)))


def _fill(connection: sa.Connection, lines: _Lines, missing: dict[str, sa.Table]) -> Carried:
    count, rows, mended = len(missing), 0, 0
    table: _Table | None = None
    for line in lines:
        if isinstance(line, list) and table is not None:
            mended += table.add(line, lines)
            rows += 1
            continue
        if table is not None:
            table.flush(lines)
        match line:
            case {"table": str(name), "columns": list(columns)} if name in missing:
                table = _Table(connection, missing.pop(name), columns, lines)
            case {"rows": int(total)} if total == rows and not missing and lines.at_end():
                return Carried(count, rows, mended)
            case {"rows": total}:
                raise lines.error(f"should be the last one and count {rows:,} rows, or tables are missing before it")
            case _:
                raise lines.error("is no row of a table, and begins none that is expected here")
    raise AssertionError("the lines end with an error")


class _Table:
    """A table that is being filled."""

    def __init__(self, connection: sa.Connection, table: sa.Table, columns: Sequence[object], lines: _Lines) -> None:
        if columns != table.columns.keys():
            raise lines.error(f"names other columns of {table.name} than this version has")
        self._connection = connection
        self._table = table
        self._plain = plain(table)
        self._is_server = connection.dialect.name == "postgresql"
        self._batch: list[dict[str, Any]] = []

    def add(self, values: Sequence[Any], lines: _Lines) -> bool:
        """Take a row; return whether a NUL was replaced in it."""
        if len(values) != len(self._table.columns):
            raise lines.error(f"has {len(values)} values, {self._table.name} has {len(self._table.columns)} columns")
        row, mended = dict[str, Any](), False
        for column, value in zip(self._plain.columns, values, strict=True):
            try:
                fit = None if value is None else _fit(column.type, value, is_server=self._is_server)
            except (ValueError, TypeError) as error:
                raise lines.error(f"does not fit {self._table.name}.{column.name}: {error}") from error
            if self._is_server and isinstance(fit, str) and NUL in fit:
                fit, mended = fit.replace(NUL, INSTEAD_OF_NUL), True
            row[column.name] = fit
        self._batch.append(row)
        if len(self._batch) == BATCH_ROWS:
            self.flush(lines)
        return mended

    def flush(self, lines: _Lines) -> None:
        """Write the rows that were taken."""
        if not self._batch:
            return
        try:
            self._connection.execute(self._plain.insert(), self._batch)
        except (sa.exc.IntegrityError, sa.exc.DataError) as error:
            first = lines.number - len(self._batch)
            raise lines.error(f"or one before it, from {first} on, was not taken: {error.orig}") from error
        self._batch = []


def _fit(kind: sa.types.TypeEngine[Any], value: Any, *, is_server: bool) -> Any:
    """Return a value of JSON as its column takes it.

    Raises:
        ValueError, TypeError: it does not fit.
    """
    if isinstance(kind, sa.LargeBinary):
        return base64.b64decode(value["base64"], validate=True)
    if isinstance(kind, sa.Date):
        return date.fromisoformat(value)
    if isinstance(kind, sa.String):
        if not isinstance(value, str):
            raise TypeError("a text belongs there")
        if is_server and kind.length is not None and len(value) > kind.length:
            raise ValueError(f"it has {len(value)} characters of {kind.length}")
        return value
    wanted = bool if isinstance(kind, sa.Boolean) else int
    if type(value) is not wanted:
        raise TypeError(f"{'true or false' if wanted is bool else 'a whole number'} belongs there")
    if abs(value) > _most(kind):
        raise ValueError(f"{value} is too great")
    return value


def _most(kind: sa.types.TypeEngine[Any]) -> int:
    if isinstance(kind, sa.SmallInteger):
        return 2**15 - 1
    return 2**63 - 1 if isinstance(kind, sa.BigInteger) else 2**31 - 1


def _go_on_counting(connection: sa.Connection, table: sa.Table) -> None:
    """Have PostgreSQL number the next row behind the last one; SQLite does so by itself."""
    column = table.autoincrement_column
    if column is None:
        return
    newest = sa.select(sa.func.max(column)).scalar_subquery()
    counter = sa.func.pg_get_serial_sequence(table.name, column.name)
    connection.execute(sa.select(sa.func.setval(counter, newest)).where(counter.is_not(None), newest.is_not(None)))
