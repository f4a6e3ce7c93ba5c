"""Counts what a transaction did to the inbox, once it holds: a job that is rolled back or run again counts nothing."""

from collections import Counter

import sqlalchemy as sa

from gateway.telemetry import OUTCOMES, series

_NAME = "outcomes"


def note(connection: sa.Connection, outcome: str, rows: int) -> None:
    """So many rows end with this outcome, if the transaction commits; below 0 where they are open again."""
    connection.info.setdefault(_NAME, Counter())[outcome] += rows


def forget(connection: sa.Connection) -> None:
    """A transaction begins."""
    connection.info.pop(_NAME, None)


def count(connection: sa.Connection) -> None:
    """The transaction has committed."""
    for outcome, rows in connection.info.pop(_NAME, {}).items():
        series(OUTCOMES, outcome).inc(max(rows, 0))
