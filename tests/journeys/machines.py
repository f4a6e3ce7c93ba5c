"""Several gateways in this process over one PostgreSQL, between the simulated Telegram and a model."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from channels.simulators.telegram.server import TelegramSimulator
from gateway.access.codes import load_key
from gateway.app import Gateway
from gateway.config.settings import load
from gateway.operators.client import call
from gateway.safety.private_files import KEY, SECRETS_KEY
from gateway.safety.vault import load_keys
from gateway.store.engine import Store
from tests.fakes.model_server import ModelServer
from tests.fakes.postgres import PostgresServer
from tests.journeys.house import CONFIG, TOKEN, House


@dataclass(slots=True)
class Machines:
    """Several gateways, their platform and model, and each gateway's home."""

    here: House
    homes: Sequence[Path]
    running: list[asyncio.Task[None]] = field(default_factory=list)

    async def ask(self, number: int, request: str, given: Mapping[str, Any] | None = None) -> Any:
        """Call the operators' service of one machine."""
        return await call(self.homes[number] / "control.sock", request, given, timeout_s=30.0)

    async def cluster(self, number: int) -> dict[str, Any]:
        """Return what `tenk status` of one machine says of all."""
        answer = await self.ask(number, "GET /v1/status")
        return dict(answer["cluster"])

    async def until(self, number: int, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until one of them says so of the cluster; what it says."""
        said: dict[str, Any] = {}
        try:
            async with asyncio.timeout(60):
                while not condition(said := await self.cluster(number)):
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"it does not come to that: {said}") from None
        return said

    async def die(self, number: int) -> None:
        """End one machine without giving back its leases."""
        self.running[number].cancel()
        await asyncio.wait([self.running[number]])

    async def wait_for_owners(self) -> None:
        """Wait until each account and shard has a living owner."""
        async with asyncio.timeout(30):
            while (await self.here.rows(_FREE))[0]["free"]:
                await asyncio.sleep(0.05)


_LIVING = "SELECT id FROM members WHERE until > extract(epoch FROM clock_timestamp()) * 1e6"
_OVER = f"owner IS NULL OR owner NOT IN ({_LIVING})"
_FREE = f"""SELECT (SELECT count(*) FROM shards WHERE {_OVER}) + (SELECT count(*) FROM leases WHERE {_OVER}) AS free"""


@asynccontextmanager
async def machines(directory: Path, server: PostgresServer, count: int, *, config: str = "") -> AsyncIterator[Machines]:
    """Run so many gateways."""
    file, url = directory / "gateway.toml", await server.create_migrated()
    file.write_text(CONFIG + config)
    homes = [directory / f"home{number}" for number in range(count)]
    for home in homes:
        home.mkdir(mode=0o700)
    load_key(homes[0])
    load_keys(homes[0])
    for home in homes[1:]:
        for name in (KEY, SECRETS_KEY):
            shutil.copy2(homes[0] / name, home / name)
    async with TelegramSimulator.with_bot(token=TOKEN) as telegram, ModelServer() as model:
        shared = {
            **telegram.environment(),
            "DATABASE_URL": url,
            "TENK_ACCESS": "open",
            "TENK_MODEL": "openai:journey",
            "OPENAI_BASE_URL": model.base_url,
            "OPENAI_API_KEY": "sk-journey",
        }
        stores = [await Store.open(url) for _ in range(count + 1)]
        made = Machines(House(telegram, model, stores[-1], homes[0]), homes)
        try:
            async with asyncio.TaskGroup() as tasks:
                for number, home in enumerate(homes):
                    own = {"TENK_HOME": str(home)}
                    gateway = Gateway(load(file, shared | own), stores[number])
                    made.running.append(tasks.create_task(gateway.run()))
                await made.here.until(telegram.is_connected, "the first poll")
                await made.wait_for_owners()
                for home in homes:
                    await made.here.until((home / "control.sock").exists, f"the control socket of {home.name}")
                yield made
                for task in made.running:
                    task.cancel()
        finally:
            for store in stores:
                await store.aclose()
