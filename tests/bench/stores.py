"""PostgreSQL beside SQLite under the same load in one run: CPU a message, of gateway and server, messages a second.

The server is the tests' own, with `fsync` on, on the same machine: it takes processor time from the gateway.
"""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import asyncpg

from tests.bench.figures import LABELS
from tests.bench.loads import CASES, Loads, measure
from tests.bench.subject import Subject, gateway, gateway_by
from tests.bench.world import PLATFORMS
from tests.fakes.postgres import PostgresServer

GOAL_PER_S = 200
DURABLE = {"fsync": "on", "shared_buffers": "128MB", "autovacuum": "on"}
"""As a server for people has it, and unlike that of tests."""


class OnServer(Subject):
    """A gateway whose server's CPU is counted, too."""

    server: PostgresServer
    server_s = 0.0

    def begin(self) -> None:
        """The load begins."""
        super().begin()
        self.server_s = cpu_of_tree(self.server.pid)

    async def spent_s(self) -> float:
        """The gateway's alone; the server's is kept in `server_s`."""
        self.server_s = cpu_of_tree(self.server.pid) - self.server_s
        return await super().spent_s()


def cpu_of_tree(pid: int) -> float:
    """CPU seconds of a process and its children, those that have ended included."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if pid in (int(path.parent.name), int(fields[1])):
            total += int(fields[11]) + int(fields[12])
            total += int(fields[13]) + int(fields[14]) if int(path.parent.name) == pid else 0
    return total / os.sysconf("SC_CLK_TCK")


async def run(loads: Loads) -> dict[str, object]:
    """The first of the loads, on Telegram."""
    name, case = loads.platforms[0], CASES[0]
    local = await measure(gateway, PLATFORMS[name](), case, loads)
    started: list[OnServer] = []
    with PostgresServer(DURABLE) as server:
        url = await server.create_migrated()
        before = await _written(url)
        remote = await measure(partial(_start, server, url, started), PLATFORMS[name](), case, loads)
        after = await _written(url)
    messages = loads.chats * (loads.messages_each + case.warm_up)
    wal, commits, kept = [(new - old) / messages for new, old in zip(after, before, strict=True)]
    server_ms = started[0].server_s * 1000 / (loads.chats * loads.messages_each)
    print(f"\n{name}, {loads.chats} chats, {case.name}")
    print(f"  {'':14}{'SQLite':>10}{'PostgreSQL':>12}{'ratio':>8}")
    for label, field in LABELS:
        ours, theirs = getattr(local, field), getattr(remote, field)
        print(f"  {label:14}{ours:10.2f}{theirs:12.2f}{theirs / ours:8.2f}")
    print(f"  the server:    {server_ms:.2f} ms of CPU a message; goal on PostgreSQL: {GOAL_PER_S} messages/s")
    print(
        f"  a message:     {wal / 1024:.1f} kB of log, {commits:.2f} commits, {kept / 1024:.1f} kB more in the database"
    )
    figures = {"server_cpu_ms": server_ms, "wal_bytes": wal, "commits": commits, "kept_bytes": kept}
    return {"sqlite": local.rounded(), "postgresql": remote.rounded(), **figures}


async def _written(url: str) -> tuple[int, int, int]:
    """Bytes of log so far, transactions, and the size of the database."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SELECT pg_stat_force_next_flush()")
        row = await connection.fetchrow(
            "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint, "
            "(SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()), "
            "pg_database_size(current_database())"
        )
    finally:
        await connection.close()
    return int(row[0]), int(row[1]), int(row[2])


def _start(
    server: PostgresServer, url: str, started: list[OnServer], home: Path, environment: Mapping[str, str]
) -> Subject:
    subject = gateway_by(OnServer, ["-m", "gateway"], home, {**environment, "DATABASE_URL": url})
    subject.server = server
    started.append(subject)
    return subject
