"""Statements the two databases spell differently, and those every message runs. Everything else is SQLAlchemy Core."""

import sqlite3
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.util import await_only

from gateway.store.tenancy import EVERYBODY, OWNER, SETTING, acting_tenant, run_as

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
    """INSERT that, where the primary key is there already, sets the columns `updated` to the new values."""
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
    return insert.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=new)


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
Given = tuple[Values, Callable[[Rows], None] | None]
"""What a statement is run with, and who takes the rows that it returns."""

DRIVER = "driver"
"""What is noted in `Connection.info`: what runs hot statements in this transaction; None: SQLAlchemy does."""

SPOILED = "spoiled"
"""What is noted in `Connection.info` once a statement failed: nothing of the transaction may hold."""

PUT_OFF = "put off"
"""What of the transaction is done at its end, by who does it."""

HELD = "held"
"""What is there beside it: locks that the transaction has, and need not ask for again."""


def put_off(connection: sa.Connection, does: Callable[[sa.Connection, list[Any]], None], value: object) -> bool:
    """Whether `does` is called with this, and all others of the transaction, before it commits or asks for more.

    On PostgreSQL each statement waits for the server, on SQLite its thread for the loop's (the interpreter is one): a
    group's rows of one kind go together. False: do it now.
    """
    waiting = connection.info.get(PUT_OFF)
    if waiting is None:
        return False
    waiting.setdefault((does, acting_tenant()), []).append(value)
    return True


def do_put_off(connection: sa.Connection) -> None:
    """Do it now, each in the name of whoever put it off, one name after the other; of one name in the order in which
    the first of each kind came.
    """
    waiting = connection.info.get(PUT_OFF)
    while waiting:
        acts = connection.info.get(SETTING)
        key = next((key for key in waiting if (key[1] or EVERYBODY) == acts), None) or next(iter(waiting))
        run_as(key[1], _with(key[0], waiting.pop(key)), connection)


def let_see(connection: sa.Connection) -> None:
    """On PostgreSQL: the policies of the rows hear who acts, until the transaction ends; said where that changes.

    It goes before a statement, not before a job: what was put off for many is done in one name after the other.
    """
    whose = acting_tenant() or EVERYBODY
    if connection.info.get(SETTING, EVERYBODY) == whose:
        return
    connection.info[SETTING] = whose
    _set.rows(connection, {"b_whose": whose})
    connection.info[SETTING] = whose  # it may have been the first of its transaction


def _with(does: Callable[[sa.Connection, list[Any]], None], values: list[Any]) -> Callable[[sa.Connection], None]:
    return lambda connection: does(connection, values)


class HotStatement:
    """A statement of which every message runs some: its compiled text goes straight to the driver, sqlite3 or asyncpg.

    SQLite then takes 2 µs where SQLAlchemy's own way takes 20 to 30, asyncpg 60 where it takes 250 (November 2026). It
    is asked in that way where somebody listens to statements. Every call names the same parameters. Rows come back as
    the driver has them: ask for numbers and texts alone.
    """

    def __init__(
        self,
        statement: sa.ClauseElement | Spelled,
        *,
        after_all: bool = False,
        walled: bool = True,
        key: Sequence[str] = (),
    ) -> None:
        """With `after_all` what was put off is done before it; without `walled` its tables have no tenants.

        `key` are parameters whose columns come first in each row that it returns: they tell whose row it is.
        """
        self._walled = walled
        self._after_all = after_all
        self._keys = (itemgetter(*key), itemgetter(*range(len(key)))) if key else None  # of what it is given, of a row
        self._spell: Spelled = cache(statement) if callable(statement) else lambda _dialect: statement
        self._driven: dict[tuple[str, bool], Driven] = {}  # by dialect, and by whether a tenant acts

    def count(self, connection: sa.Connection, values: Values) -> int:
        """Run it; how many rows it wrote."""
        driver = driver_of(connection)
        if driver is None:
            return connection.execute(self._spell(connection.dialect.name), values).rowcount
        return int(self._drive(connection, driver, driver.count, values))

    def rows(self, connection: sa.Connection, values: Values) -> Rows:
        """Run it; what it found or returns."""
        driver = driver_of(connection)
        if driver is None:
            return connection.execute(self._spell(connection.dialect.name), values).all()
        found: Rows = self._drive(connection, driver, driver.rows, values)
        return found

    def write_all(self, connection: sa.Connection, rows: Sequence[Values]) -> None:
        """Run it with each of these."""
        if driver_of(connection) is None:
            connection.execute(self._spell(connection.dialect.name), rows)
            return
        for row in rows:
            self.later(connection, row)

    def later(self, connection: sa.Connection, values: Values, then: Callable[[Rows], None] | None = None) -> None:
        """Run it, now or with others of its kind before the transaction ends.

        `then` takes the rows that it returns (of a statement with a `key`); without it nobody asks what came of it.
        """
        if put_off(connection, self._write_many, (values, then)):
            return
        self.count(connection, values) if then is None else then(self.rows(connection, values))

    def _write_many(self, connection: sa.Connection, given: list[Given]) -> None:
        text, bind = self._driven_on(connection, given[0][0])
        driver = driver_of(connection)
        assert driver is not None, "nothing is put off elsewhere"

        def rows() -> list[tuple[object, ...]]:
            return [bind(values) for values, _ in given]

        if self._keys is None:
            self._run(connection, driver, driver.write_many, text, rows)
            return
        key_of, key_in = self._keys
        found: dict[object, list[Sequence[Any]]] = defaultdict(list)
        for row in self._run(connection, driver, driver.rows_of_many, text, rows):
            found[key_in(row)].append(row)
        for values, then in given:  # the first of two alike has the row: that one wrote it
            own = found.pop(key_of(values), ())
            if then is not None:
                then(own)

    def _drive(
        self, connection: sa.Connection, driver: "_Sqlite | _Asyncpg", run: Callable[[str, Any], Any], values: Values
    ) -> Any:
        """What the driver makes of it; an error is SQLAlchemy's, and noted."""
        if self._after_all:
            do_put_off(connection)
        text, bind = self._driven_on(connection, values)
        return self._run(connection, driver, run, text, lambda: bind(values))

    def _run(
        self,
        connection: sa.Connection,
        driver: "_Sqlite | _Asyncpg",
        run: Callable[[str, Any], Any],
        text: str,
        bound: Callable[[], object],
    ) -> Any:
        try:
            if self._walled and isinstance(driver, _Asyncpg):
                let_see(connection)
            return run(text, bound())
        except driver.errors as error:
            connection.info[SPOILED] = True
            if (told := _as_sqlalchemys(error, text, connection)) is None:
                raise
            raise told from error

    def _driven_on(self, connection: sa.Connection, values: Values) -> Driven:
        """Its text for this driver, with what takes its values; compiled at the first call."""
        key = connection.dialect.name, acting_tenant() is not None
        found = self._driven.get(key)
        if found is None:
            found = self._driven[key] = self._compile(connection, values)
        return found

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


_set = HotStatement(sa.select(sa.func.set_config(SETTING, sa.bindparam("b_whose"), sa.true())), walled=False)

_VALUE_ERRORS = (TypeError, ValueError, OverflowError)


class _Sqlite:
    """Statements over sqlite3's own connection."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error, *_VALUE_ERRORS)

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def count(self, text: str, values: tuple[object, ...]) -> int:
        """How many rows it wrote."""
        cursor = self._driver.execute(text, values)
        cursor.fetchall()
        return int(cursor.rowcount)

    def rows(self, text: str, values: tuple[object, ...]) -> Any:
        """What it found."""
        return self._driver.execute(text, values).fetchall()

    def write_many(self, text: str, rows: list[tuple[object, ...]]) -> None:
        """Each of them, in few statements."""
        self.rows_of_many(text, rows)

    def rows_of_many(self, text: str, rows: list[tuple[object, ...]]) -> Any:
        """What all of them return, asked for in few statements: of 32, 16, 8, 4, 2 rows and of one; up to eight new
        ones at once: the driver keeps an INSERT ready for each number of rows.
        """
        as_one = FEW_ROWS if text.startswith("INSERT") else 1
        found: list[Any] = []
        begun = 0
        while left := len(rows) - begun:
            count = left if left <= as_one else min(MOST_ROWS, 1 << left.bit_length() - 1)
            values = tuple(chain.from_iterable(rows[begun : begun + count]))
            found += self.rows(of_rows(text, len(rows[0]), count), values)
            begun += count
        return found


MOST_ROWS, FEW_ROWS = 32, 8


@cache
def of_rows(text: str, width: int, count: int) -> str:
    """SQLite's INSERT or UPDATE of one row, with so many values, as one of so many rows."""
    if count == 1:
        return text
    row = f"({', '.join('?' * width)})"
    rows = ", ".join([row] * count)
    if text.startswith("INSERT"):
        before, found, after = text.partition(f"VALUES {row}")
        assert found, text
        return f"{before}VALUES {rows}{after}"
    first, *pieces = text.split("?")
    assert len(pieces) == width, text
    named = first + "".join([f"given.column{number}{piece}" for number, piece in enumerate(pieces, 1)])
    return named.replace(" WHERE ", f" FROM (VALUES {rows}) AS given WHERE ", 1)


class _Asyncpg:
    """The same over asyncpg's, in the greenlet that SQLAlchemy runs a job in, and in its transaction."""

    def __init__(self, adapter: Any, errors: tuple[type[Exception], ...]) -> None:
        self._adapter = adapter
        self._driver = adapter.driver_connection
        self.errors = errors

    def count(self, text: str, values: tuple[object, ...]) -> int:
        """How many rows it wrote: asyncpg tells the server's words, such as INSERT 0 1."""
        return int(await_only(self._in_transaction(self._driver.execute, text, values)).rpartition(" ")[2])

    def rows(self, text: str, values: tuple[object, ...]) -> Any:
        """What it found."""
        return await_only(self._in_transaction(self._driver.fetch, text, values))

    def write_many(self, text: str, rows: list[tuple[object, ...]]) -> None:
        """Each of them, sent together."""
        if len(rows) == 1:
            self.count(text, rows[0])
        else:
            await_only(self._in_transaction(self._driver.executemany, text, (rows,)))

    def rows_of_many(self, text: str, rows: list[tuple[object, ...]]) -> Any:
        """What all of them return, sent together."""
        if len(rows) == 1:
            return self.rows(text, rows[0])
        return await_only(self._in_transaction(self._driver.fetchmany, text, (rows,)))

    async def _in_transaction(self, run: Callable[..., Awaitable[Any]], text: str, values: tuple[object, ...]) -> Any:
        if self._adapter._transaction is None:  # noqa: SLF001  its own statements begin it so, at the first one
            await self._adapter._start_transaction()  # noqa: SLF001  as above
        return await run(text, *values)


def driver_of(connection: sa.Connection) -> _Sqlite | _Asyncpg | None:
    """The driver's own connection, within a transaction that nobody listens to; else None."""
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
    """What asyncpg raises of itself."""
    driver: Any = connection.dialect.loaded_dbapi
    return (*_VALUE_ERRORS, driver.asyncpg.PostgresError, driver.asyncpg.InterfaceError, driver.Error, OSError)


def _as_sqlalchemys(error: Exception, text: str, connection: sa.Connection) -> Exception | None:
    """The error that SQLAlchemy raises instead of this one, here without values; None: it lets it through."""
    told = error if connection.dialect.name == "sqlite" else _as_adapters(error, connection)
    base: type[Exception] = connection.dialect.loaded_dbapi.Error
    if isinstance(told, base):
        return sa.exc.DBAPIError.instance(text, None, told, base, dialect=connection.dialect)
    return sa.exc.StatementError(str(error), text, None, error) if isinstance(error, TypeError) else None


def _as_adapters(error: Exception, connection: sa.Connection) -> Exception:
    """What SQLAlchemy's adapter of asyncpg makes of an error of asyncpg."""
    adapter: Any = connection.connection.dbapi_connection
    try:
        adapter._handle_exception(error)  # noqa: SLF001  its own statements end so
    except (connection.dialect.loaded_dbapi.Error, type(error)) as told:
        return told
    return error
