"""The modules that may run SQL that SQLAlchemy does not compile: it has no tenant filter."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.test_sdk_imports import imported
from tests.house.tree import PACKAGES, is_migration, named, parsed, python_files

DRIVERS = {"aiosqlite", "asyncpg", "psycopg", "psycopg2", "sqlite3"}
RAW = {"exec_driver_sql", "dbapi_connection", "driver_connection", "get_raw_connection", "raw_connection", "TextClause"}
SQLALCHEMY = {"sa", "sqlalchemy"}

REASONS = {
    "gateway/store/addresses.py": "looks whether the driver is installed",
    "gateway/store/agent_tables.py": "adds a column to a table",
    "gateway/store/backup.py": "copies an SQLite file whole",
    "gateway/store/dump.py": "locks every table, and looks at who is connected",
    "gateway/store/inspection.py": "looks at the server's settings, or at the file before it is opened",
    "gateway/store/load.py": "changes a setting of its own session",
    "gateway/store/looking.py": "sets up connections that read",
    "gateway/store/postgres.py": "sets up connections to a server; LISTEN and NOTIFY",
    "gateway/store/retention.py": "gives free pages of an SQLite file back",
    "gateway/store/schema.py": "creates the triggers that announce changes",
    "gateway/store/search_index.py": "makes and asks FTS5 and GIN; the rows that are found are read with the filter",
    "gateway/store/sqlite.py": "sets up the connection that writes",
}


def raw_sql(path: Path) -> Iterator[str]:
    """Yield the names by which a module runs or writes SQL that has no filter."""
    yield from DRIVERS & set(imported(path))
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
            if node.attr in RAW or (owner in SQLALCHEMY and node.attr in {"table", "text"}):
                yield node.attr
            elif node.attr == "cursor" and owner.endswith("connection"):
                yield "cursor"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sqlalchemy":
            yield from {"table", "text", *RAW} & {name.name for name in node.names}


def test_no_other_module_runs_or_writes_sql_by_hand() -> None:
    found = {named(path) for path in python_files(*PACKAGES) if not is_migration(path) and any(raw_sql(path))}
    assert sorted(REASONS) == sorted(found), "write it with SQLAlchemy Core, or give the reason in REASONS"
