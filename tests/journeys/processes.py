"""`tenk run` as a process of its own, and `tenk chat` beside it."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.fork_server import Forked, ForkServer

ROOT = Path(__file__).parents[2]
WAIT_S = 40.0


@dataclass(frozen=True, slots=True)
class TenkRun:
    """A running gateway."""

    home: Path
    process: Forked

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for it, as long as the gateway lives."""
        ends_s = time.monotonic() + WAIT_S
        while not condition():
            assert self.process.poll() is None, "the gateway ended"
            assert time.monotonic() < ends_s
            time.sleep(0.05)

    def tenk(self, *arguments: str) -> str:
        """Run a command beside it; what it printed."""
        done = ForkServer.of().run(["-m", "gateway", *arguments], environment(self.home), self.home, WAIT_S)
        return done.stdout + done.stderr

    def says(self, text: str) -> str:
        """Say something to it; its answer."""
        events = [json.loads(line) for line in self.tenk("chat", "--print", text).splitlines()]
        return "\n".join(event["text"] for event in events if event["type"] == "message")


def environment(home: Path) -> dict[str, str]:
    """Return only the variables that are needed; modules beside the home can be imported."""
    ours = {"PYTHONPATH": f"{ROOT}{os.pathsep}{home}", "TENK_HOME": str(home / "var"), "TENK_HTTP": "127.0.0.1:0"}
    return ours | {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


@contextmanager
def tenk_run(home: Path, out: Path, config: str = "") -> Iterator[TenkRun]:
    """Run the gateway with both its outputs there; at the end SIGTERM is a graceful end."""
    (home / "gateway.toml").write_text(config)
    command = ["-m", "gateway", "run", "--config", "gateway.toml"]
    running = TenkRun(home, ForkServer.of().start(command, environment(home), home, out, out))
    try:
        running.until((home / "var" / "control.sock").exists)
        yield running
    finally:
        running.process.send_signal(signal.SIGTERM)
        assert 0 == running.process.wait_until(WAIT_S)
