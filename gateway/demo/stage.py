"""The demo's stage: the real gateway as a process of its own in a temporary home, and three simulated platforms."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.shared.simulator import AnySimulator
from channels.simulators.slack.server import SlackSimulator
from channels.simulators.telegram.server import TelegramSimulator

DISCORD_ROOM, DISCORD_PERSON = 5001, 3001
SLACK_ROOM = TELEGRAM_ROOM = 7
FOREIGN = ("TENK_", "TELEGRAM_", "DISCORD_", "SLACK_", "OPENAI_", "ANTHROPIC_", "DATABASE_URL", "NATS_URL")
"""Environment variables that would change what is shown, or reach the outside."""

START_S = 30.0
COMMAND_S = 30.0
END_S = 15.0
TAIL_LINES = 15

CONFIG = """\
[gateway]
log_format = "console"

[model]
name = "offline"
words_per_s = {words_per_s}

[permissions]
ask = ["plot_progress"]

[access.accounts."telegram:main"]
allow_groups = ["telegram:{telegram_room}"]

[access.accounts."slack:main"]
allow_groups = ["slack:{slack_room}"]

[access.accounts."discord:main"]
allow = ["discord:{discord_person}"]
allow_groups = ["discord:{discord_room}"]
"""

CLEANER = 'while read pid; do gateway=$pid; done; [ -z "$gateway" ] || kill -9 "$gateway" 2>&-; rm -rf "$0"'
"""A shell that ends the gateway and removes its home once our end of its input is closed, even by kill -9."""


class StoryBroken(Exception):
    """A step failed; the message says what was expected."""


class Stage:
    """`async with` makes the temporary home and the platforms; the gateway runs between `start` and `end`."""

    def __init__(self) -> None:
        self.telegram, self.discord = TelegramSimulator.with_bot(), DiscordSimulator.with_bot()
        self.slack = SlackSimulator.with_bot()
        self.platforms: tuple[AnySimulator, ...] = (self.telegram, self.slack, self.discord)
        self._open = AsyncExitStack()
        self._home = Path(tempfile.mkdtemp(prefix="tenk-demo-"))
        self._config = self._home / "gateway.toml"
        self._log = self._home / "gateway.log"
        self._cleaner = subprocess.Popen(  # noqa: S603  a shell with our own words
            ["/bin/sh", "-c", CLEANER, str(self._home)], stdin=subprocess.PIPE, start_new_session=True, text=True
        )
        self._gateway: asyncio.subprocess.Process | None = None
        self._ending = False

    async def __aenter__(self) -> Self:
        for platform in self.platforms:
            await self._open.enter_async_context(platform)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._gateway is not None:
                await _kill(self._gateway)
            await self._open.aclose()
        finally:
            self._tell_cleaner("")
            self._cleaner.communicate()

    # ------------------------------------------------------------ the gateway

    async def start(self, words_per_s: float) -> Mapping[str, float]:
        """Start the gateway and wait until it reads from all platforms. Return the seconds until each.

        Raises:
            StoryBroken: it ended, or does not read.
        """
        self._config.write_text(
            CONFIG.format(
                words_per_s=words_per_s,
                telegram_room=self.telegram.room(TELEGRAM_ROOM),
                slack_room=self.slack.room(SLACK_ROOM),
                discord_room=self.discord.room(DISCORD_ROOM),
                discord_person=DISCORD_PERSON,
            )
        )
        begun_s = time.monotonic()
        self._gateway = await self._start_process()
        self._tell_cleaner(str(self._gateway.pid))
        self._ending = False
        async with asyncio.TaskGroup() as tasks:
            ready = {
                platform.title: tasks.create_task(_time_until_read(platform, platform.arrivals(), begun_s))
                for platform in self.platforms
            }
        return {name: task.result() for name, task in ready.items()}

    async def _start_process(self) -> asyncio.subprocess.Process:
        with self._log.open("ab") as log:
            return await self._run(*self._command("run"), stdout=log)

    async def watch(self) -> None:
        """Wait until the gateway ends by itself.

        Raises:
            StoryBroken: it did.
        """
        while True:
            gateway = self._gateway
            if gateway is not None and not self._ending and gateway.returncode is not None:
                raise StoryBroken(f"the gateway ended by itself, with status {gateway.returncode}")
            await asyncio.sleep(0.1)

    async def kill(self) -> None:
        """End the gateway as a power cut would: SIGKILL."""
        self._ending = True
        if self._gateway is not None:
            await _kill(self._gateway)

    async def end(self) -> None:
        """Ask the gateway to end, as a service manager does, and wait for it.

        Raises:
            StoryBroken: it did not end, or not with status 0.
        """
        self._ending = True
        gateway = self._running()
        gateway.terminate()
        try:
            async with asyncio.timeout(END_S):
                status = await gateway.wait()
        except TimeoutError:
            raise StoryBroken(f"the gateway was asked to end and still ran {END_S:.0f} s later") from None
        if status != 0:
            raise StoryBroken(f"the gateway was asked to end and did so with status {status}")

    @property
    def is_running(self) -> bool:
        """Return True if the gateway's process runs."""
        return self._gateway is not None and self._gateway.returncode is None

    @property
    def pid(self) -> int:
        """Return the gateway's process id."""
        return self._running().pid

    def memory_mb(self) -> float | None:
        """Return the resident memory of the gateway in MiB; None except on Linux, which tells it in /proc."""
        try:
            pages = int(Path(f"/proc/{self._running().pid}/statm").read_text().split()[1])
        except OSError:
            return None
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def log_tail(self) -> str:
        """Return the last lines of the gateway's log."""
        if not self._log.exists():
            return ""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-TAIL_LINES:])

    def _tell_cleaner(self, pid: str) -> None:
        assert self._cleaner.stdin is not None, "it is a pipe"
        self._cleaner.stdin.write(f"{pid}\n")
        self._cleaner.stdin.flush()

    # ------------------------------------------------------------ the operator

    async def tenk(self, *arguments: str) -> str:
        """Run the command `tenk` beside the gateway. Return what it prints.

        Raises:
            StoryBroken: it failed.
        """
        shown = " ".join(arguments)
        process = await self._run(*self._command(*arguments), stdout=asyncio.subprocess.PIPE)
        try:
            async with asyncio.timeout(COMMAND_S):
                printed, _ = await process.communicate()
        except TimeoutError:
            raise StoryBroken(f"`tenk {shown}` did not end within {COMMAND_S:.0f} s") from None
        finally:
            await _kill(process)
        said = printed.decode(errors="replace").strip()
        if process.returncode != 0:
            raise StoryBroken(f"`tenk {shown}` ended with status {process.returncode}: {said}")
        return said

    async def _run(self, *command: str, stdout: int | IO[bytes]) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *command,
            env=self._environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=stdout,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )

    def _command(self, *arguments: str) -> tuple[str, ...]:
        return (sys.executable, "-m", "gateway", *arguments, "--config", str(self._config))

    def _environment(self) -> Mapping[str, str]:
        """Return this process's environment, with the settings of this gateway in place of any other's."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        return own | {
            "TENK_HOME": str(self._home),
            "TENK_HTTP": "127.0.0.1:0",
            "PYTHONUTF8": "1",
            **{key: value for platform in self.platforms for key, value in platform.environment().items()},
        }

    def _running(self) -> asyncio.subprocess.Process:
        if self._gateway is None or not self.is_running:
            raise StoryBroken("the gateway is not running")
        return self._gateway


async def _time_until_read(platform: AnySimulator, arrivals: int, begun_s: float) -> float:
    """Wait until the gateway reads from a platform again. Return the seconds since `begun_s`."""
    try:
        await platform.until(lambda: platform.arrivals() > arrivals, START_S)
    except TimeoutError:
        raise StoryBroken(f"the gateway did not read from {platform.title} within {START_S:.0f} s") from None
    return time.monotonic() - begun_s


async def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
