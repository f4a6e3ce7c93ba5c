"""An agent's own tables on every store: made once, changed in steps, left alone by an older version."""

import pytest
import sqlalchemy as sa

from gateway.errors import SchemaTooNew
from gateway.store.agent_tables import AgentTables, agent_metadata, bring_up
from gateway.store.engine import Store
from gateway.store.tables.base import Id
from gateway.store.tables.people import users


def first_version() -> AgentTables:
    metadata = agent_metadata()
    owner = sa.Column("user_id", Id, sa.ForeignKey(users.c.id))
    sa.Table("notes", metadata, sa.Column("id", sa.Integer, primary_key=True), owner, sa.Column("text", sa.Text))
    return AgentTables(metadata)


def add_stars(connection: sa.Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE notes ADD COLUMN stars INTEGER NOT NULL DEFAULT 0")


def second_version() -> AgentTables:
    metadata = agent_metadata()
    stars = sa.Column("stars", sa.Integer, nullable=False, server_default="0")
    sa.Table("notes", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("text", sa.Text), stars)
    sa.Table("tags", metadata, sa.Column("name", sa.String(32), primary_key=True))
    return AgentTables(metadata, (add_stars,))


async def brought_up(store: Store, tables: AgentTables) -> None:
    await store.commit(bring_up, agent="clerk", tables=tables)


async def columns(store: Store, table: str) -> set[str]:
    return await store.read(lambda connection: {one["name"] for one in sa.inspect(connection).get_columns(table)})


def test_a_name_of_the_gateways_tables_is_refused() -> None:
    metadata = agent_metadata()
    for name in ("schedules", "agent_versions", "clerk_notes"):
        sa.Table(name, metadata, sa.Column("id", sa.Integer, primary_key=True))
    with pytest.raises(ValueError, match="with the names agent_versions, schedules: begin"):
        AgentTables(metadata)


async def test_fresh_tables_are_made_as_they_are_now(store: Store) -> None:
    for _ in range(2):
        await brought_up(store, second_version())
    assert ({"id", "text", "stars"}, {"name"}) == (await columns(store, "notes"), await columns(store, "tags"))


async def test_what_an_earlier_version_kept_is_taken_along(store: Store) -> None:
    await brought_up(store, first_version())
    await store.commit(lambda connection: connection.exec_driver_sql("INSERT INTO notes (id, text) VALUES (1, 'a')"))
    for _ in range(2):
        await brought_up(store, second_version())
    query = sa.text("SELECT text, stars FROM notes")
    assert [("a", 0)] == await store.read(lambda connection: [tuple(row) for row in connection.execute(query)])
    assert {"name"} == await columns(store, "tags")


async def test_uncounted_tables_are_those_of_the_first_version(store: Store) -> None:
    await store.commit(first_version().metadata.create_all)
    await brought_up(store, second_version())
    assert "stars" in await columns(store, "notes")


async def test_an_older_version_of_the_agent_is_refused(store: Store) -> None:
    await brought_up(store, second_version())
    with pytest.raises(SchemaTooNew, match="clerk"):
        await brought_up(store, first_version())
    assert "stars" in await columns(store, "notes")
