"""The whole process under a clock that is set by a day, forward and back, while it runs and while it is stopped (F63).

The test needs libfaketime (Debian's package `faketime`); without it, it is skipped and says so.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from channels.simulators.telegram.server import TelegramSimulator
from gateway.testing.model import Reply
from tests.fakes.model_server import ModelServer
from tests.journeys.house import CONFIG, TOKEN, slow

ROOT = Path(__file__).parents[2]
LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
DRAIN_S = 3.0
WAIT_S = 60.0  # an interpreter under libfaketime, on a busy machine, takes its time

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not LIBRARIES, reason="libfaketime is not installed: apt-get install faketime"),
]


class Machine:
    """A gateway process whose clock stands in a file, with people at the other end."""

    def __init__(self, sim: TelegramSimulator, model: ModelServer, directory: Path, more: str = "") -> None:
        """Create it; `more` is added to its configuration."""
        self._sim = sim
        self._more = more
        self._model = model
        self._directory = directory
        self._clock = directory / "clock"
        self.log = directory / "log"

    def set_clock(self, offset: str) -> None:
        """Set the clock of whatever runs."""
        self._clock.write_text(offset)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run a gateway; stop it afterwards and fail if it does not drain in time."""
        config = self._directory / "gateway.toml"
        config.write_text(f'{CONFIG}[sessions]\nmode = "followup"\ndrain_s = {DRAIN_S}\n{self._more}')
        environ = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "TENK_HOME": str(self._directory / "home"),
            "TENK_ACCESS": "open",
            "TELEGRAM_BOT_TOKEN": TOKEN,
            "TELEGRAM_API_BASE": self._sim.base_url,
            "TENK_MODEL": "openai:clock",
            "OPENAI_BASE_URL": self._model.base_url,
            "OPENAI_API_KEY": "sk-clock",
            "LD_PRELOAD": str(LIBRARIES[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._clock),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        command = [sys.executable, "-m", "gateway", "run", "--config", str(config)]
        with self.log.open("a") as log:
            process = await asyncio.create_subprocess_exec(*command, env=environ, stdout=log, stderr=log)
            try:
                yield process
                if process.returncode is None:
                    process.send_signal(signal.SIGTERM)
                async with asyncio.timeout(DRAIN_S + 10):
                    assert 0 == await process.wait()
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()

    @property
    def texts(self) -> list[str]:
        return [shown.text for shown in self._sim.answers(1)]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that is seen from outside."""
        async with asyncio.timeout(WAIT_S):
            while not condition():
                await asyncio.sleep(0.02)


@pytest.mark.parametrize(("offset", "next_life"), [("+1d", "+0"), ("-1d", "-1d")])
async def test_people_are_answered_whatever_the_clock_is_set_to(tmp_path: Path, offset: str, next_life: str) -> None:
    async with TelegramSimulator() as sim, ModelServer() as model:
        sim.add_bot(TOKEN)
        machine = Machine(sim, model, tmp_path)
        model.answers(slow("The long answer.", 3.0), Reply("The second answer."), slow("never done " * 20, 60.0))
        machine.set_clock("+0")
        async with machine.running() as process:
            sim.say(1, "A long question")
            await machine.until(lambda: len(model.requests) == 1)
            sim.say(1, "And another")
            await machine.until(lambda: not len(sim.world.bot().updates))
            machine.set_clock(offset)
            await machine.until(lambda: "The second answer." in machine.texts)
            sim.say(1, "One more")
            await machine.until(lambda: len(model.requests) == 3)
            process.send_signal(signal.SIGTERM)
            await machine.until(lambda: "gateway_stopping" in machine.log.read_text())
            machine.set_clock("+0")
        model.answers(Reply("Taken up."), Reply("And on."))
        machine.set_clock(next_life)
        async with machine.running():
            sim.say(1, "Still there?")
            await machine.until(lambda: "And on." in machine.texts or "Taken up." in machine.texts)
        assert [] == [text for text in machine.texts if "missed" in text]
