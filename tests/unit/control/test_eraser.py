"""Erasure of people one after another; a failed one is retried and holds up no other."""

from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

from gateway.ops.personal_data import Eraser
from gateway.store import erasure
from gateway.store.erasure import ERASURES, Erasure, Extent, Progress
from tests.fakes.spine import quick_store

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


async def keep_files(_tenant: str, _user_id: str) -> None:
    pass


async def test_one_that_breaks_blocks_no_other_and_is_tried_again(tmp_path: Path) -> None:
    store = await quick_store(tmp_path / "tenk.db")
    tried: list[str] = []

    def ask(connection: sa.Connection) -> None:
        for at, id_ in enumerate(("oldest", "newer")):
            asked = Erasure(id_, "default", id_, Extent.TALK, (), (), (), at, NOON.replace(minute=at))
            ERASURES.add(connection, asked)

    def erase(connection: sa.Connection, wanted: Erasure, _now: datetime) -> Progress:
        tried.append(wanted.id)
        ERASURES.delete(connection, id=wanted.id)
        if wanted.id == "oldest":
            raise ValueError("a row that nobody foresaw")
        return Progress.DONE

    await store.commit(ask)
    eraser = Eraser(store, erase, lambda _tenant, _keys: None, keep_files, lambda: NOON)
    for _ in range(8):
        await eraser.look()
    assert ["oldest", "newer", "oldest", "oldest"] == tried
    assert ["oldest"] == [wanted.id for wanted in await store.read(erasure.pending)]
    await store.aclose()
