"""A running gateway without a process, for every test that asks for one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.spine import Spine, quick_store


@pytest.fixture
async def spine(tmp_path: Path) -> AsyncIterator[Spine]:
    store = await quick_store(tmp_path / "tenk.db")
    spine = Spine(store)
    await spine.begin()
    yield spine
    await spine.kill()
    await store.aclose()
