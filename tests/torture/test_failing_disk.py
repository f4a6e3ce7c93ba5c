"""Failing disk operations: nothing unwritten is acknowledged, and the store recovers by itself (R9, F50, F64)."""

import json
import os
from itertools import product
from pathlib import Path

import pytest

from tests.fakes.fork_server import ForkServer
from tests.torture.failing_disk import ENOUGH_TOLD, FAULTS, ROWS
from tests.torture.sqlite_disk import why_not

ROOT = Path(__file__).parents[2]
RECOVERY_S = 10.0
LASTING_LOCK = ("locked", "writing", "lasting")
"""Not here: it takes another process to hold a lock, and `tests/contract/test_store_outages.py` has one."""

pytestmark = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


def reports(directory: Path, fault: str, phase: str, lasting: str, numbers: list[int]) -> list[dict[str, object]]:
    """Return what each failed operation did, after the checks that hold for all of them."""
    command = ["-m", "tests.torture.failing_disk", str(directory), fault, phase, lasting, *map(str, numbers)]
    ended = ForkServer.of().run(command, os.environ, ROOT, timeout_s=280)
    assert 0 == ended.returncode, ended.stderr
    told = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    assert numbers == [report["n"] for report in told]
    for report in told:
        assert (0, "ok", True) == (report["lost"], report["integrity"], report["healthy"]), report
        assert report["recovery_s"] < RECOVERY_S, report
    return told


@pytest.mark.parametrize("fault", FAULTS)
def test_a_write_that_fails_once_costs_no_acknowledged_row(tmp_path: Path, fault: str) -> None:
    for report in reports(tmp_path, fault, "writing", "once", [1, 4, 9, 16, 33, 60]):
        assert report["acknowledged"] + report["told"] == ROWS, report  # type: ignore[operator]  JSON numbers


def test_a_disk_that_stays_broken_acknowledges_nothing(tmp_path: Path) -> None:
    for report in reports(tmp_path, "io_error", "writing", "lasting", [1, 6]):
        assert ENOUGH_TOLD == report["told"], report


def test_a_creation_that_fails_leaves_nothing_half_made(tmp_path: Path) -> None:
    """Cover R5."""
    for report in reports(tmp_path, "io_error", "creation", "once", [1, 2, 5, 9, 40, 110]):
        assert (1, 1) == (report["refused"], report["told"]), report


EVERY = [case for case in product(FAULTS, ("writing", "creation"), ("once", "lasting")) if case != LASTING_LOCK]


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("fault", "phase", "lasting"), EVERY)
def test_every_operation_may_fail(tmp_path: Path, fault: str, phase: str, lasting: str) -> None:
    """Cover R9."""
    assert 60 == len(reports(tmp_path, fault, phase, lasting, list(range(1, 61))))
