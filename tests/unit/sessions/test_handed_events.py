"""Events that a commit hands to a session: they join the turn that runs there, or start one, once."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.transcript import UserItem
from channels.messages import Address, SystemEvent
from gateway.store.handover import SYSTEM, hand_over
from gateway.store.inbox import InboxRow
from tests.fakes.spine import KEY, NOON, Spine, quick_store


@pytest.fixture
async def spine(tmp_path: Path) -> AsyncIterator[Spine]:
    store = await quick_store(tmp_path / "tenk.db")
    spine = Spine(store)
    await spine.begin()
    yield spine
    await spine.kill()
    await store.aclose()


async def hand(spine: Spine, event_id: str = "task:1", request: str = "") -> InboxRow | None:
    event = SystemEvent(
        event_id=event_id,
        address=Address("sim", "main", "c1"),
        sender=SYSTEM,
        received_at=NOON,
        name="task_ended",
        arguments=request,
        turn="chat",
        data="" if request else "42 seats",
        data_head="the result of a task",
    )
    return await spine.store.of("default").commit(hand_over, event, "p1", KEY, NOON)


def read_last(spine: Spine) -> UserItem:
    item = spine.model.requests[-1].items[-1]
    assert isinstance(item, UserItem)
    return item


async def test_an_event_starts_a_turn_that_answers_in_the_chat(spine: Spine) -> None:
    await hand(spine)
    await spine.asked()
    item = read_last(spine)
    assert "" == item.text
    assert "the result of a task" in item.data
    assert "42 seats" in item.data
    spine.model.give("There are 42.")
    await spine.quiet()
    assert ["There are 42."] == spine.channel.shown()


async def test_a_request_of_the_persons_own_is_no_data(spine: Spine) -> None:
    await hand(spine, request="Plan my week.")
    await spine.asked()
    assert ("Plan my week.", "") == (read_last(spine).text, read_last(spine).data)


async def test_an_event_joins_the_turn_that_runs_and_interrupts_none(spine: Spine) -> None:
    for mode in ("steer", "interrupt"):
        await spine.say(f"/mode {mode}")
        await spine.quiet()
        await spine.say("how many?")
        await spine.asked()
        await hand(spine, mode)
        await spine.quiet()
        spine.model.give("One moment.")
        await spine.asked()
        assert "42 seats" in read_last(spine).data
        spine.model.give("42.")
        await spine.quiet()
    assert {"answered", "merged"} == set((await spine.outcomes()).values())


async def test_the_same_event_is_taken_once_also_after_a_kill(spine: Spine) -> None:
    assert await hand(spine) is not None
    await spine.kill()
    assert await hand(spine) is None
    await spine.begin()
    await spine.asked()
    spine.model.give("42.")
    await spine.quiet()
    assert ["answered"] == list((await spine.outcomes()).values())
    assert 1 == len(spine.channel.shown())
