"""Reads what `tenk status` says of a database file by sqlite3 alone: SQLAlchemy takes longer to load than all the rest.

The statements are those of `gateway.store.outbox`, `pairing` and `schema` as SQLAlchemy spells them; a test spells them
anew. Nothing out of the ordinary is put into words here.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from gateway.store.revisions import HEAD

BUSY_S = 1.0

REVISION = "SELECT alembic_version.version_num \nFROM alembic_version"
IS_CLOSED = "SELECT 1 FROM final_dump"
COUNTED = "SELECT outbox.state, count(*) AS parts \nFROM outbox \nWHERE outbox.state IN "
DEPTHS = f"{COUNTED}('ready', 'sending') GROUP BY outbox.state", f"{COUNTED}('unknown', 'dead') GROUP BY outbox.state"
PENDING_COUNTS = (
    "SELECT pairing_requests.channel, pairing_requests.account, count(*) AS count_1 \nFROM pairing_requests \n"
    "WHERE pairing_requests.state = 'pending' GROUP BY pairing_requests.channel, pairing_requests.account"
)
STATES = ("ready", "sending", "unknown", "dead")


def glance_at(file: Path) -> dict[str, dict[str, int]] | None:
    """How many parts of the outbox stand in which state, and how many requests wait at which account.

    Empty where there is no such file. None: it was closed, is of another version, or does not answer at once.
    """
    if not file.exists():
        return {}
    try:
        with closing(
            sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True, timeout=BUSY_S, isolation_level=None)
        ) as connection:
            return _read(connection)
    except sqlite3.Error:
        return None


def _read(connection: sqlite3.Connection) -> dict[str, dict[str, int]] | None:
    connection.execute("BEGIN")  # one view
    if connection.execute(REVISION).fetchall() != [(HEAD,)] or connection.execute(IS_CLOSED).fetchall():
        return None
    parts = dict(row for query in DEPTHS for row in connection.execute(query))
    waiting = connection.execute(PENDING_COUNTS)
    return {
        "outbox": {state: parts[state] for state in STATES if state in parts},
        "pairing_requests": {f"{channel}:{account}": count for channel, account, count in waiting},
    }
