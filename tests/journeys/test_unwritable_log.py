"""The gateway with its output on a full disk or a pipe that lost its reader."""

import contextlib
import fcntl
import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journeys.processes import TenkRun, environment, tenk_run

FULL = Path("/dev/full")
pytestmark = pytest.mark.timeout(120)


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")
def test_gateway_serves_with_its_output_on_a_full_disk(tmp_path: Path) -> None:
    with tenk_run(tmp_path, FULL) as running:
        assert running.says("/log 45m guitar").startswith("Logged 45 min")


@pytest.mark.skipif(not hasattr(fcntl, "F_SETPIPE_SZ"), reason="only Linux has small pipes")
def test_gateway_serves_without_a_reader_of_its_log_and_counts_the_lost_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    os.mkfifo(log)
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    with tenk_run(tmp_path, log) as running:
        os.close(reader)
        assert running.says("/log 45m guitar").startswith("Logged 45 min")
        reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
        size = fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 8192)
        assert running.says("/log 45m guitar").startswith("Logged 45 min")
        fill(log)
        assert running.says("/log 45m guitar").startswith("Logged 45 min")
        written = os.read(reader, size)
        assert running.says("/log 45m guitar").startswith("Logged 45 min")
        written += os.read(reader, size)
    os.close(reader)
    told = [json.loads(line) for line in written.decode().splitlines() if '"log_lines_dropped"' in line]
    assert [("error", True)] * 2 == [(line["level"], line["lines"] > 0) for line in told]


def fill(pipe: Path) -> None:
    writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"\n" * select.PIPE_BUF)
    os.close(writer)


@pytest.mark.gate
def test_gateway_serves_with_its_outputs_closed(tmp_path: Path) -> None:
    command = f"exec {sys.executable} -m gateway run <&- >&- 2>&-"
    with subprocess.Popen(["sh", "-c", command], env=environment(tmp_path), cwd=tmp_path) as process:
        try:
            TenkRun(tmp_path, process).until((tmp_path / "var" / "control.sock").exists)  # type: ignore[arg-type]  # it asks for poll() alone
        finally:
            process.terminate()
        assert 0 == process.wait(30)
