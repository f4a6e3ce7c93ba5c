"""PostgreSQL beside SQLite under the same load in one run: CPU a message, of gateway and server, messages a second.

The server is the tests' own, with `fsync` on, on the same machine: it takes processor time from the gateway.
"""

import asyncio
import os
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Self

import asyncpg

from gateway.access.codes import load_key
from gateway.safety.private_files import KEY, SECRETS_KEY
from gateway.safety.vault import load_keys
from tests.bench.figures import Figures
from tests.bench.loads import CASES, Loads, measure
from tests.bench.subject import Subject, gateway, gateway_by
from tests.bench.world import PLATFORMS
from tests.fakes.postgres import PostgresServer

GOAL_PER_S = 200
PROCESSES = (1, 2, 3)
SHARED_S = 6.0
"""After which the shards are shared fairly."""
YEARLONG = ("events", "turns", "usage")
"""Tables whose rows stay for a year; rows of the other large ones stay for `SHORT_DAYS` (`[retention]` as it comes)."""

SHORT_DAYS = 30
DAILY = 10
"""Messages a day of a person who writes often."""

DURABLE = {"fsync": "on", "shared_buffers": "128MB", "autovacuum": "on"}
"""Settings of a server for people, unlike the tests'."""


class OnServer(Subject):
    """A gateway whose CPU includes its database server's."""

    server: PostgresServer
    server_s = 0.0

    def begin(self) -> None:
        super().begin()
        self.server_s = cpu_of_tree(self.server.pid)

    async def spent_s(self) -> float:
        """Return the gateway's CPU seconds; keep the server's in `server_s`."""
        self.server_s = cpu_of_tree(self.server.pid) - self.server_s
        return await super().spent_s()


def cpu_of_tree(pid: int) -> float:
    """Return CPU seconds of a process and its children, ended ones included."""
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
    """Measure the first load on Telegram."""
    name, case = loads.platforms[0], CASES[0]
    messages = loads.chats * (loads.messages_each + case.warm_up)
    print(f"\n{name}, {loads.chats} chats, {case.name}")
    print(f"  {'':24}{'CPU ms/message':>16}{'messages/s':>12}{'p50 ms':>9}{'RSS MiB':>9}{'of SQLite':>11}")
    local = await measure(gateway, PLATFORMS[name](), case, loads)
    _print("SQLite", local, local)
    results: dict[str, object] = {"sqlite": local.rounded()}
    with PostgresServer(DURABLE) as server:
        for processes in PROCESSES:
            started: list[Cluster] = []
            url = await server.create_migrated()
            before = await _written(url)
            start = partial(_start, server, url, started, processes)
            found = await measure(start, PLATFORMS[name](), case, loads)
            after = await _written(url)
            _print(f"PostgreSQL, {processes} process{'es' * (processes > 1)}", found, local)
            wal, commits, kept, yearlong = [(new - old) / messages for new, old in zip(after, before, strict=True)]
            server_ms = started[0].server_s * 1000 / (loads.chats * loads.messages_each)
            print(f"    a message: {server_ms:.2f} ms of the server's CPU, {commits:.2f} commits,")
            print(f"    {wal / 1024:.1f} kB of log, {kept / 1024:.1f} kB kept, {yearlong / 1024:.1f} kB of it a year")
            year_mb = DAILY * (365 * yearlong + SHORT_DAYS * (kept - yearlong)) / 2**20
            print(f"    a person who writes {DAILY} messages a day takes {year_mb:.0f} MiB after a year")
            figures = {
                "server_cpu_ms": server_ms,
                "wal_bytes": wal,
                "commits": commits,
                "kept_bytes": kept,
                "yearlong_bytes": yearlong,
            }
            results[f"postgresql-{processes}"] = {**found.rounded(), **figures}
    print(f"  goal on PostgreSQL: {GOAL_PER_S} messages/s; RSS is that of the first process")
    return results


def _print(name: str, found: Figures, local: Figures) -> None:
    figures = f"{found.cpu_ms:>16.2f}{found.per_s:>12.1f}{found.p50_ms:>9.0f}{found.rss_mb:>9.0f}"
    print(f"  {name:24}{figures}{found.per_s / local.per_s:>11.2f}", flush=True)


async def _written(url: str) -> tuple[int, int, int, int]:
    """Return bytes of log, commits, bytes of the database and of the tables that stay for a year."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SELECT pg_stat_force_next_flush()")
        row = await connection.fetchrow(
            "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint, "
            "(SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()), "
            "pg_database_size(current_database()), "
            "(SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest($1::text[]) AS name)",
            YEARLONG,
        )
    finally:
        await connection.close()
    return int(row[0]), int(row[1]), int(row[2]), int(row[3])


class Cluster(OnServer):
    """Several equal gateways on one database."""

    def __init__(self, arguments: list[str], environment: Mapping[str, str], log: Path) -> None:
        super().__init__(arguments, environment, log)
        self.others: list[Subject] = []

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        for other in self.others:
            await other.__aenter__()
        await asyncio.sleep(SHARED_S if self.others else 0)
        return self

    async def end(self, signum: int) -> None:
        for other in self.others:
            await other.end(signum)
        await super().end(signum)

    def cpu_s(self) -> float:
        return super().cpu_s() + sum(other.cpu_s() for other in self.others)


def _start(
    server: PostgresServer, url: str, started: list[Cluster], processes: int, home: Path, environment: Mapping[str, str]
) -> Subject:
    environment = {**environment, "DATABASE_URL": url}
    subject = gateway_by(Cluster, ["-m", "gateway"], home, environment)
    subject.server = server
    load_key(home)
    load_keys(home)
    for number in range(1, processes):
        beside = home / f"process{number}"
        beside.mkdir(mode=0o700)
        for key in (KEY, SECRETS_KEY):
            shutil.copy(home / key, beside / key)
        subject.others.append(gateway(beside, environment))
    started.append(subject)
    return subject
