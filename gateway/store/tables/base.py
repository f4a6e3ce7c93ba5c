"""The one metadata, and the column types every table uses. No query lives beside the tables."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateColumn
from sqlalchemy.sql.compiler import DDLCompiler

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
"""The naming of indexes and constraints, here and in an agent's own tables."""

metadata = sa.MetaData(naming_convention=NAMING)


@compiles(CreateColumn, "sqlite")
def _check_length(created: CreateColumn, compiler: DDLCompiler, **options: Any) -> str:
    """Let SQLite refuse a text that is longer than its column, as PostgreSQL does."""
    declared: str = compiler.visit_create_column(created, **options)  # type: ignore[no-untyped-call]  # as it is
    column = created.element
    if not isinstance(column.type, sa.String) or column.type.length is None:
        return declared
    return f"{declared} CHECK (length({compiler.preparer.format_column(column)}) <= {column.type.length})"


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def _to_microseconds(value: datetime | None) -> int | None:
    return None if value is None else (value - EPOCH) // MICROSECOND


class Instant(sa.types.TypeDecorator[datetime]):
    """An aware UTC datetime, kept as integer microseconds since 1970: the same order and bytes on every engine."""

    impl = sa.BigInteger
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[datetime | None], int | None]:
        """Aware datetime to microseconds, without a call between; a naive one is a programming error."""
        return _to_microseconds

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """Microseconds to an aware UTC datetime; what lies beyond the calendar is at its edge."""
        if value is None:
            return None
        try:
            return EPOCH + timedelta(microseconds=value)
        except OverflowError:
            return datetime(9999, 12, 31, tzinfo=UTC) if value > 0 else datetime(1, 1, 1, tzinfo=UTC)


class Words(sa.types.TypeDecorator[frozenset[str]]):
    """A set of words without blanks, kept as one text."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: frozenset[str] | None, dialect: Dialect) -> str | None:
        """Join the words, sorted."""
        return None if value is None else " ".join(sorted(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> frozenset[str] | None:
        """Split the words."""
        return None if value is None else frozenset(value.split())


class Json(sa.types.TypeDecorator[Any]):
    """A value of the type of an adapter, kept as JSON."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, adapter: TypeAdapter[Any]) -> None:
        super().__init__()
        self.adapter = adapter

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Dump the value."""
        return None if value is None else self.adapter.dump_json(value).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Read the value."""
        return None if value is None else self.adapter.validate_json(value)


def partial_index(name: str, *columns: sa.Column[Any], where: sa.ColumnElement[bool]) -> None:
    """Add an index of the rows for which `where` holds, in both databases.

    PostgreSQL's option is set as the index is made: naming it here would import its dialect.
    """
    sa.event.listen(sa.Index(name, *columns, sqlite_where=where), "before_create", _say_to_postgresql)


def _say_to_postgresql(index: sa.Index, connection: sa.Connection, **_: object) -> None:
    if connection.dialect.name == "postgresql":
        index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]


Sequence64 = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""An ascending row number: its order is the order of admission."""

Id = sa.String(36)
"""A UUIDv7 as text: sorts by time of birth."""


def new_id() -> str:
    """Return a fresh UUIDv7 (RFC 9562): 48 bits of milliseconds, 74 random bits."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def tenant_column() -> sa.Column[str]:
    """Return the column of a row's tenant; every table whose rows belong to tenants has one."""
    return sa.Column("tenant_id", sa.String(64), nullable=False)
