"""Rows of one table as frozen dataclasses: how cold tables are read and written."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Generic, TypeVar, get_type_hints

import sqlalchemy as sa

from gateway.store.dialect import insert_new, upsert
from gateway.store.tenancy import TENANT, refuse_other, whose_rows

T = TypeVar("T")


class Rows(Generic[T]):
    """The rows of a table, each read and written as a dataclass whose fields are columns of it.

    The field `tenant` is the column `tenant_id`. Conditions are equalities by name (`None`: IS NULL; several values or
    a SELECT: one of them) and expressions over `c`. A job inserts rows only for the tenant that it acts for, and
    `gateway.store.tenancy` limits what it reads and changes to that tenant's.
    """

    def __init__(self, table: sa.Table, row: type[T]) -> None:
        assert is_dataclass(row), "a row is a dataclass"
        hints = get_type_hints(row)
        self.table, self.c = table, table.c
        self._row = row
        self._columns = {
            field.name: table.c[_column(field.name)] for field in fields(row) if _column(field.name) in table.c
        }
        self._enums = {
            name: hint for name in self._columns if isinstance(hint := hints[name], type) and issubclass(hint, Enum)
        }
        self._select = sa.select(*(column.label(name) for name, column in self._columns.items()))

    def get(
        self, connection: sa.Connection, /, *where: sa.ColumnElement[bool], order: Any = (), **equal: Any
    ) -> T | None:
        """Return the first row that fits, or None."""
        return next(iter(self.find(connection, *where, order=order, limit=1, **equal)), None)

    def find(
        self,
        connection: sa.Connection,
        /,
        *where: sa.ColumnElement[bool],
        order: Any = (),
        limit: int | None = None,
        **equal: Any,
    ) -> list[T]:
        """Return the rows that fit, by `order` and then by primary key."""
        order = (*_as_tuple(order), *self.table.primary_key.columns)
        query = self._select.where(*self._conditions(where, equal)).order_by(*order).limit(limit)
        return [self._read(row) for row in connection.execute(query).mappings()]

    def count(self, connection: sa.Connection, /, *where: sa.ColumnElement[bool], **equal: Any) -> int:
        """Return how many rows fit."""
        query = sa.select(sa.func.count()).select_from(self.table).where(*self._conditions(where, equal))
        return int(connection.execute(query).scalar_one())

    def add(self, connection: sa.Connection, /, row: T) -> bool:
        """Insert a row; return False, and change nothing, if one with the same key is there.

        Raises:
            RuntimeError: the job acts for another tenant than the row's.
        """
        return connection.execute(insert_new(connection, self.table), self._values(row)).rowcount == 1

    def put(self, connection: sa.Connection, /, row: T) -> None:
        """Insert a row, or give the row with its primary key these values.

        Raises:
            RuntimeError: the job acts for another tenant than the row's, or the row with this key is another's.
        """
        changed = [column.name for column in self._columns.values() if not column.primary_key]
        if not connection.execute(upsert(connection, self.table, changed), self._values(row)).rowcount:
            raise RuntimeError(f"the row of {self.table.name} with this key is another tenant's")

    def save(self, connection: sa.Connection, /, row: T, *where: sa.ColumnElement[bool], **equal: Any) -> bool:
        """Give the row with this row's primary key these values if the conditions fit; return False if they do not.

        Raises:
            RuntimeError: the job acts for another tenant than the row's.
        """
        values = self._values(row)
        key = [column == values.pop(column.name) for column in self.table.primary_key.columns]
        return self.patch(connection, values, *key, *where, **equal) == 1

    def patch(
        self, connection: sa.Connection, /, values: Mapping[str, Any], *where: sa.ColumnElement[bool], **equal: Any
    ) -> int:
        """Set these columns of the rows that fit; return how many did.

        Raises:
            RuntimeError: the job gives rows to another tenant than the one that it acts for.
        """
        if TENANT in values:
            refuse_other(values[TENANT], self.table)
        changed = sa.update(self.table).where(*self._conditions(where, equal)).values(values)
        return connection.execute(changed).rowcount

    def delete(self, connection: sa.Connection, /, *where: sa.ColumnElement[bool], **equal: Any) -> int:
        """Delete the rows that fit; return how many did."""
        return connection.execute(sa.delete(self.table).where(*self._conditions(where, equal))).rowcount

    def _conditions(
        self, where: Iterable[sa.ColumnElement[bool]], equal: Mapping[str, Any]
    ) -> list[sa.ColumnElement[bool]]:
        return [*where, *(_is(self.c[_column(name)], value) for name, value in equal.items())]

    def _values(self, row: T) -> dict[str, Any]:
        values = {column.name: getattr(row, name) for name, column in self._columns.items()}
        if TENANT in self.c:
            refuse_other(values.setdefault(TENANT, whose_rows()), self.table)
        return values

    def _read(self, row: sa.RowMapping) -> T:
        return self._row(**{**row, **{name: enum(row[name]) for name, enum in self._enums.items()}})


def _column(name: str) -> str:
    return TENANT if name == "tenant" else name


def _as_tuple(order: Any) -> tuple[Any, ...]:
    return tuple(order) if isinstance(order, tuple | list) else (order,)


def _is(column: sa.Column[Any], value: Any) -> sa.ColumnElement[bool]:
    if value is None or isinstance(value, sa.SelectBase):
        return column.is_(None) if value is None else column.in_(value)
    if isinstance(value, list | tuple | set | frozenset):
        return column.in_([_to_operand(each) for each in value])
    same: sa.ColumnElement[bool] = column == _to_operand(value)
    return same


def _to_operand(value: Any) -> Any:
    """Write a member of an enumeration out: SQLite uses a partial index only for literals."""
    return sa.literal_column(f"'{value.value}'") if isinstance(value, Enum) else value
