"""Cost of history: a message, memory and a restart over settled rows, on SQLite and on PostgreSQL.

The rows belong to 10,000 people with a conversation each. There is no bare bot: the gateway is compared with itself.
"""

import asyncio
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg

from gateway.store.engine import Store
from tests.bench.loads import CASES, Loads, measure
from tests.bench.stores import DURABLE
from tests.bench.subject import Subject, gateway
from tests.bench.world import FIRST_PERSON, ModelServer, unbraked_telegram, until
from tests.fakes.postgres import PostgresServer
from tests.fakes.settled_rows import fill, know

SETTLED = (10, 1_000, 100_000, 1_000_000)
KNOWN = 10_000
STEP = 20_000
"""Rows a job: a statement has half a minute."""

LOADS = Loads(("telegram",), messages_each=10)
RESTARTED = 200_000
WAITING = 10_000
IN_FLIGHT = 1_000
PEOPLE = 200
GOAL_MB = 400
GOAL_POLL_S = 5

Start = Callable[[Path, Mapping[str, str]], Subject]


async def run(most: int) -> dict[str, object]:
    """Measure every size up to `most` on both stores."""
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        local = Path(directory) / "filled.db"
        with PostgresServer(DURABLE) as server:
            remote = await server.create()
            for name, url in (("SQLite", f"sqlite:///{local}"), ("PostgreSQL", remote)):
                results[name] = await _on(name, url, server, most)
    return results


async def _on(name: str, url: str, server: PostgresServer, most: int) -> dict[str, object]:
    print(f"\n{name}: {LOADS.chats} chats over settled rows in each of four tables; {KNOWN:,} sessions known")
    print(f"  {'settled':>10}{'CPU ms/message':>16}{'messages/s':>12}{'p50 ms':>9}{'RSS MiB':>9}")
    results: dict[str, object] = {}
    filled = 0
    for settled in (size for size in SETTLED if size <= most):
        await _fill(url, filled, settled)
        filled = settled
        async with _over(url, server) as start:
            found = await measure(start, unbraked_telegram(), CASES[0], LOADS)
        print(f"  {settled:>10,}{found.cpu_ms:>16.2f}{found.per_s:>12.1f}{found.p50_ms:>9.0f}{found.rss_mb:>9.0f}")
        results[f"{settled}"] = found.rounded()
        if settled == min(most, 100_000):
            await _fill(url, filled, RESTARTED)
            filled = RESTARTED
            async with _over(url, server) as start:
                results["busy"] = await _busy(start)
    return results


async def _fill(url: str, filled: int, settled: int) -> None:
    store = await Store.open(url)
    if not filled:
        await store.commit(know, count=KNOWN)
    for begin in range(filled, settled, STEP):
        await store.commit(fill, count=min(settled, begin + STEP), begin=begin)
    await store.aclose()
    if url.startswith("postgresql"):
        connection = await asyncpg.connect(url)
        await connection.execute("ANALYZE")  # as its own autovacuum does after a while
        await connection.close()


@asynccontextmanager
async def _over(url: str, server: PostgresServer) -> AsyncIterator[Start]:

    def start(home: Path, environment: Mapping[str, str]) -> Subject:
        if url.startswith("postgresql"):
            return gateway(home, {**environment, "DATABASE_URL": copied})
        if not (home / "tenk.db").exists():
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(url.removeprefix("sqlite:///"), home / "tenk.db")
            (home / "tenk.db").chmod(0o600)
        return gateway(home, environment)

    copied = await server.create(like=url.rpartition("/")[2]) if url.startswith("postgresql") else ""
    yield start
    if copied:
        connection = await asyncpg.connect(server.url("postgres"))
        await connection.execute(f"DROP DATABASE {copied.rpartition('/')[2]} WITH (FORCE)")
        await connection.close()


async def _busy(start: Start) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="tenk-bench-") as directory:
        async with unbraked_telegram() as telegram, ModelServer(delay_s=3600) as model:
            simulator, unread = telegram, telegram.count_unacknowledged
            environment = {
                **telegram.environment(),
                "OPENAI_BASE_URL": model.base_url,
                "TENK_MODEL": "openai:bench",
            }
            async with start(Path(directory), environment) as subject:
                await until(telegram.is_connected, 60)
                for person in range(IN_FLIGHT):
                    simulator.say(FIRST_PERSON + person, "hello")
                await until(lambda: model.requests >= IN_FLIGHT, 120)
                flying_mb = subject.rss_mb()
                for number in range(WAITING):
                    simulator.say(FIRST_PERSON + number % PEOPLE, "hello")
                await until(lambda: unread() == 0, 120)
                waiting_mb = subject.rss_mb()
                await subject.end(signal.SIGKILL)
            polls = telegram.arrivals()
            async with start(Path(directory), environment) as subject:
                poll_s = await until(lambda: telegram.arrivals() > polls, 60)
                await asyncio.sleep(1)
                restarted_mb = subject.rss_mb()
    print(f"  over {RESTARTED:,} settled rows: {IN_FLIGHT:,} turns in flight, {flying_mb:.0f} MiB (goal {GOAL_MB})")
    print(f"  {WAITING:,} rows wait, {waiting_mb:.0f} MiB; kill -9, first poll: {poll_s:.2f} s (goal {GOAL_POLL_S})")
    return {"flying_mb": flying_mb, "waiting_mb": waiting_mb, "first_poll_s": poll_s, "restarted_mb": restarted_mb}
