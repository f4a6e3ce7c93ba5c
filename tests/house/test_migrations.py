"""The chain of migrations: with two last revisions no database could be upgraded."""

from alembic.config import Config
from alembic.script import ScriptDirectory

from gateway.store.revisions import FIRST, HEAD, KNOWN, VERSIONS


def test_each_migration_follows_another():
    config = Config()
    config.set_main_option("script_location", str(VERSIONS.parent).replace("%", "%%"))
    scripts = ScriptDirectory.from_config(config)
    assert ([FIRST], [HEAD]) == (scripts.get_bases(), scripts.get_heads())
    chain = [script.revision for script in scripts.walk_revisions()]
    assert sorted(KNOWN, reverse=True) == chain, "their numbers are in the order of the chain"
    assert len(chain) == len(list(VERSIONS.glob("*.py"))), "two files of one number"
