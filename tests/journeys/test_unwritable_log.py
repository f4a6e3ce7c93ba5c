"""The gateway as an operator runs it, with its output on a full disk or a pipe that lost its reader."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.fork_server import Forked, ForkServer

ROOT = Path(__file__).parents[2]
FULL = Path("/dev/full")
WAIT_S = 40.0
RUN = ["-m", "gateway", "run"]
pytestmark = pytest.mark.timeout(120)


def environment(home: Path) -> dict[str, str]:
    """Nothing but what is needed."""
    ours = {"PYTHONPATH": str(ROOT), "TENK_HOME": str(home / "var"), "TENK_HTTP": "127.0.0.1:0"}
    return ours | {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


def until(condition: Callable[[], bool], running: Forked) -> None:
    """Wait for it, as long as the gateway lives."""
    ends_s = time.monotonic() + WAIT_S
    while not condition():
        assert running.poll() is None, "the gateway ended"
        assert time.monotonic() < ends_s
        time.sleep(0.05)


def log_practice(home: Path) -> None:
    """Exchange a message with the gateway that runs."""
    command = ["-m", "gateway", "chat", "--print", "/log 45m guitar"]
    said = ForkServer.of().run(command, environment(home), home, WAIT_S)
    assert said.stdout.startswith("Logged 45 min"), said


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")
def test_gateway_serves_with_its_output_on_a_full_disk(tmp_path: Path) -> None:
    """Each line of its log is dropped; a message is answered, and SIGTERM is a graceful end."""
    running = ForkServer.of().start(RUN, environment(tmp_path), tmp_path, FULL, FULL)
    try:
        until((tmp_path / "var" / "control.sock").exists, running)
        log_practice(tmp_path)
    finally:
        running.send_signal(signal.SIGTERM)
        assert 0 == running.wait_until(WAIT_S)


def test_lines_lost_to_a_closed_pipe_are_counted_in_the_next_one_that_is_written(tmp_path: Path) -> None:
    """While nobody reads, a message is answered; the first line that is read again is followed by the count."""
    log = tmp_path / "log"
    os.mkfifo(log)
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    running = ForkServer.of().start(RUN, environment(tmp_path), tmp_path, log, log)
    try:
        until((tmp_path / "var" / "control.sock").exists, running)
        log_practice(tmp_path)
        os.close(reader)
        log_practice(tmp_path)
        reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
        log_practice(tmp_path)
        written = os.read(reader, 1_000_000).decode().splitlines()
    finally:
        running.send_signal(signal.SIGTERM)
        os.close(reader)
        assert 0 == running.wait_until(WAIT_S)
    (told,) = [json.loads(line) for line in written if '"log_lines_dropped"' in line]
    assert ("error", True) == (told["level"], told["lines"] > 0)
