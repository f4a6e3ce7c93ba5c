"""The web chat's conversations, read back: each message once, as sent, in its place."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from channels.messages import InboundMessage, OutboundPart
from channels.web.past_messages import KeptMessage
from gateway.access.agents import AgentChoice
from gateway.access.policy import AccessSnapshot
from gateway.inbound.web_records import StoredRecords
from gateway.store.tables.people import identities, users
from gateway.store.tables.traffic import inbox, outbox
from gateway.store.tables.turns import sessions
from tests.fakes.chat import FakeChannel
from tests.fakes.spine import AGENT, Spine, quick_store

ADA, BOB, LINKED = "p1", "p2", "p3"


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[Spine]:
    store = await quick_store(tmp_path / "tenk.db")
    spine = Spine(store, FakeChannel(name="web"))
    await spine.begin()
    yield spine
    await spine.kill()
    await store.aclose()


async def say(spine: Spine, text: str, who: str = ADA) -> None:
    """Say something on the page a second later, without waiting for an answer."""
    spine.now += timedelta(seconds=1)
    await spine.say(text, who, who, channel="web")


async def ask(spine: Spine, text: str, answer: str, who: str = ADA) -> None:
    """Say something and have it answered."""
    await say(spine, text, who)
    await spine.asked()
    spine.model.give(answer)
    await spine.quiet()


def shown(kept: list[KeptMessage]) -> list[str]:
    return [one.message.text if isinstance(one.message, InboundMessage) else one.message.rendered.text for one in kept]


async def test_a_chat_is_read_back_as_pages_showed_it(web: Spine) -> None:
    await ask(web, "hello", "Hello.")
    await say(web, "how long?")
    await web.asked()
    await say(web, "in hours")
    await web.quiet()
    web.model.give("3 h")
    await web.until(lambda: len(web.model.requests) == 3)
    web.model.give("yes")
    await web.quiet()
    await say(web, "/mode")
    await web.quiet()
    records = StoredRecords(web.store, AgentChoice(AGENT, AccessSnapshot()), lambda: web.now)
    kept = await records.recent(ADA)
    assert ["hello", "Hello.", "how long?", "in hours", "3 h\n\nyes", "/mode"] == shown(kept)[:6]
    assert shown(kept)[6].startswith("The mode is")
    keys = await web.store.read(lambda connection: connection.scalars(sa.select(outbox.c.idem_key)).all())
    assert {one.message.idem_key for one in kept if isinstance(one.message, OutboundPart)} <= set(keys)
    assert [] == await records.recent(BOB)


async def test_changed_words_stand_where_they_were_said(web: Spine) -> None:
    await ask(web, "helo", "Hello.")
    records = StoredRecords(web.store, AgentChoice(AGENT, AccessSnapshot()), lambda: web.now)
    first = (await records.recent(ADA))[0].message
    assert isinstance(first, InboundMessage)
    await web.admit(replace(first, event_id="edit:1", text="hello", edited=True), ADA)
    await web.quiet()
    kept = await records.recent(ADA)
    assert ["hello", "Hello."] == shown(kept)[:2]
    assert 1 == sum(isinstance(one.message, InboundMessage) for one in kept)


async def test_conversations_are_those_of_their_chat(web: Spine) -> None:
    await ask(web, "cats", "Noted: cats.")
    await say(web, "/new")
    await web.quiet()
    await say(web, "dogs")
    await web.asked()
    await say(web, "birds", BOB)
    records = StoredRecords(web.store, AgentChoice(AGENT, AccessSnapshot()), lambda: web.now)
    living, past = await records.conversations(ADA)
    assert ("dogs", True, "cats", False) == (living.title, living.living, past.title, past.living)
    assert ["dogs"] == shown(await records.messages(web.channel, ADA, living.id))
    assert ["cats", "Noted: cats."] == shown(await records.messages(web.channel, ADA, past.id))
    assert [] == await records.messages(web.channel, BOB, past.id)


async def link(spine: Spine, user: str, *senders: str) -> None:

    def job(connection: sa.Connection) -> None:
        row = {"tenant_id": "default", "role": "member", "display_name": "", "timezone": "UTC", "week_start": 0}
        connection.execute(users.insert(), row | {"id": user, "created_at": spine.now})
        for channel, _, sender in (one.partition(":") for one in senders):
            known = {"tenant_id": "default", "channel": channel, "scope": "", "sender": sender, "user_id": user}
            connection.execute(identities.insert(), known | {"linked_at": spine.now})

    await spine.store.commit(job)


async def test_conversations_of_a_persons_other_chats_are_listed_and_read(web: Spine) -> None:
    await link(web, ADA, f"web:{ADA}", f"web:{LINKED}")
    await link(web, BOB, f"web:{BOB}")
    await ask(web, "cats", "Noted: cats.")
    for text, chat, user in (("boats", LINKED, ADA), ("secrets", LINKED, BOB), ("plans", "g1", ADA)):
        await web.admit(web.message(text, chat if chat == LINKED else user, chat, channel="web"), user)
        await web.asked()
        web.model.give(f"Noted: {text}.")
        await web.quiet()
    records = StoredRecords(web.store, AgentChoice(AGENT, AccessSnapshot()), lambda: web.now)
    listed = {one.title: one for one in await records.conversations(ADA)}
    assert {"cats": ("", True), "boats": ("Web", False)} == {
        title: (one.place, one.living) for title, one in listed.items()
    }
    boats = listed["boats"].id
    assert ["boats", "Noted: boats."] == shown(await records.messages(web.channel, ADA, boats))
    assert ([], []) == (await records.conversations(BOB), await records.messages(web.channel, BOB, boats))
    groups = sa.select(sessions.c.id).where(sessions.c.key.contains(":group:"))
    (plans,) = await web.store.read(lambda connection: connection.execute(groups).scalars().all())
    assert [] == await records.messages(web.channel, ADA, plans)
    unlink = sa.delete(identities).where(identities.c.sender == LINKED)
    await web.store.commit(lambda connection: connection.execute(unlink) and None)
    assert ["cats"] == [one.title for one in await records.conversations(ADA)]
    assert [] == await records.messages(web.channel, ADA, boats)


async def test_words_whose_message_is_gone_come_from_the_journal(web: Spine) -> None:
    await ask(web, "cats", "Noted: cats.")
    await web.store.commit(lambda connection: connection.execute(sa.delete(inbox)))
    records = StoredRecords(web.store, AgentChoice(AGENT, AccessSnapshot()), lambda: web.now)
    (living,) = await records.conversations(ADA)
    assert ["cats", "Noted: cats."] == shown(await records.messages(web.channel, ADA, living.id))
