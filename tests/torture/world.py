"""The world around a tortured gateway: Telegram, a model, a ledger. It is never killed, and it remembers everything."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from channels.telegram.simulator.server import TelegramSimulator
from tests.fakes.model_server import ModelServer
from tests.torture.gateway_process import API_KEY, ROOT, TOKEN, GatewayProcess
from tests.torture.ledger import Ledger
from tests.torture.script import Model

COMMANDS = 900
"""The chat that holds nothing but commands."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message that wants an answer."""

    number: int
    chat: int
    kinds: str
    message_id: int


class NotSettled(AssertionError):
    """Something that was begun did not come to its end."""


class World:
    """`async with World(tmp_path) as world`: everything on loopback, and the gateway process ended with it."""

    def __init__(self, directory: Path, *, code: Path = ROOT, access: str = "open", pace_s: float = 0.1) -> None:
        """`code` is where the gateway's packages lie; `pace_s` is the model's between chunks of a slow answer."""
        self.sim = TelegramSimulator()
        self.model = Model(pace_s)
        self.server = ModelServer(self.model)
        self.ledger = Ledger()
        self.said: list[Said] = []
        self.logged: list[int] = []  # minutes of each `/log`, no two alike
        self.kills = 0
        self.cut_sends = 0  # outbox rows in `sending` at the kills
        self.recoveries_s: list[float] = []  # from each start to its first poll
        self._directory = directory
        self._code = code
        self._access = access
        self._process: GatewayProcess | None = None

    @property
    def gateway(self) -> GatewayProcess:
        """The process under torture."""
        if self._process is None:
            raise RuntimeError("the world is not open")
        return self._process

    @property
    def database(self) -> Path:
        """The gateway's store."""
        return self.gateway.home / "tenk.db"

    async def __aenter__(self) -> Self:
        await self.sim.start()
        await self.server.__aenter__()
        await self.ledger.start()
        self.server.keeps_requests = False
        self.sim.add_bot(TOKEN)
        home = self._directory / "home"
        home.mkdir()
        env = {
            "TELEGRAM_BOT_TOKEN": TOKEN,
            "TELEGRAM_API_BASE": self.sim.base_url,
            "OPENAI_API_KEY": API_KEY,
            "OPENAI_BASE_URL": self.server.base_url,
            "TENK_MODEL": "openai:torture",
            "TORTURE_LEDGER": self.ledger.url,
        }
        self._process = GatewayProcess(home, env, code=self._code, access=self._access)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.gateway.kill()
        await self.ledger.aclose()
        await self.server.__aexit__()
        await self.sim.aclose()

    # ------------------------------------------------------------ people

    def say(self, chat: int, kinds: str = "") -> Said:
        """Somebody says something of these kinds (see `script`)."""
        number = len(self.said) + 1
        message_id = self.sim.say(chat, f"m{number}{kinds} please")
        self.said.append(Said(number, chat, kinds, message_id))
        return self.said[-1]

    def log(self, chat: int = COMMANDS) -> int:
        """Somebody logs practice by command; the minutes, which nobody else logs."""
        minutes = 100 + len(self.logged)
        self.logged.append(minutes)
        self.sim.say(chat, f"/log {minutes}m cello")
        return minutes

    def shows(self, said: Said) -> bool:
        """Whether the person sees the answer."""
        return any(f"re:m{said.number} " in shown.text for shown in self.sim.answers(said.chat))

    # ------------------------------------------------------------ the gateway's life

    async def start(self, failpoint: str | None = None, *, polls: bool = True, timeout_s: float = 30.0) -> None:
        """Start the gateway and, where it `polls`, wait for its first poll."""
        before = self.polls
        begun_s = time.monotonic()
        await self.gateway.start(failpoint)
        if polls:
            await self.until(lambda: self.polls > before or not self.gateway.running, timeout_s, "the first poll")
            if self.polls == before:
                raise AssertionError(f"the gateway ended before its first poll: {self.gateway.tail()}")
            self.recoveries_s.append(time.monotonic() - begun_s)

    @property
    def polls(self) -> int:
        """How many getUpdates have come in."""
        return self.sim.world.bot(TOKEN).updates.polls

    async def kill(self) -> None:
        """End the gateway by kill -9; remember what was on its way out."""
        await self.gateway.kill()
        self.note_death()

    def note_death(self) -> None:
        """The gateway has just died: count what was on its way out."""
        self.kills += 1
        if self.database.exists():
            self.cut_sends += self._count("SELECT count(*) FROM outbox WHERE state = 'sending'")

    async def until(self, condition: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Wait for something in this world.

        Raises:
            AssertionError: it did not come; says what it was, with the end of the gateway's log.
        """
        ends_s = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > ends_s:
                raise AssertionError(f"{what} did not come within {timeout_s:.0f} s: {self.gateway.tail()}")
            await asyncio.sleep(0.01)

    def is_settled(self) -> bool:
        """Whether everything that was said has come to its end inside the gateway."""
        if len(self.sim.world.bot(TOKEN).updates):
            return False
        return not self._count(
            "SELECT (SELECT count(*) FROM inbox WHERE outcome IS NULL)"
            " + (SELECT count(*) FROM turns WHERE end_reason IS NULL)"
            " + (SELECT count(*) FROM outbox WHERE state IN ('ready', 'sending'))"
        )

    async def settle(self, timeout_s: float = 30.0) -> None:
        """Wait until everything has come to its end.

        Raises:
            NotSettled: it did not, or the gateway died.
        """
        ends_s = time.monotonic() + timeout_s
        while not self.is_settled():
            if not self.gateway.running:
                raise NotSettled(f"the gateway died: {self.gateway.tail()}")
            if time.monotonic() > ends_s:
                raise NotSettled(f"not everything came to its end within {timeout_s:.0f} s: {self.gateway.tail()}")
            await asyncio.sleep(0.03)

    def _count(self, query: str) -> int:
        """A figure out of the store, read as any other process would."""
        connection = sqlite3.connect(self.database, timeout=10)
        try:
            return int(connection.execute(query).fetchone()[0])
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return 0
            raise
        finally:
            connection.close()
