"""A bot under measurement: a process with its CPU time and memory as the kernel counts them."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

FOREIGN = ("TENK_", "TELEGRAM_", "DISCORD_", "SLACK_", "OPENAI_", "ANTHROPIC_", "DATABASE_URL", "NATS_URL")
"""Environment variables that would change what is measured, or reach the outside."""

S = TypeVar("S", bound="Subject")


class Subject:
    """One bot process; `async with` starts and ends it."""

    def __init__(self, arguments: list[str], environment: Mapping[str, str], log: Path) -> None:
        self._arguments = arguments
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        self._environment = {**inherited, **environment}
        self._log = log
        self._process: asyncio.subprocess.Process | None = None
        self._begun_s = 0.0

    async def __aenter__(self) -> Self:
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, *self._arguments, env=self._environment, stdout=log, stderr=log
            )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.end(signal.SIGKILL)

    async def end(self, signum: int) -> None:
        """Send a signal and wait until the process is gone."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signum)
            await self._process.wait()

    @property
    def pid(self) -> int:
        if self._process is None or self._process.returncode is not None:
            raise RuntimeError(f"the process is not running; see {self._log}:\n{self._log.read_text()[-2000:]}")
        return self._process.pid

    def cpu_s(self) -> float:
        """Return CPU seconds so far, user and system."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def begin(self) -> None:
        self._begun_s = self.cpu_s()

    async def spent_s(self) -> float:
        """Return CPU seconds since the start of the load."""
        return self.cpu_s() - self._begun_s

    def rss_mb(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def gateway(home: Path, environment: Mapping[str, str]) -> Subject:
    """Return the gateway as `tenk run` starts it, open to everybody and without personal limits."""
    return gateway_by(Subject, ["-m", "gateway"], home, environment)


def gateway_by(kind: type[S], arguments: list[str], home: Path, environment: Mapping[str, str]) -> S:
    """Return the gateway, started by these arguments."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    config = home / "gateway.toml"
    config.write_text(
        '[access]\ndirect = "open"\n[access.limits]\n'
        "messages_per_min = 6000\nburst_messages = 6000\nwaiting_messages = 1000\n"
    )
    ours = {"TENK_HOME": str(home), "TENK_HTTP": "127.0.0.1:0"}
    return kind([*arguments, "run", "--config", str(config)], {**ours, **environment}, home / "gateway.log")


def bare_bot(platform: str, home: Path, environment: Mapping[str, str]) -> Subject:
    """Return the yardstick: a bare bot on a platform's own library."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Subject(["-m", f"tests.bench.bare_{platform}"], environment, home / "bare.log")
