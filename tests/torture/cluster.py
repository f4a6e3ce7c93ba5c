"""The world around several gateways over one PostgreSQL, each with a home and a way to the database of its own."""

import asyncio
import shutil
import signal
import threading
import time
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import asyncpg
import sqlalchemy as sa

from gateway.access.codes import load_key
from gateway.coach.tables import PRACTICE_TABLES
from gateway.safety.private_files import KEY, SECRETS_KEY
from gateway.safety.vault import load_keys
from gateway.store.postgres import READERS
from gateway.store.schema import whole
from tests.fakes.ports import free_address
from tests.fakes.postgres import PostgresServer
from tests.torture.gateway_process import GatewayProcess
from tests.torture.invariants import Verdict, examine
from tests.torture.platforms import Platform
from tests.torture.world import NotSettled, Said, World

T = TypeVar("T")

MOST_CONNECTIONS = READERS + 2
"""Connections of one gateway: its readers, its writer, and the one for leases."""

LIVING = "SELECT id FROM members WHERE until > extract(epoch FROM clock_timestamp()) * 1e6"

CLOCKS_S = (0, 30, -30)
"""Offsets of the machines' clocks."""


class Cut:
    """A proxy before the database that can be cut or silenced."""

    def __init__(self, port: int) -> None:
        self._to = port
        self.port = 0
        self.silent = asyncio.Event()  # set: whatever is on the way goes on
        self.silent.set()
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """End every connection there is."""
        for writer in self._open:
            writer.transport.abort()

    async def aclose(self) -> None:
        """Listen no more."""
        self.silent.set()
        if self._server is not None:
            self._server.close()
        self.cut()
        while self._pumps:
            await asyncio.wait(list(self._pumps))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._pumps.add(task)
        self._open.add(writer)
        try:
            with suppress(OSError):
                back, to = await asyncio.open_connection("127.0.0.1", self._to)
                self._open.add(to)
                try:
                    async with asyncio.TaskGroup() as pumps:
                        pumps.create_task(self._pump(reader, to))
                        pumps.create_task(self._pump(back, writer))
                finally:
                    self._open.discard(to)
                    to.transport.abort()
        finally:
            self._open.discard(writer)
            writer.transport.abort()
            self._pumps.discard(task)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(65536):
                await self.silent.wait()
                sink.write(data)
                await sink.drain()
        sink.transport.abort()


class Looker:
    """A synchronous reader of the database: a loop of its own in a thread."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._connection: asyncpg.Connection[Any] | None = None

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query as soon as the server answers."""
        return self._run(self._rows(query))

    def execute(self, statement: str) -> None:
        """Do this as the administrator; no matter if that fails."""
        with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            self._run(self._execute(statement))

    def close(self) -> None:
        """Look no more."""
        if self._connection is not None:
            self._run(self._drop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _rows(self, query: str) -> list[tuple[Any, ...]]:
        ends_s = time.monotonic() + 30
        while True:
            try:
                if self._connection is None:
                    self._connection = await asyncpg.connect(self._url, timeout=5)
                return [tuple(row) for row in await self._connection.fetch(query, timeout=20)]
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await self._drop()
                if time.monotonic() > ends_s:
                    raise
                await asyncio.sleep(0.1)

    async def _execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self._url, timeout=5)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await connection.close(timeout=2)


class ClusterWorld(World):
    """The world around several gateways: each with a home, the same keys, and its own proxy to the database."""

    def __init__(
        self,
        directory: Path,
        count: int,
        server: PostgresServer,
        platform: Platform | None = None,
        *,
        config: str = "",
    ) -> None:
        super().__init__(directory, platform, pace_s=0.05, config=config)
        self.server_of_rows = server
        self._size = count
        self.machines: list[GatewayProcess] = []
        self.addresses: list[str] = []  # of each machine's HTTP server
        self.cuts: list[Cut] = []
        self.broken: list[str] = []  # machines that ended by themselves
        self._looker: Looker | None = None
        self.url = ""

    @property
    def looker(self) -> Looker:
        assert self._looker is not None, "the world is not open"
        return self._looker

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        first = self.gateway
        self.url = await self.server_of_rows.create_migrated()
        self._looker = Looker(self.url)
        load_key(first.home)
        load_keys(first.home)
        for number in range(self._size):
            cut = Cut(self.server_of_rows.port)
            await cut.start()
            home = self._directory / f"home{number}"
            home.mkdir(mode=0o700)
            for name in (KEY, SECRETS_KEY):
                shutil.copy2(first.home / name, home / name)
            url = self.url.replace(f":{self.server_of_rows.port}/", f":{cut.port}/")
            self.cuts.append(cut)
            off_s = str(CLOCKS_S[number % len(CLOCKS_S)])
            env = {"DATABASE_URL": url, "TORTURE_CLOCK_S": off_s, "TENK_HTTP": free_address()}
            env |= self.platform.environment_of(number)
            self.addresses.append(env["TENK_HTTP"])
            self.machines.append(first.beside(home, env))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for machine in self.machines:
            if machine.running:
                machine.signal(signal.SIGCONT)
            await machine.kill()
        for cut in self.cuts:
            await cut.aclose()
        self.looker.close()
        await super().__aexit__(kind, error, trace)

    async def start_all(self) -> None:
        """Start every machine that does not run."""
        for machine in self.machines:
            if not machine.running:
                if machine.broke and "gateway_started" in machine.last_life():
                    self.broken.append(f"{machine.home.name} ended by itself: {machine.tail(300)}")
                await machine.start()

    async def wait_for_owners(self, timeout_s: float = 30.0) -> None:
        """Wait until every shard has a living owner."""
        free = f"SELECT count(*) FROM shards WHERE owner IS NULL OR owner NOT IN ({LIVING})"
        await self.until(lambda: self.count(free) == 0, timeout_s, "an owner of every shard")

    def holders(self, leases: str) -> dict[str, int]:
        """Return how many leases that match an SQL pattern each machine holds, by its home."""
        held = self._rows(
            f"SELECT owner, count(*) FROM leases WHERE name LIKE '{leases}' AND owner IN ({LIVING}) GROUP BY owner"
        )
        named = [(machine.home / "node", machine.home.name) for machine in self.machines]
        nodes = {file.read_text().strip(): name for file, name in named if file.exists()}
        return {nodes.get(str(owner).partition(":")[0], "?"): int(count) for owner, count in held}

    def owed_by(self, machine: GatewayProcess) -> list[Said]:
        """Return what people wait for in the shards that this machine owns."""
        node = (machine.home / "node").read_text().strip()
        rows = self._rows(
            "SELECT chat, message_id FROM inbox JOIN shards USING (shard)"
            f" WHERE outcome IS NULL AND owner LIKE '{node}:%'"
        )
        owed = set(rows)
        return [said for said in self.said if (self.platform.key(said.chat), said.message_id) in owed]

    async def end(self) -> Verdict:
        """End all of them; what was found."""
        backends = self.count("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tenk'")
        await self._kill_all()
        if not self.is_settled():  # a summary made beside turns was kept just now: who starts next sends its notice
            self.note_death()
            await self.start_all()
            await self.settle()
            await self._kill_all()
        self.export()
        verdict = examine(self)
        verdict.wrong += self.broken
        if backends > MOST_CONNECTIONS * len(self.machines):
            verdict.wrong.append(f"{backends} connections to the database stand in the end")
        for machine in self.machines:
            traces = machine.tail(100_000_000).count("Traceback (most recent call last)")
            verdict.wrong += [f"{machine.home.name} logged {traces} tracebacks"] if traces else []
        secrets, logged = self.platform.secrets, self.tails()
        verdict.wrong += [f"I13: {name} stands in a log" for name, secret in secrets.items() if secret in logged]
        return verdict

    async def _kill_all(self) -> None:
        for machine in self.machines:
            await machine.kill()

    async def settle(self, timeout_s: float = 30.0, longest_s: float | None = None) -> None:
        ends_s, fewest = time.monotonic() + timeout_s, self._unsettled()
        while not self.is_settled():
            if (unsettled := self._unsettled()) < fewest:
                ends_s, fewest = time.monotonic() + timeout_s, unsettled
            if time.monotonic() > ends_s:
                raise NotSettled(f"not everything came to its end: {unsettled} left; {self.tails()}")
            await asyncio.sleep(0.2)

    def tails(self) -> str:
        """Return the end of each machine's log."""
        return "\n".join(f"--- {machine.home.name}\n{machine.tail(1500)}" for machine in self.machines)

    def note_death(self) -> None:
        self.kills += 1
        self.cut_sends += self.count("SELECT count(*) FROM outbox WHERE state = 'sending'")

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.looker.rows(query)

    def export(self) -> None:
        """Copy the database into the file where a verdict looks for it."""
        engine = sa.create_engine(f"sqlite:///{self.database}")
        with engine.begin() as connection:
            for metadata in (whole, PRACTICE_TABLES.metadata):
                metadata.create_all(connection)
                for table in metadata.sorted_tables:
                    names = ", ".join(f'"{column.name}"' for column in table.columns)
                    rows = self._rows(f'SELECT {names} FROM "{table.name}"')
                    marks = ", ".join("?" for _ in table.columns)
                    put = f'INSERT INTO "{table.name}" ({names}) VALUES ({marks})'
                    if rows:
                        connection.exec_driver_sql(put, rows)
        engine.dispose()
