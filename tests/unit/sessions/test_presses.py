"""Presses: a button works if it is ours, this person's, of this account, and not expired."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.commands.base import Invocation, Reply
from tests.fakes.people import minutes
from tests.fakes.spine import Spine, quick_store


@pytest.fixture
async def spine(tmp_path: Path) -> AsyncIterator[Spine]:

    async def confirm(asked: Invocation) -> Reply:
        return Reply(f"{asked.principal.user_id} confirms {asked.arguments}")

    store = await quick_store(tmp_path / "tenk.db")
    spine = Spine(store, decisions={"yes": confirm})
    await spine.begin()
    yield spine
    await spine.kill()
    await store.aclose()


@pytest.mark.parametrize("chat", ["c1", "g1"])
async def test_a34_another_persons_press_does_nothing_and_leaves_them_their_buttons(spine: Spine, chat: str) -> None:
    await spine.press(spine.buttons.seal("yes", "q1", "p1", "sim:main", spine.now + minutes(10)), "p2", chat)
    await spine.quiet()
    assert ["That button is no longer valid."] == spine.channel.shown(chat)
    assert [] == spine.channel.unbuttoned


async def test_a_button_of_another_account_or_without_a_seal_does_nothing(spine: Spine) -> None:
    sealed = spine.buttons.seal("yes", "q1", "p1", "sim:second", spine.now + minutes(10))
    for data in (sealed, "yes:q1", "yes", "yes:q1:1lg4g0f:" + "A" * 16):
        await spine.press(data)
    await spine.quiet()
    assert ["That button is no longer valid."] * 4 == spine.channel.shown()
