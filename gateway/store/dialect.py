"""Statements the two databases spell differently, and those every message runs. Everything else is SQLAlchemy Core."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.util import await_only

from gateway.store.tenancy import OWNER, TENANT, acting_tenant

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

    Insert = postgresql.Insert | sqlite.Insert


def insert_new(connection: sa.Connection, table: sa.Table) -> "Insert":
    """INSERT that leaves a row already there (by any unique key) as it is.

    `rowcount` is 1 for a new row and 0 for one that was there. For the new row's id add `.returning(table.c.id)` and
    take `scalar()`: None means that it was there (`inserted_primary_key` would be some other row's).
    """
    return insert_new_in(connection.dialect.name, table)


def upsert(connection: sa.Connection, table: sa.Table, updated: Sequence[str]) -> "Insert":
    """INSERT, or set the columns `updated` of the row with this primary key unless it is another tenant's."""
    return upsert_in(connection.dialect.name, table, tuple(updated))


def insert_into(connection: sa.Connection, table: sa.Table) -> "Insert":
    """INSERT that says itself what becomes of a row already there."""
    return insert_in(connection.dialect.name, table)


@cache
def insert_new_in(dialect: str, table: sa.Table) -> "Insert":
    """`insert_new` as a dialect of this name has it."""
    return insert_in(dialect, table).on_conflict_do_nothing()


@cache
def upsert_in(dialect: str, table: sa.Table, updated: tuple[str, ...]) -> "Insert":
    """`upsert` as a dialect of this name has it."""
    insert = insert_in(dialect, table)
    new = {name: insert.excluded[name] for name in updated}
    own = table.c[TENANT] == insert.excluded[TENANT] if TENANT in table.c else None
    return insert.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=new, where=own)


def insert_in(dialect: str, table: sa.Table) -> "Insert":
    """`insert_into` as a dialect of this name has it."""
    if dialect == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415  60 ms and 3 MiB, for those who have such a store only

    return postgresql.insert(table)


Spelled = Callable[[str], Any]
"""A statement as a dialect of this name has it."""

Values = Mapping[str, object]
Driven = tuple[str, Callable[[Values], tuple[object, ...]]]
Rows = Sequence[Sequence[Any]]

DRIVER = "driver"
"""Key in `Connection.info`: what runs hot statements in this transaction; None: SQLAlchemy does."""

SPOILED = "spoiled"
"""Key in `Connection.info`: set once a statement failed; nothing of the transaction may hold."""

LOCKED = "locked"
"""Key in `Connection.info`: the fences and leases that this transaction has locked and need not check again."""


class HotStatement:
    """A statement that every message runs: compiled once, its text is given to the driver, sqlite3 or asyncpg.

    Every call names the same parameters. Rows hold the driver's values: ask for numbers and texts alone. SQLAlchemy
    runs it if the connection's statements have listeners.
    """

    def __init__(self, statement: sa.ClauseElement | Spelled) -> None:
        self._spell: Spelled = cache(statement) if callable(statement) else lambda _dialect: statement
        self._driven: dict[str, Driven] = {}  # by dialect

    def count(self, connection: sa.Connection, values: Values) -> int:
        """Run it and return how many rows it wrote."""
        driver = driver_of(connection)
        if driver is None:
            return connection.execute(self._spell(connection.dialect.name), values).rowcount
        return int(self._drive(connection, driver, driver.count, values))

    def rows(self, connection: sa.Connection, values: Values) -> Rows:
        """Run it and return the rows that it found or wrote."""
        driver = driver_of(connection)
        if driver is None:
            return connection.execute(self._spell(connection.dialect.name), values).all()
        found: Rows = self._drive(connection, driver, driver.rows, values)
        return found

    def write_all(self, connection: sa.Connection, rows: Sequence[Values]) -> None:
        """Run it with each of these values."""
        driver = driver_of(connection)
        if driver is None:
            connection.execute(self._spell(connection.dialect.name), rows)
        else:
            self._drive(connection, driver, driver.write_all, *rows)

    def _drive(
        self, connection: sa.Connection, driver: "_Sqlite | _Asyncpg", run: Callable[..., Any], *values: Values
    ) -> Any:
        """Run it by the driver; raise its errors as SQLAlchemy does, and note them."""
        dialect = connection.dialect.name
        text, bind = self._driven.get(dialect) or self._driven.setdefault(dialect, self._compile(connection, values[0]))
        try:
            return run(text, *map(bind, values))
        except driver.errors as error:
            connection.info[SPOILED] = True
            if (told := _as_sqlalchemys(error, text, connection)) is None:
                raise
            raise told from error

    def _compile(self, connection: sa.Connection, values: Values) -> Driven:
        dialect = connection.dialect
        compiled: Any = self._spell(dialect.name).compile(dialect=dialect, column_keys=list(values))
        if compiled.insert_prefetch or compiled.update_prefetch:
            raise ValueError("a column's default is made anew for every row; name the column")
        fixed = {name: bind.value for name, bind in compiled.binds.items() if name not in values}
        is_owned = OWNER in fixed
        names = compiled.positiontup
        processes = [compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect) for name in names]
        processed = [(place, process) for place, process in enumerate(processes) if process is not None]
        take = itemgetter(*names) if len(names) > 1 else lambda given: tuple([given[name] for name in names])

        def bind(values: Values) -> tuple[object, ...]:
            given = values
            if fixed:
                given = {**fixed, **values, OWNER: acting_tenant()} if is_owned else {**fixed, **values}
            row = list(take(given))
            for place, process in processed:
                row[place] = process(row[place])
            return tuple(row)

        return compiled.string, bind


_VALUE_ERRORS = (TypeError, ValueError, OverflowError)


@dataclass(frozen=True, slots=True)
class _Sqlite:
    """Statements over sqlite3's own connection."""

    driver: Any
    errors: ClassVar[tuple[type[Exception], ...]] = (sqlite3.Error, *_VALUE_ERRORS)

    def count(self, text: str, values: tuple[object, ...]) -> int:
        """Return how many rows it wrote."""
        cursor = self.driver.execute(text, values)
        cursor.fetchall()
        return int(cursor.rowcount)

    def rows(self, text: str, values: tuple[object, ...]) -> Any:
        """Return the rows that it found."""
        return self.driver.execute(text, values).fetchall()

    def write_all(self, text: str, *rows: tuple[object, ...]) -> None:
        """Run it with each of these values."""
        for values in rows:
            self.driver.execute(text, values)


class _Asyncpg:
    """Statements over asyncpg's connection, in the greenlet and the transaction of the job."""

    def __init__(self, adapter: Any, errors: tuple[type[Exception], ...]) -> None:
        self._adapter = adapter
        self._driver = adapter.driver_connection
        self.errors = errors

    def count(self, text: str, values: tuple[object, ...]) -> int:
        """Return how many rows it wrote: asyncpg returns the server's words, such as INSERT 0 1."""
        return int(await_only(self._in_transaction(self._driver.execute, text, values)).rpartition(" ")[2])

    def rows(self, text: str, values: tuple[object, ...]) -> Any:
        """Return the rows that it found."""
        return await_only(self._in_transaction(self._driver.fetch, text, values))

    def write_all(self, text: str, *rows: tuple[object, ...]) -> None:
        """Run it with each of these values, sent together."""
        if len(rows) == 1:
            self.count(text, rows[0])
        else:
            await_only(self._in_transaction(self._driver.executemany, text, (rows,)))

    async def _in_transaction(self, run: Callable[..., Awaitable[Any]], text: str, values: tuple[object, ...]) -> Any:
        if self._adapter._transaction is None:  # noqa: SLF001  its own statements begin it so, at the first one
            await self._adapter._start_transaction()  # noqa: SLF001  as above
        return await run(text, *values)


def driver_of(connection: sa.Connection) -> _Sqlite | _Asyncpg | None:
    """Return the driver's own connection within a transaction without listeners; else None."""
    if not connection.in_transaction():
        return None
    noted = connection.info
    if DRIVER not in noted:
        noted[DRIVER] = None if connection.dispatch.before_cursor_execute else _find_driver(connection)
    found: _Sqlite | _Asyncpg | None = noted[DRIVER]
    return found


def _find_driver(connection: sa.Connection) -> _Sqlite | _Asyncpg:
    driver: Any = connection.connection.dbapi_connection
    return _Sqlite(driver) if connection.dialect.name == "sqlite" else _Asyncpg(driver, _asyncpg_errors(connection))


def _asyncpg_errors(connection: sa.Connection) -> tuple[type[Exception], ...]:
    """Return the errors that asyncpg itself raises."""
    driver: Any = connection.dialect.loaded_dbapi
    return (*_VALUE_ERRORS, driver.asyncpg.PostgresError, driver.asyncpg.InterfaceError, driver.Error, OSError)


def _as_sqlalchemys(error: Exception, text: str, connection: sa.Connection) -> Exception | None:
    """Return the error that SQLAlchemy would raise for this one, without values; None if it would let it through."""
    told = error if connection.dialect.name == "sqlite" else _as_adapters(error, connection)
    base: type[Exception] = connection.dialect.loaded_dbapi.Error
    if isinstance(told, base):
        return sa.exc.DBAPIError.instance(text, None, told, base, dialect=connection.dialect)
    return sa.exc.StatementError(str(error), text, None, error) if isinstance(error, TypeError) else None


def _as_adapters(error: Exception, connection: sa.Connection) -> Exception:
    """Return the error that SQLAlchemy's adapter makes of one of asyncpg."""
    adapter: Any = connection.connection.dbapi_connection
    try:
        adapter._handle_exception(error)  # noqa: SLF001  its own statements end so
    except (connection.dialect.loaded_dbapi.Error, type(error)) as told:
        return told
    return error
