"""The pantry, a third-party agent, installed beside the gateway; `tenk run` with it, platforms and a model."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from channels.simulators.shared.simulator import AnySimulator
from gateway.testing.model import Reply
from tests.fakes.fork_server import ForkServer
from tests.fakes.model_server import ModelServer
from tests.house.tree import ROOT

AGENT = ROOT / "tests" / "contract" / "example_agent"
PERSON = 100
WAIT_S = 30.0

CONFIG = """
[http]
listen = "127.0.0.1:0"
[agent]
product = "pantry"
tools = ["kitchen"]
[access]
direct = "open"
danger_allow_everyone = true
"""


@dataclass(frozen=True, slots=True)
class Running:
    """`tenk run`, its platforms and its model."""

    platforms: Sequence[AnySimulator]
    model: ModelServer
    log: Path

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something that people see.

        Raises:
            AssertionError: it did not come; says what it was, and the log's end.
        """
        try:
            async with asyncio.timeout(WAIT_S):
                while not condition():
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{what} did not come: {self.log.read_text()[-2000:]}") from None

    async def answered(self, side: AnySimulator, words: str, times: int = 1) -> None:
        """Wait until the bot has said this so many times on a platform."""

        def is_said() -> bool:
            return sum(words in shown.text for shown in side.answers(side.direct(PERSON))) == times

        await self.until(is_said, f"{words!r} on {side.name}")


@asynccontextmanager
async def tenk_run(
    directory: Path, site: Path, platforms: Sequence[AnySimulator], answer: Callable[[dict[str, Any]], Reply]
) -> AsyncIterator[Running]:
    """Run the gateway as an operator does, with the distribution on its path."""
    async with pantry_world(directory, site, platforms, answer) as world, world.life() as running:
        yield running


@dataclass(frozen=True, slots=True)
class PantryWorld:
    """Platforms and a model that outlive the gateway."""

    directory: Path
    platforms: Sequence[AnySimulator]
    model: ModelServer
    environ: dict[str, str]

    @asynccontextmanager
    async def life(self, *, killed: bool = False) -> AsyncIterator[Running]:
        """Run the gateway within this context; end it as told, or by kill -9 if `killed`."""
        log = self.directory / "log"
        before = [side.arrivals() for side in self.platforms]
        command = ["-m", "gateway", "run", "--config", str(self.directory / "gateway.toml")]
        process = ForkServer.of().start(command, self.environ, self.directory, log, log)
        try:
            running = Running(self.platforms, self.model, log)

            def is_there() -> bool:
                return all(side.arrivals() > count for side, count in zip(self.platforms, before, strict=True))

            await running.until(is_there, "the gateway")
            yield running
        finally:
            process.send_signal(signal.SIGKILL if killed else signal.SIGTERM)
            ended = await process.wait()
        assert (-signal.SIGKILL if killed else 0) == ended, log.read_text()[-2000:]


@asynccontextmanager
async def pantry_world(
    directory: Path, site: Path, platforms: Sequence[AnySimulator], answer: Callable[[dict[str, Any]], Reply]
) -> AsyncIterator[PantryWorld]:
    """Return the platforms and the model that a gateway with the pantry needs."""
    (directory / "gateway.toml").write_text(CONFIG)
    async with AsyncExitStack() as open_, ModelServer(answer) as model:
        accounts: dict[str, str] = {}
        for side in platforms:
            await open_.enter_async_context(side)
            accounts |= side.environment()
        ours = {
            "PYTHONPATH": str(site),
            "TENK_HOME": str(directory / "home"),
            "TENK_MODEL": "openai:pantry",
            "OPENAI_BASE_URL": model.base_url,
            "OPENAI_API_KEY": "sk-pantry",
            "PANTRY_ORDERS": str(directory / "orders"),
        }
        (directory / "home").mkdir(mode=0o700)
        yield PantryWorld(directory, platforms, model, os.environ | accounts | ours)
