"""Rows are written from one database into another and read back, whatever the two are; `moving` says which and when."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from gateway.errors import GatewayError
from gateway.store.tables.base import Instant

BATCH = 1_000
SAID_ROWS = 100_000
"""Of a long table it is said how far it is."""

NUL = "\x00"
INSTEAD_OF_NUL = "\ufffd"

Say = Callable[[str], None]


@dataclass(slots=True)
class RowSum:
    """So many rows, and what they hold, whatever their order."""

    rows: int = 0
    digest: int = 0

    def add(self, row: tuple[Any, ...]) -> None:
        """One row more."""
        self.rows += 1
        found = blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        self.digest = (self.digest + int.from_bytes(found)) % (1 << 128)


class TableCopy:
    """Fills the tables of an open connection from those of another, which holds its rows as they are meanwhile."""

    def __init__(self, source: sa.Connection, target: sa.Connection, say: Say) -> None:
        """`say` is told what is copied, and how far it is."""
        self._source = source
        self._target = target
        self._say = say
        self.mended: dict[str, int] = {}
        """By table: rows with a NUL in a text, which PostgreSQL does not keep."""

    def carry(self, tables: Sequence[sa.Table]) -> list[RowSum]:
        """Every table; what an earlier call brought, and is still the same, stays."""
        sums = []
        for number, table in enumerate(tables):
            with self._target.begin():
                begun = has_rows(self._target, table)
                found = self._sum(self._target, table) if begun else RowSum()
            if begun and self._sum(self._source, table) != found:
                self._clear(tables[number:])
                begun = False
            sums.append(found if begun else self._copy(table))
        return sums

    def _clear(self, tables: Sequence[sa.Table]) -> None:
        with self._target.begin():
            if self._target.dialect.name == "postgresql":
                self._target.exec_driver_sql(f"TRUNCATE {', '.join(table.name for table in tables)}")
                return
            for table in reversed(tables):
                self._target.execute(sa.delete(table))

    def _copy(self, table: sa.Table) -> RowSum:
        """Write all rows in one transaction, then read them back."""
        wanted, plain = RowSum(), _plain(table)
        total = self._source.execute(sa.select(sa.func.count()).select_from(plain)).scalar_one()
        names = [column.name for column in plain.columns]
        if total:
            self._say(f"{table.name}: {total:,} rows")
        with self._target.begin():
            for batch in self._batches(self._source, table):
                for row in batch:
                    wanted.add(row)
                try:
                    self._target.execute(plain.insert(), [dict(zip(names, row, strict=True)) for row in batch])
                except SQLAlchemyError as error:
                    raise _in_words(table, batch, error) from error
                if wanted.rows % SAID_ROWS == 0:
                    self._say(f"{table.name}: {wanted.rows:,} of {total:,}")
            if self._target.dialect.name == "postgresql":
                _go_on_counting(self._target, table)
        with self._target.begin():
            found = self._sum(self._target, table)
        if found != wanted:
            raise GatewayError(
                f"{table.name} is not the same where it was written: {found.rows:,} of {wanted.rows:,} rows, or other "
                "words in them; nothing lives there yet, call it again"
            )
        return found

    def _sum(self, end: sa.Connection, table: sa.Table) -> RowSum:
        found = RowSum()
        for batch in self._batches(end, table):
            for row in batch:
                found.add(row)
        return found

    def _batches(self, end: sa.Connection, table: sa.Table) -> Iterator[list[tuple[Any, ...]]]:
        """All rows of an end, as the target keeps them."""
        query = sa.select(_plain(table))
        mends = end is self._source and self._target.dialect.name == "postgresql"
        if mends:
            self.mended[table.name] = 0
        for part in end.execute(query, execution_options={"yield_per": BATCH}).partitions():
            rows = [tuple(row) for row in part]
            yield [self._mend(table.name, row) for row in rows] if mends else rows

    def _mend(self, table: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
        if not any(isinstance(value, str) and NUL in value for value in row):
            return row
        self.mended[table] += 1
        return tuple(value.replace(NUL, INSTEAD_OF_NUL) if isinstance(value, str) else value for value in row)


def _plain(table: sa.Table) -> sa.TableClause:
    """The table without what Python makes of its values, such as defaults and instants."""
    columns = (
        sa.column(column.name, sa.BigInteger() if isinstance(column.type, Instant) else column.type)
        for column in table.columns
    )
    return sa.table(table.name, *columns)


def has_rows(end: sa.Connection, table: sa.Table) -> bool:
    """Whether there is any."""
    return end.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first() is not None


def _go_on_counting(connection: sa.Connection, table: sa.Table) -> None:
    """PostgreSQL numbers the next row behind the last one; SQLite does so by itself."""
    column = table.autoincrement_column
    if column is None:
        return
    newest = sa.select(sa.func.max(column)).scalar_subquery()
    counter = sa.func.pg_get_serial_sequence(table.name, column.name)
    known = counter.is_not(None), newest.is_not(None)
    connection.execute(sa.select(sa.func.setval(counter, newest)).where(*known))


def _in_words(table: sa.Table, batch: Sequence[tuple[Any, ...]], error: SQLAlchemyError) -> GatewayError:
    """Which row it was, as far as that can be seen: SQLite keeps longer texts and greater numbers than PostgreSQL."""
    for row in batch:
        for column, value in zip(table.columns, row, strict=True):
            longest = getattr(column.type, "length", None)
            long = isinstance(value, str) and longest is not None and len(value) > longest
            great = isinstance(value, int) and abs(value) > _most(column.type)
            if long or great:
                key = dict(zip(table.primary_key.columns.keys(), row, strict=False))
                what = f"has {len(value)} characters of {longest}" if long else f"is {value}"
                return GatewayError(f"a row of {table.name} does not fit: {column.name} {what} ({key})")
    return GatewayError(f"a row of {table.name} was not taken: {getattr(error, 'orig', None) or error}")


def _most(kind: sa.types.TypeEngine[Any]) -> int:
    """The greatest number of a column."""
    if isinstance(kind, sa.SmallInteger):
        return 2**15 - 1
    return 2**63 - 1 if isinstance(kind, sa.BigInteger | Instant) else 2**31 - 1
