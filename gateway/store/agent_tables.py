"""The tables of an agent product, beside the harness's own: made when missing, and brought up to date in steps.

The harness's migrations know nothing of them, and no product of another's. What a step does is its product's matter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from gateway.errors import SchemaTooNew
from gateway.store.schema import whole
from gateway.store.tables.base import NAMING

LOCK = 0x74656E6C
"""One process at a time makes or changes them in a PostgreSQL database."""

versions = sa.Table(
    "agent_versions",
    sa.MetaData(),
    sa.Column("agent", sa.String(64), primary_key=True),
    sa.Column("steps", sa.Integer, nullable=False),  # how many of its steps were taken
)

Step = Callable[[sa.Connection], None]
"""Changes tables that an earlier version of the product made; runs once, in the transaction that counts it."""


def agent_metadata() -> sa.MetaData:
    """Return a metadata for a product's tables, with the harness's names for indexes and constraints."""
    return sa.MetaData(naming_convention=NAMING)


def add_column(connection: sa.Connection, column: sa.Column[Any]) -> None:
    """Add this column, as its table has it now, to the existing rows: a migration step."""
    spelled = sa.schema.CreateColumn(column).compile(dialect=connection.dialect)
    connection.exec_driver_sql(f"ALTER TABLE {column.table.name} ADD COLUMN {spelled}")


@dataclass(frozen=True, slots=True)
class AgentTables:
    """The tables of a product as they are now, and every migration step since its first version."""

    metadata: sa.MetaData
    steps: Sequence[Step] = ()

    def __post_init__(self) -> None:
        """Check the names.

        Raises:
            ValueError: a table has the name of one of the gateway's.
        """
        taken = sorted(set(self.metadata.tables) & {*whole.tables, versions.name})
        if taken:
            raise ValueError(
                f"the gateway has tables of its own with the names {', '.join(taken)}: "
                "begin those of an agent with its name, such as clerk_notes"
            )


def bring_up(connection: sa.Connection, agent: str, tables: AgentTables) -> None:
    """Make what is missing and take the steps that were not taken yet; a second call changes nothing.

    Fresh tables are made as they are now, and no step is taken. Tables without a count are those of the first version.

    Raises:
        SchemaTooNew: a newer version of the product was here; nothing was changed.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
    versions.create(connection, checkfirst=True)
    mine = versions.c.agent == agent
    taken = connection.execute(sa.select(versions.c.steps).where(mine)).scalar_one_or_none()
    if taken is not None and taken > len(tables.steps):
        raise SchemaTooNew(
            f"the tables of the agent {agent} are at step {taken}, this version knows {len(tables.steps)}: "
            "run the newer one, or restore the backup made before it"
        )
    if taken is None:
        there = sa.inspect(connection)
        fresh = not any(there.has_table(table.name) for table in tables.metadata.tables.values())
        taken = len(tables.steps) if fresh else 0
        connection.execute(versions.insert().values(agent=agent, steps=taken))
    for step in tables.steps[taken:]:
        step(connection)
    tables.metadata.create_all(connection)
    connection.execute(versions.update().where(mine).values(steps=len(tables.steps)))
