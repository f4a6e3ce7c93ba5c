"""Several processes on one PostgreSQL: the log of an idle cluster, a process that joins, a tenant beside a busy one."""

import asyncio
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from statistics import median

import aiohttp
import asyncpg

from gateway.access.codes import load_key
from gateway.safety.private_files import KEY, SECRETS_KEY
from gateway.safety.vault import load_keys
from gateway.store.leases import fair_share
from gateway.store.tables.turns import SHARDS
from tests.bench.stores import DURABLE
from tests.bench.subject import Subject
from tests.bench.world import ModelServer
from tests.fakes.ports import free_port
from tests.fakes.postgres import PostgresServer

DAY_S = 86_400
IDLE_S = 60.0
SETTLE_S = 8.0
WARM_S = 2.0
SHARE_S = 30.0
SHARE = SHARDS - 2 * fair_share(SHARDS, 3)
"""Shards of a process that joins two others, whose shares are rounded up."""
OWNED_BY_NEWEST = "SELECT count(*) FROM shards WHERE owner = (SELECT id FROM members ORDER BY joined_at DESC LIMIT 1)"
BUSY_CHATS = 300
QUIET_CHATS = 5
MESSAGES_EACH = 6
MODEL_S = 1.0
"""Seconds that the model takes for an answer, about what a quick one takes."""
CONFIG = """
[sessions]
max_turns = 50
[channels.api]
waiting = 1000
waiting_of_key = 500
""" + "".join(
    f"""
[tenants.{tenant}.access]
direct = "open"
limits = {{ messages_per_min = 6000, burst_messages = 6000, waiting_messages = 1000 }}
"""
    for tenant in ("busy", "quiet")
)


async def run() -> dict[str, object]:
    """Print the three figures, each beside its goal."""
    with tempfile.TemporaryDirectory() as directory, PostgresServer(DURABLE) as server:
        async with ModelServer(MODEL_S) as model:
            url = await server.create_migrated()
            environment = {
                "DATABASE_URL": url,
                "TENK_MODEL": "openai:bench",
                "OPENAI_BASE_URL": model.base_url,
                "OPENAI_API_KEY": "sk-bench",
            }
            machines = [Machine(Path(directory), number, environment) for number in range(3)]
            database = await asyncpg.connect(url)
            try:
                return await _measure(machines, database)
            finally:
                for machine in machines:
                    await machine.stop(signal.SIGKILL)
                await database.close()


async def _measure(machines: list["Machine"], database: "asyncpg.Connection[asyncpg.Record]") -> dict[str, object]:
    for machine in machines:
        await machine.start()
    keys = {tenant: await machines[0].create_key(tenant) for tenant in ("busy", "quiet")}
    await asyncio.sleep(SETTLE_S)
    idle_gb = await _log_bytes(database, IDLE_S) * DAY_S / IDLE_S / 1e9
    print(f"\nan idle cluster of three writes {idle_gb:.2f} GB of log a day (goal 0.1), from {IDLE_S:.0f} s")
    await machines[2].stop()
    alone_ms = await _talk(machines[0], keys["quiet"], QUIET_CHATS)
    over = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        noise = tasks.create_task(_talk(machines[1], keys["busy"], BUSY_CHATS, over))
        await asyncio.sleep(WARM_S)
        beside_ms = await _talk(machines[0], keys["quiet"], QUIET_CHATS)
        joined_s = await _join(machines[2], database)
        over.set()
    slower = f"{alone_ms:.0f} ms, beside {BUSY_CHATS} chats of another {beside_ms:.0f} ms, {beside_ms / alone_ms:.1f} x"
    print(f"a quiet tenant, {QUIET_CHATS} chats, p50: {slower} (goal 3 x); the others {noise.result():.0f} ms")
    print(f"a process that joins then has its share after {joined_s:.1f} s, start included (goal {SHARE_S:.0f} s)")
    return {"alone_ms": alone_ms, "beside_ms": beside_ms, "joined_s": joined_s, "idle_gb_a_day": idle_gb}


async def _join(machine: "Machine", database: "asyncpg.Connection[asyncpg.Record]") -> float:
    """Start a process; return the seconds until it owns its share of the shards."""
    begun_s = time.monotonic()
    async with asyncio.timeout(2 * SHARE_S):
        await machine.start()
        while await database.fetchval(OWNED_BY_NEWEST) < SHARE:
            await asyncio.sleep(0.2)
    return time.monotonic() - begun_s


class Machine:
    """One gateway process with a home of its own and the keys of the first."""

    def __init__(self, directory: Path, number: int, environment: Mapping[str, str]) -> None:
        self._home = home = directory / f"home{number}"
        home.mkdir(mode=0o700)
        config = home / "gateway.toml"
        config.write_text(CONFIG)
        first = directory / "home0"
        if number:
            for key in (KEY, SECRETS_KEY):
                shutil.copy(first / key, home / key)
        else:
            load_key(home)
            load_keys(home)
        self.root = f"http://127.0.0.1:{(port := free_port())}"
        own = {"TENK_HOME": str(home), "TENK_HTTP": f"127.0.0.1:{port}"}
        self._environment = {**environment, **own}
        self._process = Subject(["-m", "gateway", "run", "--config", str(config)], self._environment, home / "log")

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        await self._process.__aenter__()
        async with aiohttp.ClientSession() as http, asyncio.timeout(60):
            while True:
                try:
                    async with http.get(f"{self.root}/readyz") as answer:
                        if answer.status == 200:
                            return
                except aiohttp.ClientError:
                    pass
                await asyncio.sleep(0.1)

    async def stop(self, signum: int = signal.SIGTERM) -> None:
        """End it; a started one has to end within a minute."""
        async with asyncio.timeout(60):
            await self._process.end(signum)

    def tail(self) -> str:
        """Return the end of its log."""
        return (self._home / "log").read_text()[-1500:]

    async def create_key(self, tenant: str) -> str:
        """Return a new key of a tenant that may chat."""
        words = ["-m", "gateway", "--tenant", tenant, "keys", "create", f"bench of {tenant}", "--scope", "chat"]
        config = ["--config", str(self._home / "gateway.toml")]
        process = await asyncio.create_subprocess_exec(
            sys.executable, *words, *config, env={"PATH": "", **self._environment}, stdout=asyncio.subprocess.PIPE
        )
        said, _ = await process.communicate()
        return next(word for word in said.decode().split() if word.startswith("tk_") or len(word) >= 32)


async def _talk(machine: Machine, key: str, chats: int, over: asyncio.Event | None = None) -> float:
    """Let people of one tenant write in a closed loop, so many messages each or until `over` is set.

    Return the median time of an answer in milliseconds.
    """
    times_ms: list[float] = []
    headers = {"Authorization": f"Bearer {key}"}

    async def ask(user: str, number: int) -> None:
        message = {"message": f"how is my practice going? ({number})", "user": user}
        begun_s = time.monotonic()
        async with http.post(f"{machine.root}/v1/chat", json=message) as answer:
            if answer.status != 200:
                raise RuntimeError(f"{answer.status}: {await answer.text()}\n{machine.tail()}")
        times_ms.append((time.monotonic() - begun_s) * 1000)

    async def talk(user: str) -> None:
        for number in count() if over is not None else range(MESSAGES_EACH):
            if over is not None and over.is_set():
                return
            await ask(user, number)

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as http, asyncio.TaskGroup() as tasks:
        for number in range(chats):
            tasks.create_task(talk(f"person{number}"))
    return median(times_ms)


async def _log_bytes(database: "asyncpg.Connection[asyncpg.Record]", seconds: float) -> int:
    """Return the bytes that the database writes to its log in this time."""
    before = await database.fetchval("SELECT pg_current_wal_lsn()::text")
    await asyncio.sleep(seconds)
    return int(
        await database.fetchval("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), $1::text::pg_lsn)::bigint", before)
    )
