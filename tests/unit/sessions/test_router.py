"""The router: edits and deletions find their message; an outage of the store stops nothing."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.tools.base import Effect
from agent.transcript import ModelResponded, ToolCall, UserItem
from gateway.sessions.config import SessionsConfig
from gateway.store import inbox
from tests.fakes.agents import a_tool, double
from tests.fakes.outages import FickleEngine
from tests.fakes.spine import KEY, QuickStore, Spine


@pytest.fixture
async def engine(tmp_path: Path) -> FickleEngine:
    return FickleEngine(tmp_path / "tenk.db")


@pytest.fixture
async def spine(engine: FickleEngine) -> AsyncIterator[Spine]:
    store = await QuickStore(engine).start()
    spine = Spine(store, sessions=SessionsConfig(mailbox_size=2))
    await spine.begin()
    yield spine
    engine.down = False
    await spine.kill()
    await store.aclose()


async def test_an_edit_of_an_unknown_message_is_a_message(spine: Spine) -> None:
    await spine.say("hello", message_id="999", edited=True)
    await spine.asked()


async def test_a_turn_that_answers_something_else_too_goes_on(spine: Spine) -> None:
    messages = [spine.message(text) for text in ("one", "two")]
    for message in messages:
        await spine.admit(message)
        await spine.quiet()
    spine.model.give("a first thought")
    await spine.asked()
    rows = await spine.outcomes()
    await spine.take_back(messages[0].message_id)
    await spine.quiet()
    assert spine.router.running
    await spine.take_back(messages[1].message_id)
    await spine.quiet()
    assert not spine.router.running
    assert {"cleared"} == {outcome for id_, outcome in (await spine.outcomes()).items() if id_ in rows}


async def test_a_turn_that_has_changed_something_says_so(spine: Spine) -> None:
    for effect, ends in ((Effect.LOCAL, False), (Effect.NONE, True)):
        await spine.kill()
        spine.tools = (a_tool("note", double, effect=effect),)
        await spine.begin()
        message = spine.message("note two")
        await spine.admit(message)
        await spine.asked()
        spine.model.give(ModelResponded(0, "", (ToolCall("c", "note", '{"n": 2}'),)))
        await spine.asked()
        await spine.take_back(message.message_id)
        await spine.quiet()
        assert ends is not spine.router.running
        if not ends:
            spine.model.give("Two is noted.")
            await spine.quiet()
    assert ["Two is noted."] == spine.channel.shown()


@pytest.mark.parametrize("moment", ["edit", "refill", "recover", "deliver"])
async def test_a_store_that_cannot_be_read_for_a_while_is_waited_for(
    spine: Spine, engine: FickleEngine, moment: str
) -> None:
    """Cover F64."""
    await spine.say("/mode followup")
    await spine.quiet()
    message = spine.message("one")
    await spine.admit(message)
    await spine.asked()
    if moment == "refill":
        for text in ("two", "three", "four", "five"):
            await spine.say(text)
    if moment == "edit":
        await spine.say("won", message_id=message.message_id, edited=True)
    await spine.quiet()
    if moment == "recover":
        await spine.kill()
        spine.model.asked = None
    engine.down = True
    if moment == "recover":
        beginning = asyncio.ensure_future(spine.begin())  # noqa: TID251  awaited below
        await engine.refused.wait()
        engine.down = False
        await beginning
    else:
        spine.model.give("answer one")
        await engine.refused.wait()
        engine.down = False
    async with asyncio.timeout(30):
        while None in (await spine.outcomes()).values():
            spine.check()
            if spine.model.asked is not None:
                spine.model.give("answer")


async def test_a_row_whose_hint_comes_after_it_was_read_joins_once(spine: Spine) -> None:
    await spine.say("hello")
    await spine.asked()
    await spine.admit(spine.message("and this"), silently=True)
    late = await spine.store.read(lambda connection: inbox.waiting(connection, 0, 10, KEY))
    session = spine.router.session("default", KEY)
    session.mailbox.put_back(late)
    session.offer(late[0])
    spine.model.give("one")
    await spine.asked()
    session.offer(late[0])
    spine.model.give("two")
    await spine.quiet()
    said = [item.text for item in spine.model.requests[-1].items if isinstance(item, UserItem)]
    assert ["hello", "and this"] == said


async def test_what_joined_a_turn_does_not_join_it_again(spine: Spine) -> None:
    await spine.say("hello")
    await spine.asked()
    await spine.say("and this")
    late = await spine.store.read(lambda connection: inbox.waiting(connection, 0, 10, KEY))
    assert ["and this"] == [getattr(row.event, "text", "") for row in late]
    mailbox = spine.router.session("default", KEY).mailbox
    mailbox.put_back(late)
    await spine.quiet()
    spine.model.give("one")
    await spine.asked()
    mailbox.put_back(late)
    spine.model.give("two")
    await spine.quiet()
    said = [item.text for item in spine.model.requests[-1].items if isinstance(item, UserItem)]
    assert ["hello", "and this"] == said
    assert ["one\n\ntwo"] == spine.channel.shown()
