"""Runs inside alembic, on the connection and in the transaction that `gateway.store.migrate` gave it."""

from typing import Literal

import sqlalchemy as sa
from alembic import context
from alembic.autogenerate.api import AutogenContext

from gateway.store.schema import whole


def render_item(kind: str, item: object, _autogen: AutogenContext) -> str | Literal[False]:
    """Write a type of ours as what it is in the database, and a boolean default as both databases take it."""
    if kind == "type" and isinstance(item, sa.TypeDecorator):
        return f"sa.{type(item.impl_instance).__name__}()"
    if kind == "server_default" and isinstance(item, sa.DefaultClause):
        if isinstance(item.arg, sa.False_):
            return "sa.false()"
        if isinstance(item.arg, sa.True_):
            return "sa.true()"
    return False


def is_ours(_object: object, _name: str | None, kind: str, reflected: bool, twin: object) -> bool:
    """A table that only the database knows is an agent's (`gateway.store.agent_tables`): none to be dropped."""
    return not (kind == "table" and reflected and twin is None)


for index in (index for table in whole.sorted_tables for index in table.indexes):
    if (where := index.dialect_kwargs.get("sqlite_where")) is not None:  # for a revision that is written on SQLite
        index.dialect_kwargs["postgresql_where"] = where

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=whole,
    transactional_ddl=True,  # SQLite too: the driver's own transaction handling is off
    render_as_batch=context.config.attributes["batch"],  # SQLite alters a table by copying it
    render_item=render_item,
    include_object=is_ours,
)
with context.begin_transaction():
    context.run_migrations()
