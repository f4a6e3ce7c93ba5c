"""Migrations are one chain: with two last ones no database could be brought up, and no gateway would start."""

from alembic.config import Config
from alembic.script import ScriptDirectory

from gateway.store.glance import HEAD
from gateway.store.migrate import MIGRATIONS
from gateway.store.schema import SQLITE, known_revisions, spell


def test_each_migration_follows_another():
    """One begins and one is the newest; a branch is what two people's migrations with the same parent make."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    scripts = ScriptDirectory.from_config(config)
    assert (1, 1) == (len(scripts.get_bases()), len(scripts.get_heads()))
    assert len(list(scripts.walk_revisions())) == len(list((MIGRATIONS / "versions").glob("0*.py")))
    assert [HEAD] == scripts.get_heads()
    assert {script.revision for script in scripts.walk_revisions()} == known_revisions()


def test_an_empty_sqlite_database_gets_the_tables_as_they_are():
    """Who changes a table writes the text anew: `python -m gateway.store.schema`."""
    assert SQLITE.read_text("utf-8") == spell(), "run: .venv/bin/python -m gateway.store.schema"
