"""The index of passages: FTS5 on SQLite, GIN over `tsvector` on PostgreSQL.

It is made on first use, of what is in the table `passages`, and the database keeps it up to date from then on. It holds
each word behind the passage's mark, so that a search of one mark reads nothing of another's.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from gateway.store.tables.passages import passages

INDEX = "passage_words"
"""Name of the index; on SQLite a virtual table, with tables of its own whose names begin so."""

_VECTOR = "array_to_tsvector(string_to_array(ltrim(replace(' ' || words, ' ', ' ' || mark)), ' '))"
"""The words of a passage as PostgreSQL indexes them."""

_SQLITE = (
    """
    CREATE VIRTUAL TABLE passage_words
    USING fts5(words, content='', detail=none, columnsize=0, tokenize='ascii')
    """,
    """
    CREATE TRIGGER passage_words_added AFTER INSERT ON passages BEGIN
      INSERT INTO passage_words(rowid, words) VALUES (new.id, replace(' ' || new.words, ' ', ' ' || new.mark));
    END
    """,
    """
    CREATE TRIGGER passage_words_removed AFTER DELETE ON passages BEGIN
      INSERT INTO passage_words(passage_words, rowid, words)
      VALUES ('delete', old.id, replace(' ' || old.words, ' ', ' ' || old.mark));
    END
    """,
    """
    CREATE TRIGGER passage_words_changed AFTER UPDATE ON passages BEGIN
      INSERT INTO passage_words(passage_words, rowid, words)
      VALUES ('delete', old.id, replace(' ' || old.words, ' ', ' ' || old.mark));
      INSERT INTO passage_words(rowid, words) VALUES (new.id, replace(' ' || new.words, ' ', ' ' || new.mark));
    END
    """,
    """
    INSERT INTO passage_words(rowid, words) SELECT id, replace(' ' || words, ' ', ' ' || mark) FROM passages
    """,
)
_POSTGRESQL = f"CREATE INDEX IF NOT EXISTS {INDEX} ON passages USING gin ({_VECTOR})"
_MAKING = 0x74656E6C
"""Lock of PostgreSQL: one process at a time makes the index."""

_MERGE = "INSERT INTO passage_words(passage_words, rank) VALUES ('merge', ?)"
MERGED_PAGES = 200
"""Pages of SQLite's index that one batch rewrites."""


def prepare(connection: sa.Connection) -> None:
    """Make the index if there is none."""
    if connection.dialect.name == "sqlite":
        for statement in () if _is_there(connection) else _SQLITE:
            connection.exec_driver_sql(statement)
        return
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MAKING)))
    connection.exec_driver_sql(_POSTGRESQL)


def purge(connection: sa.Connection) -> int:
    """Overwrite a batch of what SQLite's index still has of deleted passages; return 0 once nothing is left of them.

    FTS5 only marks them as deleted, until it merges its parts.
    """
    if connection.dialect.name != "sqlite" or not _is_there(connection):
        return 0
    driver: Any = connection.connection.dbapi_connection
    before = driver.total_changes
    connection.exec_driver_sql(_MERGE, (-MERGED_PAGES,))
    changes: int = driver.total_changes - before
    return changes if changes > 1 else 0  # sqlite.org/fts5.html, "merge": 1 says that nothing was to be done


_IN_SQLITE = "SELECT rowid FROM passage_words WHERE passage_words MATCH ? ORDER BY rowid DESC LIMIT ?"
_found = sa.select(passages.c.id).where(sa.text(f"{_VECTOR} @@ CAST(:asked AS tsquery)")).cte("found")
_IN_POSTGRESQL = sa.select(_found.prefix_with("MATERIALIZED").c.id)
"""Materialized, so that the plan of the search does not begin with the index of ids."""


def ids_with_word(connection: sa.Connection, words: Sequence[str], most: int, *, prefix: bool) -> Sequence[int]:
    """Return the newest passages with one of these words, each behind a mark; `prefix` finds longer ones, too.

    Marks and words have letters and digits only, so no quotation mark stands in them.
    """
    if connection.dialect.name == "sqlite":
        asked = " OR ".join(f'"{word}"{"*" if prefix else ""}' for word in words)
        return connection.exec_driver_sql(_IN_SQLITE, (asked, most)).scalars().all()
    asked = " | ".join(f"'{word}'{':*' if prefix else ''}" for word in words)
    newest = _IN_POSTGRESQL.order_by(sa.literal_column("id").desc()).limit(most)
    return connection.execute(newest, {"asked": asked}).scalars().all()


def _is_there(connection: sa.Connection) -> bool:
    there = connection.exec_driver_sql("SELECT 1 FROM sqlite_master WHERE name = ?", (INDEX,))
    return there.first() is not None
