"""Power loss: acknowledged rows survive, and the test would notice if they did not (R6)."""

import os
import signal
import sqlite3
from pathlib import Path

import pytest

from gateway.store.engine import Store
from tests.contract.stores import note, subjects
from tests.fakes.fork_server import ForkServer
from tests.torture.power_loss import DATABASE
from tests.torture.sqlite_disk import why_not

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


def lose_power(directory: Path, synchronous: str, seed: int) -> set[str]:
    """Run the writing process until its power goes; the rows it acknowledged. What the disk has is in `shadow`."""
    (directory / "shadow").mkdir(parents=True)
    command = ["-m", "tests.torture.power_loss", str(directory), synchronous, str(seed)]
    ended = ForkServer.of().run(command, os.environ, ROOT, timeout_s=60)
    assert -signal.SIGKILL == ended.returncode, ended.stderr
    return set(ended.stdout.split())


def surviving(database: Path) -> set[str]:
    """Return the rows a plain SQLite finds; none if the file or its table did not reach the disk whole."""
    connection = sqlite3.connect(database)
    try:
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            return set()
        return {subject for (subject,) in connection.execute("SELECT subject FROM audit")}
    except sqlite3.DatabaseError:
        return set()
    finally:
        connection.close()


async def full_loses_nothing(directory: Path, seed: int) -> int:
    """Lose power once under FULL: every acknowledged row is there, the store works; return how many there were."""
    acknowledged = lose_power(directory, "FULL", seed)
    assert set() == acknowledged - surviving(directory / "shadow" / DATABASE), f"seed {seed}"
    store = await Store.open(f"sqlite:///{directory}/shadow/{DATABASE}")
    await store.commit(note("after the power came back"))
    assert acknowledged <= set(await store.read(subjects)), f"seed {seed}"
    await store.aclose()
    return len(acknowledged)


def lost(directory: Path, synchronous: str, seed: int) -> int:
    """Return how many acknowledged rows a weaker setting loses."""
    acknowledged = lose_power(directory, synchronous, seed)
    return len(acknowledged - surviving(directory / "shadow" / DATABASE))


@pytest.mark.parametrize("seed", [20, 21])
async def test_nothing_acknowledged_is_lost_with_the_power(tmp_path: Path, seed: int) -> None:
    assert 0 < await full_loses_nothing(tmp_path, seed)


@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_the_test_notices_a_weaker_setting(tmp_path: Path, synchronous: str) -> None:
    assert 0 < lost(tmp_path, synchronous, seed=20)


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_thirty_losses_of_power_lose_nothing(tmp_path: Path) -> None:
    """Cover R6."""
    counts = [await full_loses_nothing(tmp_path / str(seed), seed) for seed in range(100, 130)]
    assert 1000 < sum(counts)


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_weaker_settings_lose_rows_again_and_again(tmp_path: Path, synchronous: str) -> None:
    losses = [lost(tmp_path / str(seed), synchronous, seed) for seed in range(100, 120, 2)]
    assert 5 <= sum(loss > 0 for loss in losses)
