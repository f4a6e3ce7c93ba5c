"""Statements the two databases spell differently. Everything else is plain SQLAlchemy Core."""

from collections.abc import Sequence
from functools import cache

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

Insert = postgresql.Insert | sqlite.Insert


def insert_new(connection: sa.Connection, table: sa.Table) -> Insert:
    """INSERT that leaves a row already there (by any unique key) as it is.

    `rowcount` is 1 for a new row and 0 for one that was there. For the new row's id add `.returning(table.c.id)` and
    take `scalar()`: None means that it was there (`inserted_primary_key` would be some other row's).
    """
    return _insert_new(connection.dialect.name, table)


def upsert(connection: sa.Connection, table: sa.Table, updated: Sequence[str]) -> Insert:
    """INSERT that, where the primary key is there already, sets the columns `updated` to the new values."""
    return _upsert(connection.dialect.name, table, tuple(updated))


def insert_into(connection: sa.Connection, table: sa.Table) -> Insert:
    """INSERT that says itself what becomes of a row already there."""
    return _insert(connection.dialect.name, table)


@cache
def _insert_new(dialect: str, table: sa.Table) -> Insert:
    return _insert(dialect, table).on_conflict_do_nothing()


@cache
def _upsert(dialect: str, table: sa.Table, updated: tuple[str, ...]) -> Insert:
    insert = _insert(dialect, table)
    new = {name: insert.excluded[name] for name in updated}
    return insert.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=new)


def _insert(dialect: str, table: sa.Table) -> Insert:
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
