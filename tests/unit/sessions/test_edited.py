"""Edits of a message that waits, is being read, being claimed or claimed (F59)."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
import sqlalchemy as sa

from agent.transcript import UserItem
from channels.base import Channel
from channels.messages import InboundEvent, InboundMessage
from gateway.safety.guard import GuardConfig, InputGuard
from gateway.sessions.config import SessionsConfig
from gateway.sessions.user_items import UserItemBuilder
from gateway.store import inbox
from gateway.store.inbox import Outcome
from gateway.store.journal import TurnRow
from tests.fakes.spine import QuickStore, Spine, WatchedEngine, quick_store
from tests.unit.sessions.test_session import said_to_the_model

T = TypeVar("T")

EDITED = "(I changed my earlier message to:) "
LONG = "x" * 150
"""Near the limit of the fake channel: its client may have split it."""


class SlowReads(WatchedEngine):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.go_on: asyncio.Event | None = None  # None: it is not held
        self.has_read = asyncio.Event()

    async def read(self, query: Callable[[sa.Connection], T]) -> T:
        found = await super().read(query)
        asked = query.args[-1] if isinstance(query, partial) and query.args else query  # within `run_as`
        if self.go_on is not None and isinstance(asked, partial) and asked.keywords.get("session_key"):
            self.has_read.set()
            await self.go_on.wait()
        return found


class SlowReader(UserItemBuilder):
    def __init__(self) -> None:
        super().__init__(InputGuard(GuardConfig()), "coach")
        self.reading: dict[str, asyncio.Event] = {}  # by text: set to let go
        self.begun: list[str] = []

    async def build(self, event: InboundEvent, channel: Channel, turn: TurnRow | None = None) -> UserItem | None:
        if isinstance(event, InboundMessage):
            self.begun.append(event.text)
            if event.text in self.reading:
                await self.reading[event.text].wait()
        return await super().build(event, channel)

    def slow(self, text: str) -> asyncio.Event:
        self.reading[text] = asyncio.Event()
        return self.reading[text]


@pytest.fixture
async def reader() -> SlowReader:
    return SlowReader()


@pytest.fixture
async def spine(tmp_path: Path, reader: SlowReader) -> AsyncIterator[Spine]:
    store = await quick_store(tmp_path / "tenk.db")
    spine = Spine(store, reader=reader)
    await spine.begin()
    yield spine
    await spine.kill()
    await store.aclose()


async def test_an_edit_while_the_file_of_a_message_is_read_is_what_is_answered(
    spine: Spine, reader: SlowReader
) -> None:
    go_on = reader.slow("tow")
    typo = spine.message("tow")
    first = await spine.admit(typo)
    await spine.until(lambda: reader.begun == ["tow"])
    edit = await spine.say("two", message_id=typo.message_id, edited=True)
    await spine.quiet()
    go_on.set()
    await spine.asked()
    assert [f"{EDITED}two"] == said_to_the_model(spine)
    spine.model.give("fine")
    await spine.quiet()
    assert {first: "answered", edit: "replaced"} == await spine.outcomes()


async def test_an_edit_while_the_file_of_a_steering_message_is_read_is_what_is_read(
    spine: Spine, reader: SlowReader
) -> None:
    go_on = reader.slow("tow")
    await spine.say("one")
    await spine.asked()
    typo = spine.message("tow")
    steering = await spine.admit(typo)
    await spine.quiet()
    spine.model.give("first")
    await spine.until(lambda: "tow" in reader.begun)
    edit = await spine.say("two", message_id=typo.message_id, edited=True)
    await spine.quiet()
    go_on.set()
    while f"{EDITED}two" not in said_to_the_model(spine):
        await spine.asked()
        spine.model.give("next")
        await spine.quiet()
    assert "tow" not in said_to_the_model(spine)
    outcomes = await spine.outcomes()
    assert ("merged", "replaced") == (outcomes[steering], outcomes[edit])


async def test_an_edit_of_one_part_while_another_is_taken_back_holds(spine: Spine, reader: SlowReader) -> None:
    await spine.quiet()  # the bus has looked for rows of an earlier life: it sees none of these before they are told
    beginning, end = spine.message(LONG), spine.message("the edn")
    go_on = reader.slow(f"{LONG}\nthe edn")
    first, second = await spine.admit(beginning), await spine.admit(end)
    edit = spine.message("the end", message_id=end.message_id, edited=True)
    edit_id = await spine.admit(edit, silently=True)
    spine.later(seconds=2)
    await spine.until(lambda: bool(reader.begun))
    held = threading.Event()
    spine.store.queue(lambda _: held.wait(30))  # what comes now is queued behind this, in this order
    spine.store.queue(inbox.settle, id_=first, outcome=Outcome.CLEARED, now=spine.now)
    go_on.set()
    await looked(spine)  # the claim is queued
    spine.bus.publish((await spine.store.read(partial(inbox.waiting, after_id=edit_id - 1, limit=1)))[0])
    await looked(spine)  # so is the edit
    held.set()
    await spine.asked()
    assert [f"{EDITED}the end"] == said_to_the_model(spine)
    spine.model.give("fine")
    await spine.quiet()
    assert {first: "cleared", second: "answered", edit_id: "replaced"} == await spine.outcomes()


async def test_an_edit_while_its_message_is_read_back_from_the_store_holds(tmp_path: Path) -> None:
    engine = SlowReads(tmp_path / "slow.db")
    store = await QuickStore(engine).start()
    spine = Spine(store, sessions=SessionsConfig(mailbox_size=1, mode="followup"))
    await spine.begin()
    await spine.say("one")
    await spine.asked()
    await spine.say("two")
    typo = spine.message("there")
    await spine.admit(typo)
    await spine.quiet()
    spine.model.give("answer one")
    await spine.until(lambda: len(spine.model.requests) == 2)
    engine.go_on = asyncio.Event()
    spine.model.give("answer two")
    await engine.has_read.wait()
    edit = await spine.say("three", message_id=typo.message_id, edited=True)
    async with asyncio.timeout(30):
        while (await spine.outcomes())[edit] is None:
            await asyncio.sleep(0)
    engine.go_on.set()
    await spine.until(lambda: len(spine.model.requests) == 3)
    assert f"{EDITED}three" == said_to_the_model(spine)[-1]
    await spine.kill()
    await store.aclose()


async def test_an_edit_of_an_edit_that_waits_takes_its_place(spine: Spine) -> None:
    await spine.say("/mode followup")
    await spine.quiet()
    message = spine.message("cats")
    await spine.admit(message)
    await spine.asked()
    await spine.say("occupied")
    edit = await spine.say("dosg", message_id=message.message_id, edited=True)
    await spine.quiet()
    spine.model.give("about cats")
    await spine.until(lambda: len(spine.model.requests) == 2)
    again = await spine.say("dogs", message_id=message.message_id, edited=True)
    await spine.quiet()
    spine.model.give("yes")
    await spine.until(lambda: len(spine.model.requests) == 3)
    assert f"{EDITED}dogs" == said_to_the_model(spine)[-1]
    spine.model.give("about dogs")
    await spine.quiet()
    outcomes = await spine.outcomes()
    assert ("answered", "replaced") == (outcomes[edit], outcomes[again])


async def looked(spine: Spine) -> None:
    """Give everybody who reads the store the time to do so, while its writer stands still."""
    for _ in range(50):
        await spine.store.read(lambda _: None)
