"""The gateway as an operator runs it, with its output on a full disk or a pipe that lost its reader."""

import json
import os
from pathlib import Path

import pytest

from tests.journeys.processes import tenk_run

FULL = Path("/dev/full")
pytestmark = pytest.mark.timeout(120)


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")
def test_gateway_serves_with_its_output_on_a_full_disk(tmp_path: Path) -> None:
    with tenk_run(tmp_path, FULL) as running:
        assert running.says("/log 45m guitar").startswith("Logged 45 min")


def test_lines_lost_to_a_closed_pipe_are_counted_in_the_next_one_that_is_written(tmp_path: Path) -> None:
    log = tmp_path / "log"
    os.mkfifo(log)
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    with tenk_run(tmp_path, log) as running:
        os.close(reader)
        assert running.says("/log 45m guitar").startswith("Logged 45 min")
        reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
        assert running.says("/log 45m guitar").startswith("Logged 45 min")
        written = os.read(reader, 1_000_000).decode().splitlines()
    os.close(reader)
    (told,) = [json.loads(line) for line in written if '"log_lines_dropped"' in line]
    assert ("error", True) == (told["level"], told["lines"] > 0)
