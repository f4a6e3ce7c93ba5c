"""Findings of `tenk doctor` about a board."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent.delegation.teams_config import TeamsConfig
from gateway.capabilities.teams import Teams
from tests.fakes.spine import quick_store


@pytest.mark.parametrize(("has_workers", "to_do"), [(True, ""), (False, "add the table [delegation]")])
async def test_a_board_without_workers_is_told(tmp_path: Path, has_workers: bool, to_do: str) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    teams = Teams(TeamsConfig(), store, lambda: datetime.now(UTC), has_workers=has_workers)
    [finding] = await teams.check()
    assert to_do == finding.to_do
    await store.aclose()
