"""Several gateways over one PostgreSQL, under kills, pauses, cut connections and a server that restarts.

By itself: `python -m tests.torture.cluster [FAULTS] [CHATS] [SEED] [KIND ...]` prints the line of one campaign.
"""

import asyncio
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
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
from gateway.store.schema import whole
from tests.fakes.postgres import PostgresServer
from tests.torture.campaign import KINDS
from tests.torture.gateway_process import GatewayProcess
from tests.torture.invariants import Verdict, examine
from tests.torture.platforms import Platform
from tests.torture.world import NotSettled, World

T = TypeVar("T")

PAUSE_S = (0.5, 6.0)
FAULT_EVERY_S = (0.2, 1.5)
RESTS_S = 120.0


class Cut:
    """A way to the database that can be cut: what comes in goes to the server's port, or nowhere."""

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
            with suppress(OSError, asyncio.IncompleteReadError):
                back, to = await asyncio.open_connection("127.0.0.1", self._to)
                self._open.add(to)
                try:
                    await asyncio.gather(self._pump(reader, to), self._pump(back, writer))
                finally:
                    self._open.discard(to)
                    to.transport.abort()
        finally:
            self._open.discard(writer)
            writer.transport.abort()
            self._pumps.discard(task)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            await self.silent.wait()
            sink.write(data)
            await sink.drain()
        sink.transport.abort()


class Looker:
    """Reads the database from outside, for whoever cannot await: a loop of its own in a thread."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._connection: asyncpg.Connection[Any] | None = None

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query finds, as soon as the server answers."""
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
    """The world around several gateways: each with a home of its own, with the same keys, and a way to the database."""

    def __init__(
        self, directory: Path, roles: Sequence[str], server: PostgresServer, platform: Platform | None = None,
        *, config: str = "",
    ) -> None:  # fmt: skip
        super().__init__(directory, platform, pace_s=0.05, config=config)
        self.server_of_rows = server
        self.roles = roles
        self.machines: list[GatewayProcess] = []
        self.cuts: list[Cut] = []
        self._looker: Looker | None = None
        self._url = ""

    @property
    def looker(self) -> Looker:
        """Whoever looks into the database."""
        assert self._looker is not None, "the world is not open"
        return self._looker

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        first = self.gateway
        self._url = await self.server_of_rows.create_migrated()
        self._looker = Looker(self._url)
        load_key(first.home)
        load_keys(first.home)
        for number, role in enumerate(self.roles):
            cut = Cut(self.server_of_rows.port)
            await cut.start()
            home = self._directory / f"home{number}"
            home.mkdir(mode=0o700)
            for name in (KEY, SECRETS_KEY):
                shutil.copy2(first.home / name, home / name)
            url = self._url.replace(f":{self.server_of_rows.port}/", f":{cut.port}/")
            self.cuts.append(cut)
            self.machines.append(first.beside(home, {"DATABASE_URL": url, "TENK_ROLE": role}))
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
                await machine.start()

    async def wait_for_owners(self, timeout_s: float = 30.0) -> None:
        """Until every shard has a living owner."""
        free = "SELECT count(*) FROM shards WHERE until IS NULL OR until < extract(epoch FROM clock_timestamp()) * 1e6"
        await self.until(lambda: self._count(free) == 0, timeout_s, "an owner of every shard")

    async def settle(self, timeout_s: float = 30.0, longest_s: float | None = None) -> None:
        """As of the other; slower looks."""
        ends_s, fewest = time.monotonic() + timeout_s, self._unsettled()
        while not self.is_settled():
            if (unsettled := self._unsettled()) < fewest:
                ends_s, fewest = time.monotonic() + timeout_s, unsettled
            if time.monotonic() > ends_s:
                raise NotSettled(f"not everything came to its end: {unsettled} left; {self.tails()}")
            await asyncio.sleep(0.2)

    def tails(self) -> str:
        """The end of what each of them logged."""
        return "\n".join(f"--- {machine.home.name}\n{machine.tail(1500)}" for machine in self.machines)

    def note_death(self) -> None:
        """As of the other."""
        self.kills += 1
        self.cut_sends += self._count("SELECT count(*) FROM outbox WHERE state = 'sending'")

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
                    rows = self._rows(f'SELECT {names} FROM "{table.name}"')  # noqa: S608  our own names
                    marks = ", ".join("?" for _ in table.columns)
                    put = f'INSERT INTO "{table.name}" ({names}) VALUES ({marks})'  # noqa: S608  our own names
                    if rows:
                        connection.exec_driver_sql(put, rows)
        engine.dispose()


Fault = Callable[["Chaos"], Coroutine[Any, Any, None]]


class Chaos:
    """One campaign: what breaks next is drawn from a seed."""

    def __init__(self, world: ClusterWorld, seed: int, faults: Mapping[str, Fault]) -> None:
        self.world = world
        self.chance = random.Random(seed)
        self._faults = faults
        self.done: list[str] = []

    async def run(self, faults: int, chats: int, every_s: float) -> None:
        """Break so many things while people write; then let all come to rest."""
        async with asyncio.TaskGroup() as tasks:
            talking = tasks.create_task(self._talk(chats, every_s))
            for _ in range(faults):
                await asyncio.sleep(self.chance.uniform(*FAULT_EVERY_S))
                name = self.chance.choice(sorted(self._faults))
                self.done.append(name)
                await self._faults[name](self)
                await self.world.start_all()
            talking.cancel()

    async def _talk(self, chats: int, every_s: float) -> None:
        while True:
            chat, kinds = self.chance.randrange(1, chats + 1), self.chance.choice(KINDS)
            self.world.say(chat, kinds)
            if kinds and self.chance.random() < 0.4:
                await asyncio.sleep(self.chance.uniform(0.05, 0.6))
                self.world.say(chat, self.chance.choice(("", "p", "i")))
            await asyncio.sleep(self.chance.expovariate(1 / every_s))

    def machine(self) -> int:
        """One of them."""
        return self.chance.randrange(len(self.world.machines))

    async def rest(self) -> None:
        """Nothing breaks."""
        await asyncio.sleep(1.0)

    async def kill(self) -> None:
        """One dies, and comes back after a while."""
        victim = self.world.machines[self.machine()]
        self.world.note_death()
        await victim.kill()
        await asyncio.sleep(self.chance.uniform(0.0, 4.0))

    async def pause(self) -> None:
        """One stands still, perhaps for longer than its leases last, and goes on."""
        victim = self.world.machines[self.machine()]
        self.world.note_death()
        victim.signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(self.chance.uniform(*PAUSE_S))
        finally:
            victim.signal(signal.SIGCONT)

    async def stop(self) -> None:
        """One is told to end, and drains."""
        victim = self.world.machines[self.machine()]
        victim.signal(signal.SIGTERM)
        if await victim.ended(15.0) is None:
            raise AssertionError(f"it did not end: {victim.tail()}")

    async def cut(self) -> None:
        """The way of one to the database breaks."""
        self.world.note_death()
        self.world.cuts[self.machine()].cut()

    async def silence(self) -> None:
        """The way of one to the database is silent for a while."""
        cut = self.world.cuts[self.machine()]
        self.world.note_death()
        cut.silent.clear()
        await asyncio.sleep(self.chance.uniform(*PAUSE_S))
        cut.silent.set()
        cut.cut()

    async def terminate(self) -> None:
        """The server ends connections of the gateways."""
        self.world.note_death()
        self.world.looker.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tenk' AND random() < 0.5"
        )

    async def restart(self) -> None:
        """The server crashes, and comes back."""
        self.world.note_death()
        await asyncio.to_thread(self.world.server_of_rows.kill)
        await asyncio.sleep(self.chance.uniform(0.0, 2.0))
        await asyncio.to_thread(self.world.server_of_rows.start)


ALL: Mapping[str, Fault] = {
    "kill": Chaos.kill, "pause": Chaos.pause, "stop": Chaos.stop, "cut": Chaos.cut, "silence": Chaos.silence,
    "terminate": Chaos.terminate, "restart": Chaos.restart,
}  # fmt: skip


async def run_chaos(
    directory: Path,
    server: PostgresServer,
    *,
    faults: int,
    chats: int,
    seed: int,
    roles: Sequence[str] = ("all", "all", "all"),
    kinds: Mapping[str, Fault] = ALL,
    platform: Platform | None = None,
    every_s: float = 0.3,
) -> tuple[Verdict, Chaos]:
    """One campaign over several machines; what was found."""
    async with ClusterWorld(directory, roles, server, platform) as world:
        await world.start_all()
        await world.wait_for_owners()
        chaos = Chaos(world, seed, kinds)
        await chaos.run(faults, chats, every_s)
        await world.start_all()
        unsettled = None
        try:
            await world.settle(timeout_s=RESTS_S)
        except NotSettled as flaw:
            unsettled = str(flaw)
        for machine in world.machines:
            await machine.kill()
        world.export()
        verdict = examine(world)
        secrets = {**world.platform.secrets}
        verdict.wrong += [f"I13: {name} stands in a log" for name, secret in secrets.items() if secret in world.tails()]
    if unsettled is not None:
        verdict.wrong.append(f"I12: {unsettled}")
    return verdict, chaos


async def _alone(faults: int, chats: int, seed: int, kinds: Mapping[str, Fault]) -> None:
    begun_s = time.monotonic()
    directory = Path(tempfile.mkdtemp(prefix="cluster-"))
    with PostgresServer() as server:
        verdict, chaos = await run_chaos(directory, server, faults=faults, chats=chats, seed=seed, kinds=kinds)
    sys.stdout.write(f"{' '.join(chaos.done)}\n{verdict.line()}  in {time.monotonic() - begun_s:.0f} s\n")
    for flaw in verdict.broken:
        sys.stdout.write(f"  {flaw}\n")
    if verdict.broken:
        sys.stdout.write(f"  its logs are kept in {directory}\n")
    else:
        shutil.rmtree(directory)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdecimal()]
    named = {name: getattr(Chaos, name) for name in sys.argv[1:] if name.isalpha()}
    asyncio.run(_alone(*(numbers + [10, 8, 1][len(numbers) :]), named or ALL))
