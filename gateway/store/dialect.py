"""Statements the two databases spell differently, and those every message runs. Everything else is SQLAlchemy Core."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from gateway.store.tenancy import acting_tenant, with_acting

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
    return _upsert(connection.dialect.name, table, tuple(updated))


def insert_into(connection: sa.Connection, table: sa.Table) -> "Insert":
    """INSERT that says itself what becomes of a row already there."""
    return insert_in(connection.dialect.name, table)


@cache
def insert_new_in(dialect: str, table: sa.Table) -> "Insert":
    """`insert_new` as a dialect of this name has it."""
    return insert_in(dialect, table).on_conflict_do_nothing()


@cache
def _upsert(dialect: str, table: sa.Table, updated: tuple[str, ...]) -> "Insert":
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

SPOILED = "spoiled"
"""What is noted in `Connection.info` once a statement failed: nothing of the transaction may hold."""


class HotStatement:
    """A statement of which every message runs some: on SQLite its compiled text goes straight to the driver.

    That takes 2 µs where SQLAlchemy's own way takes 20 to 30 (November 2026). PostgreSQL is asked in SQLAlchemy's way,
    and so is SQLite where somebody listens to statements. Every call names the same parameters. Rows come back as the
    driver has them: ask for numbers and texts alone.
    """

    def __init__(self, statement: sa.ClauseElement | Spelled) -> None:
        self._spell: Spelled = cache(statement) if callable(statement) else lambda _dialect: statement
        self._driven: dict[bool, tuple[str, Callable[[Values], tuple[object, ...]]]] = {}  # by whether a tenant acts

    def count(self, connection: sa.Connection, values: Values) -> int:
        """Run it; how many rows it wrote."""
        driver = _driver_of(connection)
        if driver is None:
            return connection.execute(self._spell(connection.dialect.name), values).rowcount
        return self._drive(connection, driver, values)[0]

    def rows(self, connection: sa.Connection, values: Values) -> Sequence[Sequence[Any]]:
        """Run it; what it found or returns."""
        driver = _driver_of(connection)
        if driver is None:
            return connection.execute(self._spell(connection.dialect.name), values).all()
        return self._drive(connection, driver, values)[1]

    def write_all(self, connection: sa.Connection, rows: Sequence[Values]) -> None:
        """Run it with each of these."""
        if _driver_of(connection) is None:
            connection.execute(self._spell(connection.dialect.name), rows)
            return
        for row in rows:
            self.count(connection, row)

    def _drive(self, connection: sa.Connection, driver: Any, values: Values) -> tuple[int, list[tuple[Any, ...]]]:
        """How many rows it wrote, and those it came back with; an error is SQLAlchemy's, and noted."""
        text, bind = self._driven.get(acting_tenant() is not None) or self._compile(connection, values)
        try:
            cursor = driver.execute(text, bind(values))
            return cursor.rowcount, cursor.fetchall()
        except (sqlite3.Error, TypeError, ValueError, OverflowError) as error:
            connection.info[SPOILED] = True
            if (told := _as_sqlalchemys(error, text, connection)) is None:
                raise
            raise told from error

    def _compile(self, connection: sa.Connection, values: Values) -> tuple[str, Callable[[Values], tuple[object, ...]]]:
        dialect = connection.dialect
        compiled: Any = self._spell(dialect.name).compile(dialect=dialect, column_keys=list(values))
        if compiled.insert_prefetch or compiled.update_prefetch:
            raise ValueError("a column's default is made anew for every row; name the column")
        fixed = {name: bind.value for name, bind in compiled.binds.items() if name not in values}
        fixed_now = with_acting(compiled, fixed)
        processes = [
            (name, compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect))
            for name in compiled.positiontup
        ]

        def bind(values: Values) -> tuple[object, ...]:
            given = {**fixed_now(), **values} if fixed else values
            return tuple([given[name] if process is None else process(given[name]) for name, process in processes])

        driven = self._driven[acting_tenant() is not None] = compiled.string, bind
        return driven


def _driver_of(connection: sa.Connection) -> Any:
    """SQLite's own connection, within a transaction that nobody listens to; else None."""
    if connection.dialect.name != "sqlite" or not connection.in_transaction():
        return None
    return None if connection.dispatch.before_cursor_execute else connection.connection.dbapi_connection


def _as_sqlalchemys(error: Exception, text: str, connection: sa.Connection) -> Exception | None:
    """The error that SQLAlchemy raises instead of this one, here without values; None: it lets it through."""
    if isinstance(error, sqlite3.Error):
        return sa.exc.DBAPIError.instance(text, None, error, sqlite3.Error, dialect=connection.dialect)
    return sa.exc.StatementError(str(error), text, None, error) if isinstance(error, TypeError) else None
