"""Runs inside alembic, on the connection and in the transaction that `gateway.store.migrate` gave it."""

from typing import Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext

from gateway.store.schema import whole
from gateway.store.tables.base import Instant


def render_item(kind: str, item: object, _autogen: AutogenContext) -> str | Literal[False]:
    """A migration must not change with the code: our own types are written as what they are in the database."""
    return "sa.BigInteger()" if kind == "type" and isinstance(item, Instant) else False


def is_ours(_object: object, _name: str | None, kind: str, reflected: bool, twin: object) -> bool:
    """A table that only the database knows is an agent's (`gateway.store.agent_tables`): none to be dropped."""
    return not (kind == "table" and reflected and twin is None)


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
