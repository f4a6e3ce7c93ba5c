"""The index of passages: FTS5 on SQLite, GIN over `tsvector` on PostgreSQL.

It is made on first use, of what is in the table `passages`, and the database keeps it up to date from then on. It holds
each word behind the passage's mark, so that a search of one mark reads nothing of another's.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from agent.memory.words import Term

INDEX = "passage_words"
"""Name of the index; on SQLite a virtual table, with tables of its own whose names begin so."""

_VECTOR = "array_to_tsvector(string_to_array(ltrim(replace(' ' || words, ' ', ' ' || mark)), ' '))"
"""The words of a passage as PostgreSQL indexes them."""

_SQLITE = (
    """
    CREATE VIRTUAL TABLE passage_words
    USING fts5(words, content='', detail=none, columnsize=0, tokenize='ascii')
    """,
    "CREATE TABLE passage_words_removed (is_unmerged INTEGER PRIMARY KEY)",
    """
    CREATE TRIGGER passage_words_added AFTER INSERT ON passages BEGIN
      INSERT INTO passage_words(rowid, words) VALUES (new.id, replace(' ' || new.words, ' ', ' ' || new.mark));
    END
    """,
    """
    CREATE TRIGGER passage_words_removed AFTER DELETE ON passages BEGIN
      INSERT INTO passage_words(passage_words, rowid, words)
      VALUES ('delete', old.id, replace(' ' || old.words, ' ', ' ' || old.mark));
      INSERT OR IGNORE INTO passage_words_removed VALUES (1);
    END
    """,
    """
    CREATE TRIGGER passage_words_changed AFTER UPDATE ON passages BEGIN
      INSERT INTO passage_words(passage_words, rowid, words)
      VALUES ('delete', old.id, replace(' ' || old.words, ' ', ' ' || old.mark));
      INSERT OR IGNORE INTO passage_words_removed VALUES (1);
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
    if connection.exec_driver_sql("SELECT 1 FROM passage_words_removed").first() is None:
        return 0
    connection.begin_nested().commit()  # FTS5 writes what this transaction has deleted
    driver: Any = connection.connection.dbapi_connection
    before = driver.total_changes
    connection.exec_driver_sql(_MERGE, (-MERGED_PAGES,))
    changes: int = driver.total_changes - before
    if changes > 1:
        return changes
    connection.exec_driver_sql("DELETE FROM passage_words_removed")  # sqlite.org/fts5.html: there was nothing to do
    return 0


_IN_SQLITE = "SELECT rowid FROM passage_words WHERE passage_words MATCH ? ORDER BY rowid DESC LIMIT ?"
_IN_POSTGRESQL = sa.text(
    "SELECT ARRAY(SELECT id FROM ("  # noqa: S608  our own expression
    f"SELECT id FROM passages WHERE {_VECTOR} @@ CAST(asked.words AS tsquery) OFFSET 0) found "
    "ORDER BY id DESC LIMIT :most) "
    "FROM unnest(string_to_array(:asked, chr(10))) WITH ORDINALITY AS asked (words, number) ORDER BY asked.number"
)
"""Asks for all terms at once; OFFSET keeps the plan from beginning with the index of ids."""


def ids_with(
    connection: sa.Connection, marks: Sequence[str], terms: Sequence[Term], most: int
) -> Iterator[Sequence[int]]:
    """Yield, for each term, the newest passages of these marks that have it.

    Marks and terms have letters and digits only, so no quotation mark stands in them.
    """
    if connection.dialect.name == "sqlite":
        for term in terms:
            asked = " OR ".join(f'"{mark}{term.text}"{"*" if term.is_prefix else ""}' for mark in marks)
            yield connection.exec_driver_sql(_IN_SQLITE, (asked, most)).scalars().all()
        return
    lines = [" | ".join(f"'{mark}{term.text}'{':*' if term.is_prefix else ''}" for mark in marks) for term in terms]
    if lines:
        yield from connection.execute(_IN_POSTGRESQL, {"asked": "\n".join(lines), "most": most}).scalars()


def _is_there(connection: sa.Connection) -> bool:
    there = connection.exec_driver_sql("SELECT 1 FROM sqlite_master WHERE name = ?", (INDEX,))
    return there.first() is not None
