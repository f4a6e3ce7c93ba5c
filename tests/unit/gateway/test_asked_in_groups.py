"""An operator's message in a group that is not allowed yet: kept for a day, answered later."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from channels.messages import CommandInvoked, InboundMessage, MessageDeleted, Route
from gateway.store import erasure, groups
from gateway.store.erasure import Extent
from gateway.store.groups import KEPT_FOR
from tests.fakes.door import Door, pairing_door
from tests.fakes.people import minutes


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with pairing_door(tmp_path) as door:
        await door.say("/start")
        await door.approve()
        yield door


async def says(door: Door, text: str, **more: object) -> InboundMessage:
    event = door.spine.message(text, "7", "g1", **more)
    await door.receive(event)
    return event


async def is_allowed(door: Door) -> list[str]:
    before = len(door.taken)
    (group,) = await door.spine.store.read(groups.GROUPS.find)
    for _ in range(2):
        taken = await door.spine.store.commit(door.operators.take_up_group, group.id, "p1", door.spine.now)
        door.operators.process.announce(taken)
    return door.taken[before:]


async def test_the_last_that_was_said_is_answered_once(door: Door) -> None:
    await says(door, "hello")
    last = await says(door, "How do I tune it?")
    edited = replace(last, event_id="edit", text="How do I tune a cello?", edited=True)
    await door.receive(edited)
    await says(door, "/group on")
    assert ["How do I tune a cello?"] == await is_allowed(door)


async def test_what_was_taken_back_or_is_a_day_old_is_not_answered(door: Door) -> None:
    last = await says(door, "hello")
    await door.receive(
        MessageDeleted(
            event_id="gone",
            address=last.address,
            sender=last.sender,
            received_at=last.received_at,
            message_id=last.message_id,
        )
    )
    assert [] == await is_allowed(door)
    route = Route("interaction", "token", last.received_at + minutes(15), private=True)
    own = CommandInvoked(
        event_id="stats",
        address=last.address,
        sender=last.sender,
        received_at=last.received_at,
        name="stats",
        arguments="",
        kind=last.kind,
        route=route,
    )
    await door.receive(own)
    assert [] == await is_allowed(door)
    await says(door, "hello again")
    door.spine.now += KEPT_FOR + timedelta(seconds=1)
    assert [] == await is_allowed(door)


async def test_it_is_not_kept_of_who_was_forgotten_or_blocked_or_longer_than_a_day(door: Door) -> None:

    async def kept() -> list[str | None]:
        query = sa.text("SELECT kept FROM groups")
        return await door.spine.store.read(lambda connection: list(connection.execute(query).scalars()))

    await says(door, "hello")
    assert 1 == len([said for said in await kept() if said])
    person = door.snapshot.find("default", "sim:7")
    assert person is not None
    await door.spine.store.commit(groups.forget_kept, before=door.spine.now + minutes(1))
    assert [None] == await kept()
    await says(door, "hello once more")
    now, mark = door.spine.now, door.snapshot.mark
    await door.spine.store.commit(lambda c: erasure.ask(c, person, Extent.TALK, 0, now, now, mark))
    (wanted,) = await door.spine.store.read(erasure.pending)
    while await door.spine.store.commit(erasure.erase, erasure=wanted, now=now) is erasure.Progress.MORE:
        pass
    assert [None] == await kept()
