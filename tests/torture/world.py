"""The world around a tortured gateway: a platform, a model, a ledger. It is never killed and keeps everything."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from channels.simulators.shared.world import AnyMessage
from tests.fakes.model_server import ModelServer
from tests.fakes.pictures import png
from tests.torture.gateway_process import API_KEY, ROOT, GatewayProcess
from tests.torture.ledger import Ledger
from tests.torture.platforms import Platform, TelegramPlatform
from tests.torture.script import Model

COMMANDS = 900
"""The chat that holds nothing but commands in words."""

OWN_COMMANDS = 904
"""The chat that holds commands of the platform's own."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message that wants an answer."""

    number: int
    chat: int
    kinds: str
    message_id: str


MOST_USED = 1_000
"""Minutes of a day: no person logs more."""


def take(number: int) -> str:
    """Return the text that this use of a native command notes, and no other."""
    return f"take-{number:04}"


@dataclass(frozen=True, slots=True)
class Used:
    """A use of a native command."""

    number: int
    taken: Callable[[], bool]  # whether the platform was told that the gateway has it


class NotSettled(AssertionError):
    """Work that did not finish in time."""


class World:
    """The torture's world on loopback: `async with World(tmp_path) as world`; the gateway process ends with it."""

    def __init__(
        self,
        directory: Path,
        platform: Platform | None = None,
        *,
        code: Path = ROOT,
        access: str = "open",
        pace_s: float = 0.1,
        config: str = "",
    ) -> None:
        self.platform: Platform = platform or TelegramPlatform()
        self.model = Model(pace_s)
        self.server = ModelServer(self.model)
        self.server.looks = False  # the model does, for the verdict
        self.ledger = Ledger()
        self.said: list[Said] = []
        self.logged: list[int] = []  # minutes of each `/log`, no two alike
        self.used: list[Used] = []
        self.kills = 0
        self.cut_sends = 0  # outbox rows in `sending` at the kills
        self.recoveries_s: list[float] = []  # from each start until it listens
        self._written: set[tuple[str, str]] = set()  # every message, as (chat, id) in the store
        self._directory = directory
        self._code = code
        self._access = access
        self._config = config
        self._process: GatewayProcess | None = None

    @property
    def gateway(self) -> GatewayProcess:
        if self._process is None:
            raise RuntimeError("the world is not open")
        return self._process

    @property
    def database(self) -> Path:
        return self.gateway.home / "tenk.db"

    async def __aenter__(self) -> Self:
        account = await self.platform.start()
        await self.server.__aenter__()
        await self.ledger.start()
        self.server.keeps_requests = False
        home = self._directory / "home"
        home.mkdir(mode=0o700)
        env = {
            **account,
            "OPENAI_API_KEY": API_KEY,
            "OPENAI_BASE_URL": self.server.base_url,
            "TENK_MODEL": "openai:torture",
            "TORTURE_LEDGER": self.ledger.url,
        }
        config = self.platform.config + self._config
        self._process = GatewayProcess(home, config, env, code=self._code, access=self._access)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.gateway.kill()
        await self.ledger.aclose()
        await self.server.__aexit__(kind, error, trace)
        await self.platform.aclose()

    # ------------------------------------------------------------ people

    def say(self, chat: int, kinds: str = "", *, picture: bool = False) -> Said:
        """Say something of these kinds (see `script`), perhaps under a picture."""
        number = len(self.said) + 1
        message_id = self.write(chat, f"m{number}{kinds} please", png() if picture else None)
        self.said.append(Said(number, chat, kinds, message_id))
        return self.said[-1]

    def log(self, chat: int = COMMANDS) -> int:
        """Log practice by command; return the minutes, which no other command logs."""
        minutes = 100 + len(self.logged)
        self.logged.append(minutes)
        self.write(chat, f"/log {minutes}m cello")
        return minutes

    def use(self) -> None:
        """Log practice by a native command of the platform."""
        number = len(self.used) + 1
        if number <= MOST_USED:
            taken = self.platform.command(OWN_COMMANDS, "log", f"1m cello, {take(number)}")
            self.used.append(Used(number, taken))

    def write(self, chat: int, text: str, picture: bytes | None = None) -> str:
        """Write this text; return the message's id."""
        message_id = self.platform.say(chat, text, picture)
        self._written.add((self.platform.key(chat), message_id))
        return message_id

    def answers(self, chat: int) -> list[AnyMessage]:
        """Return what people see of the bot in a chat."""
        return self.platform.answers(chat)

    def shows(self, said: Said) -> bool:
        """Return True if the person sees the answer."""
        return any(f"re:m{said.number} " in shown.text for shown in self.answers(said.chat))

    # ------------------------------------------------------------ the gateway's life

    async def start(self, failpoint: str | None = None, *, arrives: bool = True, timeout_s: float = 30.0) -> None:
        """Start the gateway and, where it `arrives`, wait until it listens to the platform."""
        before = self.platform.arrivals()
        begun_s = time.monotonic()
        await self.gateway.start(failpoint)
        if arrives:
            await self.until(
                lambda: self.platform.arrivals() > before or not self.gateway.running, timeout_s, "the gateway"
            )
            if self.platform.arrivals() == before:
                raise AssertionError(f"the gateway ended before it listened: {self.gateway.tail()}")
            self.recoveries_s.append(time.monotonic() - begun_s)

    async def kill(self) -> None:
        """End the gateway by kill -9; remember what was on its way out."""
        await self.gateway.kill()
        self.note_death()

    def note_death(self) -> None:
        """Count what was on its way out when the gateway died."""
        self.kills += 1
        if self.database.exists():
            self.cut_sends += self.count("SELECT count(*) FROM outbox WHERE state = 'sending'")

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
        """Return True if everything that was said has finished inside the gateway."""
        if self.platform.on_its_way() or (self.platform.forgets and self._unheard()):
            return False
        return not self._unsettled()

    async def settle(self, timeout_s: float = 30.0, longest_s: float | None = None) -> None:
        """Wait until everything has come to its end; up to `longest_s` where every `timeout_s` sees it come nearer.

        Raises:
            NotSettled: it did not, or the gateway died.
        """
        begun_s = time.monotonic()
        ends_s, fewest = begun_s + timeout_s, self._unsettled()
        while not self.is_settled():
            if not self.gateway.running:
                raise NotSettled(f"the gateway died: {self.gateway.tail()}")
            now_s = time.monotonic()
            if longest_s is not None and (unsettled := self._unsettled()) < fewest:
                ends_s, fewest = min(now_s + timeout_s, begun_s + longest_s), unsettled
            if now_s > ends_s:
                waited_s = now_s - begun_s
                raise NotSettled(f"not everything came to its end within {waited_s:.0f} s: {self.gateway.tail()}")
            await asyncio.sleep(0.03)

    def _unsettled(self) -> int:
        return self.count(
            "SELECT (SELECT count(*) FROM inbox WHERE outcome IS NULL)"
            " + (SELECT count(*) FROM turns WHERE end_reason IS NULL)"
            " + (SELECT count(*) FROM outbox WHERE state IN ('ready', 'sending'))"
            " + (SELECT count(*) FROM budget_holds)"  # calls beside a turn, such as notes
        )

    def _unheard(self) -> bool:
        rows = self._rows("SELECT chat, message_id FROM inbox WHERE event_id LIKE 'msg:%'")
        return not self._written.issubset(rows)

    def count(self, query: str) -> int:
        return sum(int(row[0]) for row in self._rows(query))

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.database, timeout=10)
        try:
            return connection.execute(query).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise
        finally:
            connection.close()
