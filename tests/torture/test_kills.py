"""Kills at random, over and over, while people write (FAULTS R1, R2, R3).

More of it, with a line to read: `python -m tests.torture.campaign KILLS CHATS SEED`.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.torture.campaign import run_campaign

HUNDREDS = int(os.environ.get("TORTURE_KILLS", "150"))
"""Kills of one long campaign; from the environment, because `make torture` is run with more at night."""


@pytest.mark.timeout(200)
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_ten_kills_lose_nothing_and_double_nothing(
    tmp_path: Path, seed: int, record_property: Callable[[str, object], None]
) -> None:
    """R1: nothing lost, nothing said twice without a mark, nobody's answer elsewhere, order kept, effects once."""
    verdict = await run_campaign(tmp_path, kills=10, chats=12, seed=seed)
    record_property("campaign", verdict.line())
    assert [] == verdict.broken, verdict.line()
    assert 10 == verdict.kills


@pytest.mark.long
@pytest.mark.timeout(36_000)
@pytest.mark.parametrize("seed", [11, 12])
async def test_hundreds_of_kills_lose_nothing_and_double_nothing(
    tmp_path: Path, seed: int, record_property: Callable[[str, object], None]
) -> None:
    """R1, R2, R3 at full length; its line is in the report."""
    verdict = await run_campaign(tmp_path, kills=HUNDREDS, chats=20, seed=seed)
    record_property("campaign", verdict.line())
    assert [] == verdict.broken, verdict.line()
