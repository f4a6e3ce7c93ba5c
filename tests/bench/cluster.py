"""Several processes on one PostgreSQL: the log of an idle cluster, a process that joins, a tenant beside a busy one."""

import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import aiohttp
import asyncpg

from gateway.access.codes import load_key
from gateway.safety.private_files import KEY, SECRETS_KEY
from gateway.safety.vault import load_keys
from tests.bench.stores import DURABLE
from tests.bench.subject import Subject
from tests.bench.world import ModelServer
from tests.fakes.ports import free_port
from tests.fakes.postgres import PostgresServer

DAY_S = 86_400
IDLE_S = 120.0
SETTLE_S = 8.0
SHARE_S = 30.0
"""Within this a process that joins is to have its share."""
BUSY_CHATS = 300
QUIET_CHATS = 5
MESSAGES_EACH = 8
SHARDS = 256
CONFIG = """
[access]
direct = "open"
[access.limits]
messages_per_min = 6000
burst_messages = 6000
waiting_messages = 1000
[sessions]
max_turns = 50
[channels.api]
waiting = 1000
waiting_of_key = 500
[tenants.busy.access]
direct = "open"
[tenants.quiet.access]
direct = "open"
"""


async def run() -> dict[str, object]:
    """Print the three figures, each beside its goal."""
    with tempfile.TemporaryDirectory() as directory, PostgresServer(DURABLE) as server:
        async with ModelServer() as model:
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
                    await machine.__aexit__(None, None, None)
                await database.close()


async def _measure(machines: list["Machine"], database: "asyncpg.Connection[asyncpg.Record]") -> dict[str, object]:
    for machine in machines[:2]:
        await machine.start()
    keys = {tenant: await machines[0].create_key(tenant) for tenant in ("busy", "quiet")}
    await asyncio.sleep(SETTLE_S)
    alone_ms = await _talk(machines[0], keys["quiet"], QUIET_CHATS)
    async with asyncio.TaskGroup() as tasks:
        noise = tasks.create_task(_talk(machines[1], keys["busy"], BUSY_CHATS))
        await asyncio.sleep(2.0)
        beside_ms = await _talk(machines[0], keys["quiet"], QUIET_CHATS)
        begun_s = time.monotonic()
        await machines[2].start()
        while await _shards_of_newest(database) < SHARDS // 3:
            await asyncio.sleep(0.2)
        joined_s = time.monotonic() - begun_s
        await noise
    print(
        f"\na quiet tenant, {QUIET_CHATS} chats, p50: {alone_ms:.0f} ms; beside {BUSY_CHATS} chats of another", end=""
    )
    print(f" {beside_ms:.0f} ms, {beside_ms / alone_ms:.1f} x (goal 3 x)")
    print(
        f"a process that joins under load has its share after {joined_s:.1f} s (goal {SHARE_S:.0f} s), start included"
    )
    await asyncio.sleep(SETTLE_S)
    before = await _log_bytes(database)
    await asyncio.sleep(IDLE_S)
    idle_gb = (await _log_bytes(database) - before) * DAY_S / IDLE_S / 1e9
    print(f"an idle cluster of three writes {idle_gb:.2f} GB of log a day (goal 0.1), from {IDLE_S:.0f} s")
    return {"alone_ms": alone_ms, "beside_ms": beside_ms, "joined_s": joined_s, "idle_gb_a_day": idle_gb}


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

    async def __aexit__(self, *error: object) -> None:
        await self._process.__aexit__(None, None, None)

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


async def _talk(machine: Machine, key: str, chats: int) -> float:
    """Let people of one tenant write in a closed loop; return the median time of an answer in milliseconds."""
    times_ms: list[float] = []
    connector = aiohttp.TCPConnector(limit=0)
    headers = {"Authorization": f"Bearer {key}"}

    async def talk(user: str) -> None:
        for number in range(MESSAGES_EACH):
            begun_s = time.monotonic()
            message = {"message": f"how is my practice going? ({number})", "user": user}
            while True:
                async with http.post(f"{machine.root}/v1/chat", json=message) as answer:
                    if answer.status == 200:
                        break
                    if answer.status != 503:  # else it asks to come again
                        raise RuntimeError(f"{answer.status}: {await answer.text()}\n{machine.tail()}")
                    print(await answer.text(), machine.tail(), sep="\n", file=sys.stderr)
                await asyncio.sleep(0.2)
            times_ms.append((time.monotonic() - begun_s) * 1000)

    async with aiohttp.ClientSession(connector=connector, headers=headers) as http, asyncio.TaskGroup() as tasks:
        for number in range(chats):
            tasks.create_task(talk(f"person{number}"))
    return median(times_ms)


async def _shards_of_newest(database: "asyncpg.Connection[asyncpg.Record]") -> int:
    """Return how many shards the process that joined last owns."""
    query = "SELECT count(*) FROM shards WHERE owner = (SELECT id FROM members ORDER BY joined_at DESC LIMIT 1)"
    members, shards = await database.fetchval("SELECT count(*) FROM members"), await database.fetchval(query)
    return int(shards) if members == 3 else 0


async def _log_bytes(database: "asyncpg.Connection[asyncpg.Record]") -> int:
    return int(await database.fetchval("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"))
