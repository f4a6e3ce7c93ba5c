"""A gateway that can be killed: one process after another over the same home."""

import asyncio
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from tests.fakes.fork_server import Forked, ForkServer

ROOT = Path(__file__).parents[2]
CHILD = Path(__file__).with_name("child.py")
API_KEY = "sk-torture-canary-key"

CONFIG = """
[gateway]
log_level = "{log_level}"
[http]
listen = "127.0.0.1:0"
[access]
direct = "{access}"
groups = "open"
danger_allow_everyone = true
[access.limits]
waiting_messages = 1000
messages_per_min = 6000
burst_messages = 6000
[sessions]
mailbox_size = 3
drain_s = 5.0
[delivery]
typing_after_s = 0.1
placeholder_after_s = 0.3
reaction_after_s = 0.4
[agent]
max_steps = 25
history_items = 16
allow_tools = ["note_down", "pay", "fall"]
[model]
sees_images = true
"""
"""Configuration on every platform; the account follows."""


class GatewayProcess:
    """The gateway of one home."""

    def __init__(
        self, home: Path, account: str, env: Mapping[str, str], *, code: Path = ROOT, access: str = "open"
    ) -> None:
        self.home = home
        self.log = home.parent / f"{home.name}.log"
        self.starts = 0
        self._log_before = 0  # characters, at the last start
        self._config = home.parent / f"{home.name}.toml"
        self._config.write_text(CONFIG.format(access=access, log_level="info") + account)
        self._account, self._access, self._given = account, access, dict(env)
        path = os.pathsep.join((str(code), str(ROOT)))
        self._env = {**os.environ, "PYTHONPATH": path, "TENK_HOME": str(home), **env}
        self._code = code
        self._process: Forked | None = None

    def beside(self, home: Path, env: Mapping[str, str]) -> "GatewayProcess":
        """Return another process like this in a home of its own; `env` overrides this one's variables."""
        return GatewayProcess(home, self._account, {**self._given, **env}, code=self._code, access=self._access)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def broke(self) -> bool:
        return self._process is not None and (self._process.poll() or 0) > 0

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("nothing was started")
        return self._process.pid

    async def start(self, failpoint: str | None = None) -> None:
        """Start it; `failpoint` is armed from its first breath on."""
        env = self._env if failpoint is None else {**self._env, "TENK_FAILPOINT": failpoint}
        server = ForkServer.of(self._code)
        self._log_before = len(self.tail(100_000_000))
        self._process = server.start([str(CHILD), str(self._config)], env, ROOT, self.log, self.log)
        self.starts += 1

    async def arm(self, failpoint: str | None) -> None:
        """Arm a point in the living process."""
        asked = self.home / "failpoint"
        asked.write_text(failpoint or "")
        os.kill(self.pid, signal.SIGUSR1)
        ends_s = time.monotonic() + 30
        while asked.exists():
            if time.monotonic() > ends_s or not self.running:
                raise RuntimeError(f"the gateway did not arm {failpoint}: {self.tail()}")
            await asyncio.sleep(0.005)

    def signal(self, signum: int) -> None:
        """Send a signal to it."""
        os.kill(self.pid, signum)

    async def kill(self) -> None:
        """End it by kill -9, and wait until it is gone."""
        if self._process is not None:
            if self._process.poll() is None:
                self._process.kill()
            await self._process.wait()

    async def ended(self, timeout_s: float) -> int | None:
        """Return the exit status, or None if the process still runs."""
        if self._process is None:
            return None
        try:
            async with asyncio.timeout(timeout_s):
                return await self._process.wait()
        except TimeoutError:
            return None

    def last_life(self) -> str:
        """Return the log since the last start."""
        return self.log.read_text(errors="replace")[self._log_before :]

    def tail(self, chars: int = 3000) -> str:
        """Return the end of the log."""
        return self.log.read_text(errors="replace")[-chars:] if self.log.exists() else ""
