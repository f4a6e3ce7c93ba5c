"""The stores under contract, each with an outage and its end."""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import sqlalchemy as sa

from gateway.store.engine import Store
from gateway.store.sqlite import SqliteEngine
from gateway.store.tables.base import EPOCH
from gateway.store.tables.people import audit
from gateway.store.writer import Job
from tests.fakes.postgres import PostgresServer


class StoreCase(Protocol):
    """One database, fresh for a test."""

    url: str

    async def open(self) -> Store:
        """Return a store over the database; the test closes it."""
        ...

    def outage(self) -> AbstractContextManager[None]:
        """Let no write succeed within this context."""
        ...


class SqliteCase:
    """A file; during an outage another process holds the write lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"

    async def open(self) -> Store:
        return await Store(SqliteEngine(self.path, busy_timeout_ms=20)).start()

    @contextmanager
    def outage(self) -> Iterator[None]:
        other = sqlite3.connect(self.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            other.close()


class PostgresCase:
    """A database of a server; an outage is the server's crash."""

    def __init__(self, server: PostgresServer, url: str) -> None:
        self._server = server
        self.url = url

    async def open(self) -> Store:
        return await Store.open(self.url)

    @contextmanager
    def outage(self) -> Iterator[None]:
        self._server.kill()
        try:
            yield
        finally:
            self._server.start()


def note(subject: str, detail: str = "") -> Job[int]:
    """Return a job that adds a row to the audit log and returns its number."""

    def job(connection: sa.Connection) -> int:
        values = {"tenant_id": "t", "at": EPOCH, "actor": "cli", "action": "noted", "subject": subject}
        insert = audit.insert().values(detail=detail).returning(audit.c.id)
        return int(connection.execute(insert, values).scalar_one())

    return job


def subjects(connection: sa.Connection) -> list[str]:
    """Return the audit log's subjects in the order of the rows."""
    return list(connection.execute(sa.select(audit.c.subject).order_by(audit.c.id)).scalars())
