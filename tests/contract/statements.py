"""A listener to every statement that the contract tests execute: none may lack its tenant filter."""

import re
import traceback
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect

from gateway.coach.tables import PRACTICE_TABLES
from gateway.store.schema import whole

TABLES = (*whole.sorted_tables, *PRACTICE_TABLES.metadata.sorted_tables)
ISOLATED = frozenset(table.name for table in TABLES if "tenant_id" in table.c)
IN_USE = re.compile(r"(?:FROM|JOIN|UPDATE|,)\s+(\w+)(?![\w.(])(?:\s+AS\s+(\w+))?")

EXCUSED = {
    "store/migrations/versions/": "a step of the schema, before the first tenant acts, over tables as they were then",
    "store/dump.py": "carries the rows of all tenants to a file",
    "store/load.py": "carries them back, into a database without rows of any tenant",
}
"""Functions that may name tables without their columns, each with its reason."""

_read: set[Any] = set()


def unfiltered(statement: sa.ClauseElement, dialect: Dialect) -> list[str]:
    """Return the tables from which the statement would read other tenants' rows."""
    text = str(statement.compile(dialect=dialect))
    used = [alias or name for name, alias in IN_USE.findall(text) if name in ISOLATED]
    return [name for name in used if text.count(f"{name}.tenant_id = ") < used.count(name)]


def _is_excused() -> bool:
    files = (frame.filename for frame in traceback.extract_stack(limit=60))
    return any(excused in file for file in files for excused in EXCUSED)


def watch(connection: sa.Connection, statement: Any, *_: object) -> None:
    """Check each statement when it is executed first; a listener of `before_execute`."""
    if isinstance(statement, sa.Select | sa.Update | sa.Delete | sa.CompoundSelect):
        key = statement._generate_cache_key()  # noqa: SLF001  by which SQLAlchemy keeps what it has compiled
        if key is None or key.key not in _read:
            _read.add(None if key is None else key.key)
            found = unfiltered(statement, connection.dialect)
            assert not found or _is_excused(), f"without the tenant's filter on {found}: {statement}"
