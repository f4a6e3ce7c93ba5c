"""Statements that the two databases spell differently. Everything else is SQLAlchemy Core."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from gateway.store.tenancy import TENANT

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

    Insert = postgresql.Insert | sqlite.Insert


def insert_new(connection: sa.Connection, table: sa.Table, *returned: sa.Column[Any]) -> Any:
    """INSERT that leaves a row already there (by any unique key) as it is.

    `rowcount` is 1 for a new row and 0 for one that was there. For the new row's id name `table.c.id` as `returned` and
    take `scalar()`: None means that it was there (`inserted_primary_key` would be some other row's).
    """
    return _insert_new(connection.dialect.name, table, returned)


def upsert(connection: sa.Connection, table: sa.Table, updated: Sequence[str]) -> "Insert":
    """INSERT, or set the columns `updated` of the row with this primary key unless it is another tenant's."""
    return _upsert(connection.dialect.name, table, tuple(updated))


def insert_into(connection: sa.Connection, table: sa.Table) -> "Insert":
    """INSERT that says itself what becomes of a row already there."""
    return insert_in(connection.dialect.name, table)


@cache
def _insert_new(dialect: str, table: sa.Table, returned: tuple[sa.Column[Any], ...]) -> Any:
    insert = insert_in(dialect, table).on_conflict_do_nothing()
    return insert.returning(*returned) if returned else insert


@cache
def _upsert(dialect: str, table: sa.Table, updated: tuple[str, ...]) -> "Insert":
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


SPOILED = "spoiled"
"""Key in `Connection.info`: set once a statement failed; nothing of the transaction may hold."""

LOCKED = "locked"
"""Key in `Connection.info`: the leases that this transaction has locked and need not check again."""
