"""Sealed tokens of reply routes: sealed on arrival, opened at the send."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from channels.messages import Address, ChatKind, CommandInvoked, Route, Sender
from gateway.safety.vault import Vault, is_sealed
from gateway.store import reply_routes
from gateway.store.tables.traffic import inbox as rows
from gateway.store.tables.traffic import reply_routes as routes
from tests.fakes.door import Door
from tests.fakes.spine import NOON, Spine, quick_store

TOKEN = "canary-token-of-one-interaction"


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    spine = Spine(await quick_store(tmp_path / "tenk.db"))
    await spine.begin()
    yield Door(spine)
    await spine.kill()
    await spine.store.aclose()


def invoked(who: str = "7", token: str = TOKEN) -> CommandInvoked:
    return CommandInvoked(
        event_id="i:1",
        address=Address("sim", "main", f"c{who}"),
        sender=Sender(who, "Ana"),
        received_at=NOON,
        name="help",
        arguments="",
        kind=ChatKind.DIRECT,
        route=Route("interaction", token, NOON + timedelta(minutes=15)),
    )


async def test_a_token_comes_in_sealed_and_goes_out_opened(door: Door, tmp_path: Path) -> None:
    await door.receive(invoked())
    await door.spine.quiet()
    assert [TOKEN] == [part.route.token for part in door.spine.channel.parts if part.route is not None]
    stored = await door.spine.store.read(lambda c: repr(c.execute(sa.select(rows)).all()))
    kept = await door.spine.store.read(lambda c: list(c.execute(sa.select(routes.c.token)).scalars()))
    assert TOKEN not in stored + repr(door.rows) + repr(kept)
    assert [True] == [is_sealed(token) for token in kept]
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert files
    assert [] == [path.name for path in files if TOKEN.encode() in path.read_bytes()]


async def test_a_sealed_token_without_its_key_is_never_said_in_the_chat(door: Door) -> None:
    lost = Vault.fresh().seal(TOKEN, reply_routes.secret_of("default", "sim:p1"))
    await door.spine.admit(invoked("p1", lost), "p1")
    await door.spine.quiet()
    (told,) = door.spine.channel.shown("cp1")
    assert "could not be delivered" in told
